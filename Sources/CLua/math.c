// The mathematical library with the vm's own dice, so that a seed decides everything.
#include "vm.h"

static uint64_t rotate(uint64_t bits, int by) { return bits << by | bits >> (64 - by); }

// xoshiro256** (Blackman and Vigna).
static uint64_t roll(callua_vm *vm) {
    uint64_t *s = vm->dice;
    uint64_t result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

// A number from 0 to `most`, each as likely as the others.
static uint64_t roll_up_to(callua_vm *vm, uint64_t most) {
    uint64_t mask = most;
    for (int by = 1; by < 64; by *= 2) mask |= mask >> by;
    uint64_t found;
    do found = roll(vm) & mask;
    while (found > most);
    return found;
}

int cl_random(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    lua_Integer low = 1, high;
    switch (lua_gettop(L)) {
    case 0:
        lua_pushnumber(L, (lua_Number)(roll(vm) >> 11) * 0x1p-53);
        return 1;
    case 1:
        high = luaL_checkinteger(L, 1);
        if (high == 0) {
            lua_pushinteger(L, (lua_Integer)roll(vm));
            return 1;
        }
        break;
    case 2:
        low = luaL_checkinteger(L, 1);
        high = luaL_checkinteger(L, 2);
        break;
    default: return luaL_error(L, "wrong number of arguments");
    }
    luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
    uint64_t span = (uint64_t)high - (uint64_t)low;
    lua_pushinteger(L, (lua_Integer)(roll_up_to(vm, span) + (uint64_t)low));
    return 1;
}

int cl_open_math(lua_State *L) {
    luaopen_math(L);
    lua_pushcfunction(L, cl_random);
    lua_setfield(L, -2, "random");
    lua_pushnil(L);
    lua_setfield(L, -2, "randomseed");
    return 1;
}
