// What scripts can name: the table of globals, libraries that cannot be changed, host functions.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm.h"

const char cl_array_meta, cl_user_meta, cl_call_meta, cl_decision_meta, cl_handle_meta,
    cl_frozen_meta, cl_api, cl_globals, cl_threads, cl_modules, cl_loading;

static const char *shown_key(lua_State *L, int index) {
    return lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : luaL_typename(L, index);
}

// Upvalue 1: the word for what is missing; 2: how names of this table begin.
static int missing(lua_State *L) {
    char suggestion[CL_NOTE];
    const char *prefix = lua_tostring(L, lua_upvalueindex(2));
    const char *key = shown_key(L, 2);
    cl_suggest(L, 1, key, prefix, suggestion, sizeof suggestion);
    lua_Debug caller;
    // The look-up may come through a function of ours, which has no line.
    bool is_ours = lua_getstack(L, 1, &caller) && lua_getinfo(L, "l", &caller)
        && caller.currentline < 0;
    luaL_where(L, is_ours ? 2 : 1);
    lua_pushfstring(L, "unknown %s '%s%s'%s", lua_tostring(L, lua_upvalueindex(1)), prefix, key,
                    suggestion);
    lua_concat(L, 2);
    return lua_error(L);
}

static int deny_change(lua_State *L) {
    return luaL_error(L, "'%s%s' cannot be changed", lua_tostring(L, lua_upvalueindex(1)),
                      shown_key(L, 2));
}

static void put_site(lua_State *L, cl_buffer *out);
static int32_t ask_host(callua_vm *vm, uint32_t function, callua_bytes *result);
static int finish_host_call(lua_State *L, int32_t status, callua_bytes result);

// Tells the host which name is assigned, and where; it may refuse.
static void report_assignment(lua_State *L, const char *prefix) {
    callua_vm *vm = cl_vm(L);
    vm->out.count = 0;
    cl_append_byte(&vm->out, PLAIN_ARRAY);
    cl_append_count(&vm->out, 3);
    put_site(L, &vm->out);
    lua_pushfstring(L, "%s%s", prefix, shown_key(L, 2));
    cl_encode_or_raise(L, -1, &vm->out);
    lua_pop(L, 1);
    callua_bytes result = {NULL, 0};
    int32_t status = ask_host(vm, CALLUA_ASSIGN, &result);
    lua_settop(L, 3);
    finish_host_call(L, status, result);
    lua_settop(L, 3);
}

// `options.NAME = …`. Upvalue 1: where the values are; 2: how the name begins.
static int assign_entry(lua_State *L) {
    report_assignment(L, lua_tostring(L, lua_upvalueindex(2)));
    lua_rawset(L, lua_upvalueindex(1));
    return 0;
}

static int deny_global(lua_State *L) {
    if (cl_vm(L)->assignable) {
        report_assignment(L, "");
        lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
        lua_insert(L, 2);
        lua_rawset(L, 2);
        return 0;
    }
    const char *key = shown_key(L, 2);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL) {
        return luaL_error(L, "'%s' belongs to callagent and cannot be changed", key);
    }
    return luaL_error(L, "assignment to undeclared global '%s' (write 'local %s')", key, key);
}

