// The guarded base library.
#include <string.h>

#include "vm.h"

// Errors.

// Whatever caught an error: a kill goes on, and so does a lack of memory, which is one.
static void pass_kill(lua_State *L, int status) {
    callua_vm *vm = cl_vm(L);
    if (status == LUA_ERRMEM && vm->killed == 0) cl_kill(L, CALLUA_MEMORY);
    cl_check(L);
}

// Unwinding costs the square of the depth, so the depth is bounded.
enum { NESTED_MAX = 1000 };

static void enter_pcall(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    cl_check(L);
    if (vm->nested >= NESTED_MAX) luaL_error(L, "too many nested calls of pcall");
    vm->nested++;
}

static int after_pcall(lua_State *L, int status, lua_KContext context) {
    cl_vm(L)->nested--;
    if (status != LUA_OK && status != LUA_YIELD) {
        pass_kill(L, status);
        lua_pushboolean(L, 0);
        lua_pushvalue(L, -2);
        return 2;
    }
    return lua_gettop(L) - (int)context;
}

// A debugger hears of an error while the functions are still where they were. What is put at
// `index` tells it; 0: there is none.
static int push_watcher(lua_State *L, int index) {
    if (cl_vm(L)->debug == NULL) return 0;
    lua_pushcfunction(L, cl_debug_caught);
    lua_insert(L, index);
    return index;
}

static int base_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    enter_pcall(L);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int watcher = push_watcher(L, 1);
    int count = lua_gettop(L) - 2 - watcher;
    int status = lua_pcallk(L, count, LUA_MULTRET, watcher, watcher, after_pcall);
    return after_pcall(L, status, watcher);
}

static int after_handler(lua_State *L, int status, lua_KContext context) {
    (void)context;
    if (status != LUA_OK && status != LUA_YIELD) pass_kill(L, status);
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

// Stack: handler, true, then results or the error. The handler runs after unwinding, because
// Lua runs message handlers with hooks off.
static int after_xpcall(lua_State *L, int status, lua_KContext context) {
    cl_vm(L)->nested--;
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)context;
    pass_kill(L, status);
    lua_pushvalue(L, 1);
    lua_insert(L, -2);
    status = lua_pcallk(L, 1, 1, 0, 0, after_handler);
    return after_handler(L, status, 0);
}

static int base_xpcall(lua_State *L) {
    luaL_checktype(L, 2, LUA_TFUNCTION);
    enter_pcall(L);
    int count = lua_gettop(L) - 2;
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_replace(L, 1);
    lua_pushboolean(L, 1);
    lua_replace(L, 2);
    lua_insert(L, 3);
    int watcher = push_watcher(L, 2);
    int above = watcher != 0 ? 2 : 1;
    int status = lua_pcallk(L, count, LUA_MULTRET, watcher, above, after_xpcall);
    return after_xpcall(L, status, above);
}

// Tables.

static int base_setmetatable(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnoneornil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return luaL_error(L, "cannot change a protected metatable");
    }
    if (lua_istable(L, 2)) {
        static const char *const refused[] = {"__gc", "__mode"};
        for (int i = 0; i < 2; i++) {
            lua_pushstring(L, refused[i]);
            if (lua_rawget(L, 2) != LUA_TNIL) {
                return luaL_error(L, "metatables with '%s' are refused", refused[i]);
            }
            lua_pop(L, 1);
        }
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

// What a function that goes through a table looks at: for a library, its contents.
static void look_through(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (cl_push_shown(L, 1)) lua_replace(L, 1);
}

// A step over a table with many holes may cost as much as the table is large.
enum { NEXT_COST = 64 };

static int base_next(lua_State *L) {
    cl_charge(L, NEXT_COST);
    if (cl_is_view(L, 1)) return cl_view_next(L);
    look_through(L);
    lua_settop(L, 2);
    if (lua_next(L, 1)) return 2;
    lua_pushnil(L);
    return 1;
}

static int base_rawset(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    if (cl_is_view(L, 1) || cl_push_shown(L, 1)) {
        return luaL_error(L, "this table cannot be changed");
    }
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 1;
}

// Longer texts are no numbers that anybody means, and reading them takes long.
enum { NUMBER_MAX = 512 };

// Upvalue 1: the stock function.
static int base_tonumber(lua_State *L) {
    if (lua_type(L, 1) == LUA_TSTRING && lua_rawlen(L, 1) > NUMBER_MAX) {
        lua_pushnil(L);
        return 1;
    }
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, 1);
    return 1;
}

