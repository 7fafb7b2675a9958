// CUV: what Swift cannot call of the library itself.
#pragma once
#include <uv.h>
