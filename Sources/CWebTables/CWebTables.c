// A target needs a source; all that this one has is its header.
#include "CWebTables.h"
