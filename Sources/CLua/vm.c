// Making and ending a vm.
#include <stdlib.h>
#include <string.h>

#include "vm.h"

static const struct {
    const char *name;
    lua_CFunction open;
} libraries[] = {
    {"string", cl_open_strings}, {"table", cl_open_tables}, {"utf8", cl_open_utf8},
    {"math", cl_open_math},
};

enum { HEAP_SPARE = 1 << 20 };

// Leaves nothing on the stack; every table of names is open until `callua_seal`.
static int open_all(lua_State *L) {
    cl_open_names(L);
    cl_open_handles(L);
    cl_open_base(L);
    cl_open_coroutines(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        lua_pushcfunction(L, libraries[i].open);
        lua_call(L, 0, 1);
        lua_setfield(L, -2, libraries[i].name);
    }
    lua_getfield(L, -1, "math");
    lua_getfield(L, -1, "random");
    lua_setfield(L, -3, "random");
    lua_pop(L, 2);
    cl_open_calls(L);
    cl_open_decisions(L);
    cl_open_store(L);
    return 0;
}

static void seed_dice(callua_vm *vm, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = seed += 0x9E3779B97F4A7C15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        vm->dice[i] = mixed ^ (mixed >> 31);
    }
}

callua_vm *callua_new(callua_limits limits, callua_host host, uint64_t seed) {
    callua_vm *vm = calloc(1, sizeof *vm);
    if (vm == NULL) return NULL;
    vm->limits = limits;
    vm->host = host;
    vm->current = -1;
    seed_dice(vm, seed);
    // Twice the limit, because freed blocks of one size do not serve another.
    if (!cl_heap_open(&vm->heap, 2 * limits.memory + HEAP_SPARE)) {
        free(vm);
        return NULL;
    }
    vm->main = lua_newstate(cl_allocate, vm);
    if (vm->main == NULL) {
        callua_free(vm);
        return NULL;
    }
    *(callua_vm **)lua_getextraspace(vm->main) = vm;
    cl_watch(vm, vm->main);
    cl_arm(vm, UINT64_MAX / 2);
    lua_pushcfunction(vm->main, open_all);
    if (lua_pcall(vm->main, 0, 0, 0) != LUA_OK) {
        callua_free(vm);
        return NULL;
    }
    return vm;
}

void callua_free(callua_vm *vm) {
    if (vm == NULL) return;
    // No script may run any more, and all memory goes at once: there is nothing to close.
    cl_heap_close(&vm->heap);
    free(vm->handlers);
    free(vm->out.start);
    free(vm->trace.start);
    free(vm->spare.start);
    free(vm->cover);
    cl_end_debug(vm);
    free(vm);
}

void callua_limit(callua_vm *vm, callua_limits limits) { vm->limits = limits; }

size_t callua_memory(const callua_vm *vm) { return vm->used; }

bool callua_is_broken(const callua_vm *vm) { return vm->broken; }

size_t callua_collect(callua_vm *vm) {
    if (vm->broken) return vm->used;
    uint64_t begin = cl_processor_time();
    lua_gc(vm->main, LUA_GCCOLLECT);
    vm->collect_time = cl_processor_time() - begin;
    vm->used_before = vm->used;
    return vm->used;
}

uint64_t callua_collect_time(const callua_vm *vm) { return vm->collect_time; }
