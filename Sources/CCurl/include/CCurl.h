// CCurl: what Swift cannot call of the library itself.
#pragma once
#include <curl/curl.h>