// Gives the table at the top an `__index` that raises with a suggestion.
void cl_make_strict(lua_State *L, const char *word, const char *prefix) {
    lua_createtable(L, 0, 1);
    lua_pushstring(L, word);
    lua_pushstring(L, prefix);
    lua_pushcclosure(L, missing, 2);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

// Replaces the table at the top by one that reads through to it and refuses every change.
static void freeze(lua_State *L, const char *prefix) {
    lua_createtable(L, 0, 0);
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, prefix);
    lua_pushcclosure(L, deny_change, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_pushboolean(L, 1);
    lua_rawsetp(L, -2, &cl_frozen_meta);
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

// Pushes what a frozen table or the globals show; nothing for any other table.
bool cl_push_shown(lua_State *L, int index) {
    if (!lua_getmetatable(L, index)) return false;
    bool frozen = lua_rawgetp(L, -1, &cl_frozen_meta) != LUA_TNIL;
    lua_pop(L, 1);
    if (frozen) lua_getfield(L, -1, "__index");
    lua_remove(L, frozen ? -2 : -1);
    return frozen;
}

static const char *word_of(const char *name) {
    if (strcmp(name, "on") == 0) return "event";
    if (strcmp(name, "option") == 0) return "kind of option";
    return "name";
}

static int seal(lua_State *L) {
    lua_settop(L, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        if (lua_istable(L, -1) && !cl_is_view(L, -1) && lua_type(L, -2) == LUA_TSTRING
            && strcmp(lua_tostring(L, -2), "_G") != 0) {
            const char *name = lua_tostring(L, -2);
            char prefix[64];
            snprintf(prefix, sizeof prefix, "%s.", name);
            cl_make_strict(L, word_of(name), prefix);
            freeze(L, prefix);
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, 1);
        }
        lua_pop(L, 1);
    }
    cl_make_strict(L, "name", "");
    return 0;
}

bool callua_seal(callua_vm *vm) { return cl_protected(vm, seal, NULL); }

// The globals of scripts: an empty table, so that every assignment is seen.
void cl_open_names(lua_State *L) {
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_globals);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "_G");
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, deny_global);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_pushboolean(L, 1);
    lua_rawsetp(L, -2, &cl_frozen_meta);
    lua_setmetatable(L, -2);
    lua_pop(L, 2);
}

// The names of host functions by their numbers, as whoever bound the number first called it: most
// Lua states of a process have the same ones, and each would have a copy of every name.
enum { SHARED_NAMES = 512 };
static const char *_Atomic shared_names[SHARED_NAMES];

// Whether all states know the function by this name from now on.
static bool share_name(uint32_t function, const char *name) {
    if (function >= SHARED_NAMES) return false;
    const char *known = atomic_load(&shared_names[function]);
    if (known == NULL) {
        char *copy = strdup(name);
        if (copy == NULL) return false;
        if (atomic_compare_exchange_strong(&shared_names[function], &known, copy)) return true;
        free(copy);
    }
    return strcmp(known, name) == 0;
}

// The name of the host function that runs.
static const char *function_name(lua_State *L) {
    const char *own = lua_tostring(L, lua_upvalueindex(2));
    if (own != NULL) return own;
    return atomic_load(&shared_names[(uint32_t)lua_tointeger(L, lua_upvalueindex(1))]);
}

static void check_place(lua_State *L, uint32_t flags) {
    callua_vm *vm = cl_vm(L);
    const char *name = function_name(L);
    if ((flags & CALLUA_LOAD_ONLY) && !vm->loading) {
        luaL_error(L, "'%s' belongs to the top level of a plugin", name);
    }
    if ((flags & (CALLUA_HANDLER_ONLY | CALLUA_WAITS)) && vm->loading) {
        luaL_error(L, "'%s' cannot be used while a plugin is loaded", name);
    }
    // The host must not hear of a wait that cannot be.
    if ((flags & CALLUA_WAITS) && (vm->closed_off || !lua_isyieldable(L))) {
        luaL_error(L, "'%s' cannot wait inside a callback of the library", name);
    }
}

static void put_site(lua_State *L, cl_buffer *out) {
    lua_Debug record;
    record.short_src[0] = '?';
    record.short_src[1] = 0;
    record.currentline = 0;
    for (int level = 1; lua_getstack(L, level, &record); level++) {
        lua_getinfo(L, "Sl", &record);
        if (record.currentline > 0) break;
    }
    lua_pushstring(L, record.short_src);
    cl_encode_or_raise(L, -1, out);
    lua_pushinteger(L, record.currentline);
    cl_encode_or_raise(L, -1, out);
    lua_pop(L, 2);
}

// Calls the host with what stands in `out`. A Swift frame is never jumped over.
static int32_t ask_host(callua_vm *vm, uint32_t function, callua_bytes *result) {
    cl_shield();
    int32_t status = vm->host.call(vm->host.context, function, cl_bytes(&vm->out), result);
    cl_unshield();
    return status;
}