// Loading.

static int run_loaded(lua_State *L, callua_bytes source, const char *name, int environment) {
    if (cl_load_text(L, source, name) != LUA_OK) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    if (environment != 0) {
        lua_pushvalue(L, environment);
        lua_setupvalue(L, -2, 1);
    }
    return 1;
}

static int load_pieces(lua_State *L, const char *name, int environment) {
    luaL_Buffer buffer;
    size_t limit = cl_vm(L)->limits.source, total = 0;
    luaL_buffinit(L, &buffer);
    for (;;) {
        lua_pushvalue(L, 1);
        lua_call(L, 0, 1);
        size_t count;
        const char *piece = lua_tolstring(L, -1, &count);
        if (piece == NULL || count == 0) break;
        total += count;
        if (total > limit) return luaL_error(L, "source too large (over %d bytes)", (int)limit);
        luaL_addvalue(&buffer);
    }
    lua_pop(L, 1);
    luaL_pushresult(&buffer);
    size_t count;
    const char *text = lua_tolstring(L, -1, &count);
    return run_loaded(L, (callua_bytes){(const uint8_t *)text, count}, name, environment);
}

static int base_load(lua_State *L) {
    size_t count, limit = cl_vm(L)->limits.source;
    const char *text = lua_tolstring(L, 1, &count);
    const char *name = luaL_optstring(L, 2, text != NULL ? "=(load)" : "=(load)");
    const char *mode = luaL_optstring(L, 3, "t");
    int environment = lua_isnone(L, 4) ? 0 : 4;
    cl_check(L);
    if (strchr(mode, 't') == NULL) return luaL_error(L, "only text can be loaded");
    if (text == NULL) {
        luaL_checktype(L, 1, LUA_TFUNCTION);
        return load_pieces(L, name, environment);
    }
    if (count > limit) return luaL_error(L, "source too large (over %d bytes)", (int)limit);
    return run_loaded(L, (callua_bytes){(const uint8_t *)text, count}, name, environment);
}

static int base_require(lua_State *L) {
    luaL_checktype(L, 1, LUA_TSTRING);
    lua_settop(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_modules);
    lua_pushvalue(L, 1);
    lua_rawget(L, 2);
    if (lua_islightuserdata(L, -1) && lua_touserdata(L, -1) == &cl_loading) {
        return luaL_error(L, "module '%s' requires itself", lua_tostring(L, 1));
    }
    if (!lua_isnil(L, -1)) return 1;
    lua_settop(L, 2);
    lua_pushvalue(L, 1);
    cl_host_call(L, CALLUA_MODULE, 3);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    cl_note_module(L);
    return 1;
}

static const luaL_Reg own[] = {
    {"pcall", base_pcall},
    {"xpcall", base_xpcall},
    {"setmetatable", base_setmetatable},
    {"next", base_next},
    {"rawset", base_rawset},
    {"load", base_load},
    {"require", base_require},
    {NULL, NULL},
};

// Bounded as they are.
static const char *const stock[] = {"assert",   "error",  "getmetatable", "ipairs", "rawequal",
                                    "rawget",   "rawlen", "select",       "tonumber",
                                    "tostring", "type",   "_VERSION"};

void cl_open_base(lua_State *L) {
    luaL_requiref(L, "_G", luaopen_base, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    for (size_t i = 0; i < sizeof stock / sizeof stock[0]; i++) {
        lua_getfield(L, -2, stock[i]);
        lua_setfield(L, -2, stock[i]);
    }
    luaL_setfuncs(L, own, 0);
    lua_getfield(L, -1, "tonumber");
    lua_pushcclosure(L, base_tonumber, 1);
    lua_setfield(L, -2, "tonumber");
    lua_getfield(L, -1, "next");
    lua_pushcclosure(L, cl_pairs, 1);
    lua_setfield(L, -2, "pairs");
    lua_pop(L, 2);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_modules);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_globals);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}
