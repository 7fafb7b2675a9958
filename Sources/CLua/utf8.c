// The guarded utf8 library: stock functions on strings of bounded size.
#include "vm.h"

enum { TEXT_MAX = 1 << 20 };

// Upvalue 1: the stock function.
static int bounded(lua_State *L) {
    size_t size;
    luaL_checklstring(L, 1, &size);
    if (size > TEXT_MAX) return luaL_error(L, "string too long (over %d bytes)", TEXT_MAX);
    cl_charge(L, 1 + size);
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, LUA_MULTRET);
    return lua_gettop(L);
}

int cl_open_utf8(lua_State *L) {
    static const char *const names[] = {"len", "codepoint", "offset", "codes"};
    luaopen_utf8(L);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lua_getfield(L, -1, names[i]);
        lua_pushcclosure(L, bounded, 1);
        lua_setfield(L, -2, names[i]);
    }
    return 1;
}
