// Ends what no hook can end (see watchdog.c).
#pragma once

#include "CLua.h"

// From here on a tick that finds the run over its budget and grace jumps to `vm->escape`.
void cl_guard_run(callua_vm *vm);
void cl_end_guard(void);
// No jump happens in between.
void cl_shield(void);
void cl_unshield(void);