void cl_note_module(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_modules);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

// Runs the file that `require` was given, whose name is at 1.
static int run_module(lua_State *L, callua_bytes result) {
    cl_decode_array(L, result);
    callua_bytes source;
    source.start = (const uint8_t *)lua_tolstring(L, -1, &source.count);
    if (cl_load_text(L, source, lua_tostring(L, -2)) != LUA_OK) return lua_error(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_globals);
    lua_setupvalue(L, -2, 1);
    lua_pushlightuserdata(L, (void *)&cl_loading);
    cl_note_module(L);
    lua_pop(L, 1);
    if (lua_pcall(L, 0, 1, 0) == LUA_OK) return 1;
    // It is not there the next time either.
    lua_pushnil(L);
    cl_note_module(L);
    lua_pop(L, 1);
    return lua_error(L);
}

// The host has answered what was waited for.
static int resume_host_call(lua_State *L, int status, lua_KContext context) {
    (void)status;
    (void)context;
    callua_vm *vm = cl_vm(L);
    callua_bytes in = vm->in;
    vm->in = (callua_bytes){NULL, 0};
    return finish_host_call(L, vm->in_status, in);
}

static int finish_host_call(lua_State *L, int32_t status, callua_bytes result) {
    switch (status) {
    case CALLUA_WAIT: return lua_yieldk(L, 0, 0, resume_host_call);
    case CALLUA_RETURN: return cl_decode_array(L, result);
    case CALLUA_RUN: return run_module(L, result);
    case CALLUA_REFUSE: cl_vm(L)->denied = true; break;
    default: break;
    }
    luaL_where(L, 1);
    lua_pushlstring(L, (const char *)result.start, result.count);
    lua_concat(L, 2);
    return lua_error(L);
}

// False: they are too large or too deep for a function that takes that for no error.
static bool put_arguments(lua_State *L, uint32_t flags) {
    callua_vm *vm = cl_vm(L);
    int top = lua_gettop(L);
    uint32_t extra = flags & CALLUA_SITED ? 2 : 0;
    vm->out.count = 0;
    if (!cl_append_byte(&vm->out, PLAIN_ARRAY)
        || !cl_append_count(&vm->out, (uint32_t)top + extra)) {
        luaL_error(L, "no memory");
    }
    if (extra) put_site(L, &vm->out);
    for (int i = 1; i <= top; i++) {
        char problem[CL_NOTE];
        if (cl_encode(L, i, &vm->out, flags, problem)) continue;
        if (vm->too_large && flags & CALLUA_GIVES_TROUBLE) return false;
        const char *name = function_name(L);
        luaL_error(L, "bad argument #%d to '%s' (%s)", i, name, problem);
    }
    return true;
}

// Upvalue 1: the set of the options; one without a value is nil.
static int missing_option(lua_State *L) {
    char suggestion[CL_NOTE];
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 0;
    const char *key = shown_key(L, 2);
    cl_suggest(L, lua_upvalueindex(1), key, "", suggestion, sizeof suggestion);
    return luaL_error(L, "unknown option '%s'%s", key, suggestion);
}

static int deny_option(lua_State *L) {
    return luaL_error(L, "unknown option '%s': options are set by the operator", shown_key(L, 2));
}

// Turns a table and the set of its fields at the top into the table that knows no others.
static int name_fields(lua_State *L) {
    lua_createtable(L, 0, 3);
    lua_insert(L, -2);
    lua_pushcclosure(L, missing_option, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, deny_option);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    return 1;
}

// Upvalue 1: the number of the host function, and above it its flags; 2: its name, if it is not
// the shared one.
static int host_function(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    cl_check(L);
    uint64_t packed = (uint64_t)lua_tointeger(L, lua_upvalueindex(1));
    uint32_t function = (uint32_t)packed, flags = (uint32_t)(packed >> 32);
    check_place(L, flags);
    if (!put_arguments(L, flags)) {
        lua_pushnil(L);
        lua_pushliteral(L, "too_large");
        return 2;
    }
    if (vm->debug != NULL) cl_debug_call(L, function_name(L));
    callua_bytes result = {NULL, 0};
    int32_t status = ask_host(vm, function, &result);
    lua_settop(L, 0);
    if (status == CALLUA_WAIT) vm->request = function;
    int count = finish_host_call(L, status, result);
    return flags & CALLUA_NAMES_FIELDS ? name_fields(L) : count;
}

