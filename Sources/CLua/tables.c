// The guarded table library: raw access, so that no metamethod can make a list endless, and every
// element is paid for.
#include "vm.h"

// Raw, except for the views of `state`, which check every assignment.
static void get(lua_State *L, int list, lua_Integer place) {
    if (cl_is_view(L, list)) lua_geti(L, list, place);
    else lua_rawgeti(L, list, place);
}

static void set(lua_State *L, int list, lua_Integer place) {
    if (cl_is_view(L, list)) lua_seti(L, list, place);
    else lua_rawseti(L, list, place);
}

// The length of the list at `index`; refuses what only pretends to be one.
static lua_Integer check_list(lua_State *L, int index, bool changes) {
    luaL_checktype(L, index, LUA_TTABLE);
    if (cl_is_view(L, index)) return luaL_len(L, index);
    if (lua_getmetatable(L, index)) {
        lua_pushliteral(L, "__len");
        if (lua_rawget(L, -2) != LUA_TNIL) {
            return luaL_error(L, "tables with '__len' are refused here");
        }
        if (lua_rawgetp(L, -2, &cl_frozen_meta) != LUA_TNIL && changes) {
            return luaL_error(L, "this table cannot be changed");
        }
        lua_pop(L, 3);
    }
    return (lua_Integer)lua_rawlen(L, index);
}

static int tab_insert(lua_State *L) {
    lua_Integer count = check_list(L, 1, true), place = count + 1;
    switch (lua_gettop(L)) {
    case 2: break;
    case 3:
        place = luaL_checkinteger(L, 2);
        luaL_argcheck(L, place >= 1 && place <= count + 1, 2, "position out of bounds");
        for (lua_Integer i = count + 1; i > place; i--) {
            cl_charge(L, 8);
            get(L, 1, i - 1);
            set(L, 1, i);
        }
        break;
    default: return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    cl_charge(L, 8);
    set(L, 1, place);
    return 0;
}

static int tab_remove(lua_State *L) {
    lua_Integer count = check_list(L, 1, true), place = luaL_optinteger(L, 2, count);
    if (lua_gettop(L) > 1) {
        luaL_argcheck(L, place >= 1 - (count == 0) && place <= count + 1, 2,
                      "position out of bounds");
    }
    get(L, 1, place);
    for (; place < count; place++) {
        cl_charge(L, 8);
        get(L, 1, place + 1);
        set(L, 1, place);
    }
    lua_pushnil(L);
    set(L, 1, place);
    return 1;
}

static int tab_move(lua_State *L) {
    lua_Integer from = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
    lua_Integer to = luaL_checkinteger(L, 4);
    int target = lua_isnoneornil(L, 5) ? 1 : 5;
    check_list(L, 1, false);
    check_list(L, target, true);
    if (last >= from) {
        luaL_argcheck(L, from > 0 || last < LUA_MAXINTEGER + from, 3, "too many elements to move");
        lua_Integer count = last - from + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
        bool upwards = to > last || to <= from || target != 1;
        for (lua_Integer i = 0; i < count; i++) {
            lua_Integer place = upwards ? i : count - 1 - i;
            cl_charge(L, 8);
            get(L, 1, from + place);
            set(L, target, to + place);
        }
    }
    lua_pushvalue(L, target);
    return 1;
}

static int tab_concat(lua_State *L) {
    lua_Integer count = check_list(L, 1, false);
    size_t gap_count;
    const char *gap = luaL_optlstring(L, 2, "", &gap_count);
    lua_Integer first = luaL_optinteger(L, 3, 1), last = luaL_optinteger(L, 4, count);
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (lua_Integer i = first; i <= last; i++) {
        cl_charge(L, 16);
        get(L, 1, i);
        if (!lua_isstring(L, -1)) {
            return luaL_error(L, "invalid value (at index %I) in table for 'concat'",
                              (LUAI_UACINT)i);
        }
        luaL_addvalue(&out);
        if (i == last) break;
        luaL_addlstring(&out, gap, gap_count);
    }
    luaL_pushresult(&out);
    return 1;
}

static int tab_unpack(lua_State *L) {
    lua_Integer count = check_list(L, 1, false);
    lua_Integer first = luaL_optinteger(L, 2, 1), last = luaL_optinteger(L, 3, count);
    if (first > last) return 0;
    lua_Unsigned number = (lua_Unsigned)last - (lua_Unsigned)first;
    if (number >= 1000000 || !lua_checkstack(L, (int)++number)) {
        return luaL_error(L, "too many results to unpack");
    }
    cl_charge(L, number * 4);
    for (lua_Unsigned i = 0; i < number; i++) get(L, 1, first + (lua_Integer)i);
    return (int)number;
}

// Sorting: by merging, which compares least, keeps the order of equals, and cannot be led out of
// the list by a comparator that lies. Stack: list, comparator or nil, spare list.

enum { LIST = 1, COMPARATOR = 2, SPARE = 3 };

// Whether the value at the top is less than the one below it.
static bool is_less(lua_State *L) {
    cl_charge(L, 32);
    if (lua_isnil(L, COMPARATOR)) return lua_compare(L, -1, -2, LUA_OPLT);
    lua_pushvalue(L, COMPARATOR);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -4);
    lua_call(L, 2, 1);
    bool less = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return less;
}

// Merges [from, middle) and [middle, end) of one list into the other.
static void merge(lua_State *L, int source, int target, lua_Integer from, lua_Integer middle,
                  lua_Integer end) {
    lua_Integer left = from, right = middle;
    for (lua_Integer to = from; to < end; to++) {
        cl_charge(L, 8);
        if (left >= middle || right >= end) {
            get(L, source, left < middle ? left++ : right++);
        } else {
            get(L, source, left);
            get(L, source, right);
            bool takes_right = is_less(L);
            if (takes_right) lua_remove(L, -2);
            else lua_pop(L, 1);
            if (takes_right) right++;
            else left++;
        }
        set(L, target, to);
    }
}

static int tab_sort(lua_State *L) {
    lua_Integer count = check_list(L, 1, true);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    if (count < 2) return 0;
    luaL_argcheck(L, count < INT32_MAX, 1, "array too big");
    lua_createtable(L, (int)count, 0);
    int source = LIST, target = SPARE;
    for (lua_Integer width = 1; width < count; width *= 2) {
        for (lua_Integer from = 1; from <= count; from += 2 * width) {
            lua_Integer middle = from + width, end = from + 2 * width;
            if (middle > count + 1) middle = count + 1;
            if (end > count + 1) end = count + 1;
            merge(L, source, target, from, middle, end);
        }
        int other = source;
        source = target;
        target = other;
    }
    for (lua_Integer i = 1; source == SPARE && i <= count; i++) {
        cl_charge(L, 8);
        lua_rawgeti(L, SPARE, i);
        set(L, LIST, i);
    }
    return 0;
}

static const luaL_Reg functions[] = {
    {"insert", tab_insert}, {"remove", tab_remove}, {"move", tab_move}, {"concat", tab_concat},
    {"unpack", tab_unpack}, {"sort", tab_sort},     {NULL, NULL},
};

int cl_open_tables(lua_State *L) {
    luaopen_table(L);
    luaL_setfuncs(L, functions, 0);
    return 1;
}
