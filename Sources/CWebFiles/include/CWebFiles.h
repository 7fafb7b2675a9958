// What stands in the tables of `CWebTables`. It has no names of its own.
#pragma once

#include <CWebTables.h>
