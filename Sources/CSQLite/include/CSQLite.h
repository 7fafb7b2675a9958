// CSQLite: what Swift cannot call of the library itself.
#pragma once
#include <sqlite3.h>
