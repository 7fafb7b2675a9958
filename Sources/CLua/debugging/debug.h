// What the parts of debugging share.
#pragma once

#include "../vm.h"
#include "CLuaDebug.h"

enum { CHAIN_MAX = 256 };

struct cl_debug {
    callua_debugger debugger;
    callua_sight sight;
    // Handlers begun so far.
    int64_t handlers;
    // The coroutines of the run at hand, each resumed by the one before; how many there are.
    lua_State *chain[CHAIN_MAX];
    int depth;
    // Whether somebody looks: nothing is told then.
    bool looking;
    cl_buffer out;
};

// The coroutine of a frame, or NULL.
lua_State *cl_find_coroutine(callua_vm *vm, callua_frame frame);
// The function of a frame.
bool cl_find_function(callua_vm *vm, callua_frame frame, lua_State **L, lua_Debug *record);
// Runs `function` with `operation` while nothing is told; rows go to `out`.
bool cl_look_at(callua_vm *vm, lua_CFunction function, void *operation, callua_bytes *out);
// Writes `[type, value, length, reference, named, place]` of the value at `index`.
void cl_put_value(lua_State *L, int index);
void cl_put_text(callua_vm *vm, const char *text, size_t count);
void cl_put_integer(callua_vm *vm, int64_t integer);
void cl_put_list(callua_vm *vm, uint32_t count);
