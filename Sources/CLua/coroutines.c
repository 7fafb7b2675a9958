// The guarded coroutine library: waits pass through script coroutines to the host, a kill
// passes through all of them, and their number is limited.
#include "vm.h"

enum { CLOSE_DEPTH = 16 };

static lua_State *check_thread(lua_State *L) {
    lua_State *thread = lua_tothread(L, 1);
    luaL_argexpected(L, thread != NULL, 1, "coroutine");
    return thread;
}

static bool is_finished(lua_State *thread) {
    int status = lua_status(thread);
    if (status == LUA_YIELD) return false;
    if (status != LUA_OK) return true;
    lua_Debug record;
    return lua_getstack(thread, 0, &record) == 0 && lua_gettop(thread) == 0;
}

// Script coroutines that are alive, counted in a weak table so that collected ones go.
// `origin` 0: all of them; without the bits of `mask`, those whose other bits are the same.
static uint32_t count_alive(lua_State *L, int64_t origin, int64_t mask) {
    uint32_t count = 0;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_threads);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        bool counts = origin == 0 || ((lua_tointeger(L, -1) ^ origin) & ~mask) == 0;
        lua_pop(L, 1);
        if (counts && !is_finished(lua_tothread(L, -1))) count++;
    }
    lua_pop(L, 1);
    return count;
}

// Whether fewer than `most` are alive; those that only seem so are gone afterwards.
static bool has_room(lua_State *L, uint32_t most) {
    callua_vm *vm = cl_vm(L);
    if (vm->alive + vm->scripted < most) return true;
    vm->scripted = count_alive(L, 0, 0);
    if (vm->alive + vm->scripted < most) return true;
    lua_gc(L, LUA_GCCOLLECT);
    vm->scripted = count_alive(L, 0, 0);
    return vm->alive + vm->scripted < most;
}

bool callua_has_room(callua_vm *vm, uint32_t most) {
    return lua_checkstack(vm->main, 4) && has_room(vm->main, most);
}

void callua_count_for(callua_vm *vm, int64_t origin) { vm->origin = origin; }

// The lower half of an origin tells the pairs of one account apart.
enum { PAIR_BITS = 32 };

static void count_parts(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    vm->counted_origin = vm->origin;
    vm->counted = count_alive(L, vm->origin, 0);
    vm->counted_account = count_alive(L, vm->origin, ((int64_t)1 << PAIR_BITS) - 1);
}

static bool has_counted_less(const callua_vm *vm) {
    uint32_t most = vm->limits.coroutines_of_origin;
    return vm->counted < most && vm->counted_account < most * vm->limits.origins_of_account;
}

// Whether the origin of the run has fewer than its part, and its account.
static bool has_part(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    if (vm->origin == 0) return true;
    if (vm->counted_origin == vm->origin && has_counted_less(vm)) return true;
    count_parts(L);
    if (has_counted_less(vm)) return true;
    lua_gc(L, LUA_GCCOLLECT);
    count_parts(L);
    return has_counted_less(vm);
}

static int co_create(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    cl_check(L);
    if (!has_room(L, cl_vm(L)->limits.coroutines) || !has_part(L)) {
        lua_pushnil(L);
        lua_pushliteral(L, "limit");
        return 2;
    }
    lua_State *thread = lua_newthread(L);
    cl_set_mark(thread, CL_SCRIPT);
    cl_watch(cl_vm(L), thread);
    lua_pushvalue(L, 1);
    lua_xmove(L, thread, 1);
    cl_vm(L)->scripted++;
    cl_vm(L)->counted++;
    cl_vm(L)->counted_account++;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_threads);
    lua_pushvalue(L, -2);
    lua_pushinteger(L, cl_vm(L)->origin);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    return 1;
}

static int resume_after_wait(lua_State *L, int status, lua_KContext context);

// How many values a resume left on the stack of `L`; -1: an error; -2: the host is waited for.
enum { FAILED = -1, WAITS = -2 };

static int resume_thread(lua_State *L, lua_State *thread, int count) {
    callua_vm *vm = cl_vm(L);
    int results = 0;
    if (!cl_has_mark(thread, CL_SCRIPT) || is_finished(thread)) {
        lua_pop(L, count);
        lua_pushstring(L, is_finished(thread) ? "cannot resume dead coroutine"
                                              : "cannot resume non-suspended coroutine");
        return FAILED;
    }
    if (!lua_checkstack(thread, count)) luaL_error(L, "too many arguments to resume");
    lua_xmove(L, thread, count);
    lua_State *before = vm->running;
    int nested = vm->nested;
    bool closed_off = vm->closed_off;
    vm->running = thread;
    vm->closed_off = closed_off || !lua_isyieldable(L);
    int depth = vm->debug != NULL ? cl_debug_depth(vm) : 0;
    if (vm->debug != NULL) cl_debug_enter(vm, thread);
    int status = lua_resume(thread, L, count, &results);
    if (vm->debug != NULL) {
        if (status != LUA_OK && status != LUA_YIELD) cl_debug_caught(thread);
        cl_debug_leave(vm, depth);
    }
    vm->running = before;
    vm->nested = nested;
    vm->closed_off = closed_off;
    if (status == LUA_YIELD && vm->request != 0) return WAITS;
    if (status == LUA_OK || status == LUA_YIELD) {
        if (!lua_checkstack(L, results + 1)) luaL_error(L, "too many results to resume");
        lua_xmove(thread, L, results);
        return results;
    }
    if (status == LUA_ERRMEM && vm->killed == 0) cl_kill(L, CALLUA_MEMORY);
    cl_check(L);
    lua_xmove(thread, L, 1);
    return FAILED;
}

