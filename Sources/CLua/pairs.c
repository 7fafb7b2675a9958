// `pairs` in a fixed order: the list part, then the other integers, then strings by their bytes.
//
// Stock Lua goes by the places of hashed strings, which differ from one process to the next; then
// the same inputs could lead to different decisions.
#include <string.h>

#include "vm.h"

// Larger tables come in the order of stock Lua.
enum { ORDERED_MAX = 4096 };

typedef struct {
    // 0: integer, 1: string, 2: anything else.
    int rank;
    lua_Integer integer;
    const char *text;
    size_t count;
    // Where the key stands in the list of keys.
    lua_Integer place;
} key;

static bool is_before(const key *a, const key *b) {
    if (a->rank != b->rank) return a->rank < b->rank;
    if (a->rank == 0) return a->integer < b->integer;
    if (a->rank == 2) return a->place < b->place;
    size_t shorter = a->count < b->count ? a->count : b->count;
    int difference = memcmp(a->text, b->text, shorter);
    return difference != 0 ? difference < 0 : a->count < b->count;
}

static void sink(key *keys, size_t from, size_t count) {
    for (;;) {
        size_t largest = from;
        for (size_t child = 2 * from + 1; child <= 2 * from + 2 && child < count; child++) {
            if (is_before(&keys[largest], &keys[child])) largest = child;
        }
        if (largest == from) return;
        key moved = keys[from];
        keys[from] = keys[largest];
        keys[largest] = moved;
        from = largest;
    }
}

static void sort(key *keys, size_t count) {
    for (size_t i = count / 2; i-- > 0;) sink(keys, i, count);
    for (size_t end = count; end > 1; end--) {
        key last = keys[0];
        keys[0] = keys[end - 1];
        keys[end - 1] = last;
        sink(keys, 0, end - 1);
    }
}

// Whether the table at 1 has only the keys 1, 2, … in this order; counts its keys up to the limit.
static bool is_plain_list(lua_State *L, size_t *count) {
    bool plain = true;
    *count = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        ++*count;
        plain = plain && lua_isinteger(L, -1) && lua_tointeger(L, -1) == (lua_Integer)*count;
        if (!plain && *count > ORDERED_MAX) {
            lua_pop(L, 1);
            return false;
        }
    }
    return plain;
}

static void describe(lua_State *L, int index, key *k) {
    if (lua_type(L, index) == LUA_TSTRING) {
        k->rank = 1;
        k->text = lua_tolstring(L, index, &k->count);
    } else if (lua_isinteger(L, index)) {
        k->rank = 0;
        k->integer = lua_tointeger(L, index);
    } else {
        k->rank = 2;
    }
}

// Pushes a list of the keys of the table at 1, in order.
static void push_keys(lua_State *L, size_t count) {
    key *keys = lua_newuserdatauv(L, count * sizeof *keys, 0);
    lua_createtable(L, (int)count, 0);
    int list = lua_gettop(L);
    size_t place = 0;
    lua_pushnil(L);
    while (place < count && lua_next(L, 1)) {
        lua_pop(L, 1);
        keys[place] = (key){.place = (lua_Integer)place + 1};
        describe(L, -1, &keys[place]);
        lua_pushvalue(L, -1);
        lua_rawseti(L, list, (lua_Integer)++place);
    }
    lua_settop(L, list);
    sort(keys, count);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, list, keys[i].place);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

// Upvalue 1: the keys; 2: how many were given. Those that are gone meanwhile are passed over.
static int step(lua_State *L) {
    lua_Integer place = lua_tointeger(L, lua_upvalueindex(2));
    for (;;) {
        cl_charge(L, 16);
        lua_settop(L, 1);
        if (lua_rawgeti(L, lua_upvalueindex(1), ++place) == LUA_TNIL) return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) != LUA_TNIL) break;
    }
    lua_pushinteger(L, place);
    lua_replace(L, lua_upvalueindex(2));
    return 2;
}

static int after_metamethod(lua_State *L, int status, lua_KContext context) {
    (void)L;
    (void)status;
    (void)context;
    return 3;
}

// Upvalue 1: `next`.
int cl_pairs(lua_State *L) {
    size_t count;
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_callk(L, 1, 3, 0, after_metamethod);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (cl_push_shown(L, 1)) lua_replace(L, 1);
    bool plain = is_plain_list(L, &count);
    cl_charge(L, 16 + count * 4);
    if (plain || count > ORDERED_MAX) {
        lua_pushvalue(L, lua_upvalueindex(1));
    } else {
        push_keys(L, count);
        lua_pushinteger(L, 0);
        lua_pushcclosure(L, step, 2);
    }
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}
