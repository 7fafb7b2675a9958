#include "vm.h"
int cl_open_strings(lua_State *L) { return luaopen_string(L); }
int cl_open_tables(lua_State *L) { return luaopen_table(L); }
int cl_open_utf8(lua_State *L) { return luaopen_utf8(L); }