// Calls a host function with the values from `first` to the top; leaves its results.
int cl_host_call(lua_State *L, uint32_t function, int first) {
    callua_vm *vm = cl_vm(L);
    vm->out.count = 0;
    int top = lua_gettop(L);
    if (!cl_append_byte(&vm->out, PLAIN_ARRAY)
        || !cl_append_count(&vm->out, (uint32_t)(top - first + 1))) {
        luaL_error(L, "no memory");
    }
    for (int i = first; i <= top; i++) cl_encode_or_raise(L, i, &vm->out);
    callua_bytes result = {NULL, 0};
    int32_t status = ask_host(vm, function, &result);
    return finish_host_call(L, status, result);
}

typedef struct {
    const char *name;
    uint32_t function;
    uint32_t flags;
} binding;

// Leaves the table that `name` goes into and returns the last part of the name.
static const char *find_place(lua_State *L, const char *name) {
    const char *colon = strchr(name, ':'), *dot = strchr(name, '.');
    const char *mark = colon != NULL ? colon : dot;
    if (mark == NULL) return name;
    if (colon != NULL) lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_handle_meta);
    lua_pushlstring(L, name, (size_t)(mark - name));
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
    }
    return mark + 1;
}

static int bind(lua_State *L) {
    const binding *b = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    const char *last = find_place(L, b->name);
    lua_pushstring(L, last);
    lua_pushinteger(L, (lua_Integer)((uint64_t)b->flags << 32 | b->function));
    bool is_shared = share_name(b->function, b->name);
    if (!is_shared) lua_pushstring(L, b->name);
    lua_pushcclosure(L, host_function, is_shared ? 1 : 2);
    lua_rawset(L, -3);
    return 0;
}

bool callua_bind(callua_vm *vm, const char *name, uint32_t function, uint32_t flags) {
    binding b = {name, function, flags};
    return cl_protected(vm, bind, &b);
}

// Names that a file of settings may assign.

typedef struct {
    const char *name;
    callua_bytes result;
} global;

static int make_entries(lua_State *L) {
    const global *g = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_newtable(L);
    lua_createtable(L, 0, 3);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__index");
    lua_pushfstring(L, "%s.", g->name);
    lua_pushcclosure(L, assign_entry, 2);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 1);
    lua_rawsetp(L, -2, &cl_frozen_meta);
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, g->name);
    return 0;
}

static int read_global(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    global *g = lua_touserdata(L, 1);
    char problem[CL_NOTE];
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_pushstring(L, g->name);
    lua_rawget(L, -2);
    if (lua_istable(L, -1)) cl_push_shown(L, lua_gettop(L));
    vm->out.count = 0;
    if (!cl_encode(L, -1, &vm->out, 0, problem)) return luaL_error(L, "%s", problem);
    return 0;
}

// What has no meaning in a file of settings.
static int hide_names(lua_State *L) {
    static const char *const hidden[] = {"accept", "reject", "ring",      "forward", "refuse",
                                         "allow",  "drop",   "coroutine", "load",    "require",
                                         "random", "state"};
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        lua_pushstring(L, hidden[i]);
        lua_pushnil(L);
        lua_rawset(L, -3);
    }
    return 0;
}

bool callua_make_assignable(callua_vm *vm, const char *const *tables, size_t count) {
    vm->assignable = true;
    if (!cl_protected(vm, hide_names, NULL)) return false;
    for (size_t i = 0; i < count; i++) {
        global g = {.name = tables[i]};
        if (!cl_protected(vm, make_entries, &g)) return false;
    }
    return true;
}

bool callua_read(callua_vm *vm, const char *name, callua_bytes *value) {
    global g = {.name = name};
    bool done = cl_protected(vm, read_global, &g);
    *value = cl_bytes(&vm->out);
    return done;
}
