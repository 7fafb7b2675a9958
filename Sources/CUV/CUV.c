#include "CUV.h"