// `protected` tells `coroutine.resume`, which reports errors, from a wrapped function, which
// raises them. Stack: the coroutine, then what the resume left.
static int finish_resume(lua_State *L, int results, bool protected) {
    if (results == WAITS) {
        lua_settop(L, 1);
        return lua_yieldk(L, 0, protected, resume_after_wait);
    }
    if (results != FAILED) {
        if (!protected) return results;
        lua_pushboolean(L, 1);
        lua_insert(L, -(results + 1));
        return results + 1;
    }
    if (!protected) {
        if (lua_type(L, -1) == LUA_TSTRING) {
            luaL_where(L, 1);
            lua_insert(L, -2);
            lua_concat(L, 2);
        }
        return lua_error(L);
    }
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

// The host has answered: its bytes are decoded by the coroutine that asked.
static int resume_after_wait(lua_State *L, int status, lua_KContext context) {
    (void)status;
    lua_State *thread = lua_tothread(L, 1);
    cl_vm(L)->request = 0;
    return finish_resume(L, resume_thread(L, thread, lua_gettop(L) - 1), context != 0);
}

static int co_resume(lua_State *L) {
    lua_State *thread = check_thread(L);
    cl_check(L);
    return finish_resume(L, resume_thread(L, thread, lua_gettop(L) - 1), true);
}

static int wrapped(lua_State *L) {
    cl_check(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_State *thread = lua_tothread(L, 1);
    return finish_resume(L, resume_thread(L, thread, lua_gettop(L) - 1), false);
}

static int co_wrap(lua_State *L) {
    if (co_create(L) == 2) return 2;
    lua_pushcclosure(L, wrapped, 1);
    return 1;
}

static int co_yield(lua_State *L) {
    if (!cl_has_mark(L, CL_SCRIPT)) {
        return luaL_error(L, "attempt to yield from outside a coroutine");
    }
    return lua_yield(L, lua_gettop(L));
}

static const char *status_of(lua_State *L, lua_State *thread) {
    if (thread == L) return "running";
    if (!cl_has_mark(thread, CL_SCRIPT)) return "normal";
    if (lua_status(thread) == LUA_YIELD) return "suspended";
    if (is_finished(thread)) return "dead";
    lua_Debug record;
    return lua_getstack(thread, 0, &record) > 0 ? "normal" : "suspended";
}

static int co_status(lua_State *L) {
    lua_pushstring(L, status_of(L, check_thread(L)));
    return 1;
}

static int co_running(lua_State *L) {
    cl_set_mark(L, CL_ESCAPED);
    lua_pushthread(L);
    lua_pushboolean(L, !cl_has_mark(L, CL_SCRIPT));
    return 2;
}

static int co_isyieldable(lua_State *L) {
    lua_pushboolean(L, cl_has_mark(L, CL_SCRIPT) && lua_isyieldable(L));
    return 1;
}

// Closing may close others from a `__close` handler. Lua does not count that depth.
static int co_close(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    lua_State *thread = check_thread(L);
    const char *status = status_of(L, thread);
    cl_check(L);
    if (*status != 's' && *status != 'd') {
        return luaL_error(L, "cannot close a %s coroutine", status);
    }
    if (vm->closing >= CLOSE_DEPTH) return luaL_error(L, "too many nested closes");
    lua_State *before = vm->running;
    vm->closing++;
    vm->running = thread;
    int result = lua_resetthread(thread);
    vm->running = before;
    vm->closing--;
    cl_check(L);
    if (result == LUA_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_xmove(thread, L, 1);
    return 2;
}

static const luaL_Reg functions[] = {
    {"create", co_create},   {"resume", co_resume}, {"wrap", co_wrap},
    {"yield", co_yield},     {"status", co_status}, {"running", co_running},
    {"close", co_close},     {"isyieldable", co_isyieldable},
    {NULL, NULL},
};

void cl_open_coroutines(lua_State *L) {
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_threads);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    luaL_newlib(L, functions);
    lua_setfield(L, -2, "coroutine");
    lua_pop(L, 1);
}
