// The guarded string library.
#include <string.h>

#include "pattern.h"

// Longest format that `string.format` takes, and longest string under its %q.
enum { FORMAT_MAX = 16 * 1024, QUOTED_MAX = 64 * 1024 };

static const char *check_text(lua_State *L, int index, size_t *count) {
    const char *text = luaL_checklstring(L, index, count);
    cl_charge(L, 1 + *count / 64);
    return text;
}

// The place, from 0, that an optional position argument means.
static size_t start_place(lua_State *L, int index, size_t count) {
    lua_Integer place = luaL_optinteger(L, index, 1);
    if (place > 0) return (size_t)place - 1;
    if (place == 0 || place < -(lua_Integer)count) return 0;
    return count - (size_t)-place;
}

// find and match.

static bool is_plain(const char *pattern, size_t count) {
    for (const char *end = pattern + count; pattern < end; pattern += strlen(pattern) + 1) {
        if (strpbrk(pattern, "^$*+?.([%-") != NULL) return false;
    }
    return true;
}

static const char *find_text(lua_State *L, const char *s, size_t count, const char *wanted,
                             size_t wanted_count) {
    if (wanted_count == 0) return s;
    while (wanted_count <= count) {
        const char *first = memchr(s, *wanted, count - wanted_count + 1);
        if (first == NULL) return NULL;
        cl_charge(L, 8 + wanted_count / 16);
        if (memcmp(first, wanted, wanted_count) == 0) return first;
        count -= (size_t)(first + 1 - s);
        s = first + 1;
    }
    return NULL;
}

static int find_plain(lua_State *L, const char *s, size_t count, size_t start) {
    size_t wanted_count;
    const char *wanted = lua_tolstring(L, 2, &wanted_count);
    const char *found = find_text(L, s + start, count - start, wanted, wanted_count);
    if (found == NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, found - s + 1);
    lua_pushinteger(L, found - s + (lua_Integer)wanted_count);
    return 2;
}

static int search(lua_State *L, bool finds) {
    size_t count, pattern_count;
    const char *s = check_text(L, 1, &count), *p = check_text(L, 2, &pattern_count);
    size_t start = start_place(L, 3, count);
    if (start > count) {
        lua_pushnil(L);
        return 1;
    }
    if (finds && (lua_toboolean(L, 4) || is_plain(p, pattern_count))) {
        return find_plain(L, s, count, start);
    }
    cl_match m;
    cl_match_begin(&m, L, s, count, p + pattern_count);
    bool anchored = pattern_count > 0 && *p == '^';
    for (const char *at = s + start; at <= m.end; at++) {
        const char *end = cl_match_at(&m, at, p + anchored);
        if (end != NULL) {
            if (!finds) return cl_push_captures(&m, at, end);
            lua_pushinteger(L, at - s + 1);
            lua_pushinteger(L, end - s);
            return 2 + cl_push_captures(&m, NULL, NULL);
        }
        if (anchored) break;
    }
    lua_pushnil(L);
    return 1;
}

static int str_find(lua_State *L) { return search(L, true); }

static int str_match(lua_State *L) { return search(L, false); }

// gmatch.

typedef struct {
    uint32_t type;
    size_t place;
    // Where the last match ended: an empty match there would be the same again.
    size_t last_end;
    bool has_last;
} walk;

static int gmatch_step(lua_State *L) {
    size_t count, pattern_count;
    const char *s = lua_tolstring(L, lua_upvalueindex(1), &count);
    const char *p = lua_tolstring(L, lua_upvalueindex(2), &pattern_count);
    walk *w = lua_touserdata(L, lua_upvalueindex(3));
    cl_match m;
    cl_check(L);
    cl_match_begin(&m, L, s, count, p + pattern_count);
    for (const char *at = s + w->place; at <= m.end; at++) {
        const char *end = cl_match_at(&m, at, p);
        if (end == NULL || (w->has_last && end == s + w->last_end)) continue;
        w->place = w->last_end = (size_t)(end - s);
        w->has_last = true;
        return cl_push_captures(&m, at, end);
    }
    return 0;
}

static int str_gmatch(lua_State *L) {
    size_t count, pattern_count;
    check_text(L, 1, &count);
    check_text(L, 2, &pattern_count);
    size_t start = start_place(L, 3, count);
    lua_settop(L, 2);
    walk *w = lua_newuserdatauv(L, sizeof *w, 0);
    *w = (walk){0, start > count ? count + 1 : start, 0, false};
    lua_pushcclosure(L, gmatch_step, 3);
    return 1;
}

// gsub.

static void add_template(cl_match *m, luaL_Buffer *out, const char *start, const char *end) {
    size_t count;
    const char *text = lua_tolstring(m->L, 3, &count), *text_end = text + count;
    for (;;) {
        const char *mark = memchr(text, '%', (size_t)(text_end - text));
        if (mark == NULL) break;
        luaL_addlstring(out, text, (size_t)(mark - text));
        char letter = mark + 1 < text_end ? mark[1] : 0;
        if (letter == '%') {
            luaL_addchar(out, '%');
        } else if (letter == '0') {
            luaL_addlstring(out, start, (size_t)(end - start));
        } else if (letter >= '1' && letter <= '9') {
            cl_push_capture(m, letter - '1', start, end);
            luaL_tolstring(m->L, -1, NULL);
            lua_remove(m->L, -2);
            luaL_addvalue(out);
        } else {
            luaL_error(m->L, "invalid use of '%%' in replacement string");
        }
        text = mark + 2;
    }
    luaL_addlstring(out, text, (size_t)(text_end - text));
}

// Adds what replaces a match; false when it stays as it is.
static bool add_replacement(cl_match *m, luaL_Buffer *out, const char *start, const char *end) {
    lua_State *L = m->L;
    switch (lua_type(L, 3)) {
    case LUA_TFUNCTION: {
        lua_pushvalue(L, 3);
        int count = cl_push_captures(m, start, end);
        lua_call(L, count, 1);
        break;
    }
    case LUA_TTABLE:
        cl_push_capture(m, 0, start, end);
        lua_gettable(L, 3);
        break;
    default: add_template(m, out, start, end); return true;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(out, start, (size_t)(end - start));
        return false;
    }
    if (!lua_isstring(L, -1)) {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
    luaL_addvalue(out);
    return true;
}

static int str_gsub(lua_State *L) {
    size_t count, pattern_count;
    const char *s = check_text(L, 1, &count), *p = check_text(L, 2, &pattern_count);
    int kind = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)count + 1), done = 0;
    luaL_argexpected(L,
                     kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION
                         || kind == LUA_TTABLE,
                     3, "string/function/table");
    bool anchored = pattern_count > 0 && *p == '^', changed = false;
    const char *at = s, *last_end = NULL;
    cl_match m;
    luaL_Buffer out;
    cl_match_begin(&m, L, s, count, p + pattern_count);
    luaL_buffinit(L, &out);
    while (done < most) {
        const char *end = cl_match_at(&m, at, p + anchored);
        if (end != NULL && end != last_end) {
            done++;
            changed = add_replacement(&m, &out, at, end) || changed;
            cl_charge(L, 8);
            at = last_end = end;
        } else if (at < m.end) {
            luaL_addchar(&out, *at++);
        } else {
            break;
        }
        if (anchored) break;
    }
    if (changed) {
        luaL_addlstring(&out, at, (size_t)(m.end - at));
        luaL_pushresult(&out);
    } else {
        lua_pushvalue(L, 1);
    }
    lua_pushinteger(L, done);
    return 2;
}

// The others.

static int str_rep(lua_State *L) {
    size_t count, gap_count;
    const char *text = luaL_checklstring(L, 1, &count);
    lua_Integer times = luaL_checkinteger(L, 2);
    const char *gap = luaL_optlstring(L, 3, "", &gap_count);
    size_t limit = cl_vm(L)->limits.memory, each = count + gap_count;
    if (times <= 0 || each == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (each < count || (size_t)times > limit / each) {
        return luaL_error(L, "resulting string too large");
    }
    luaL_Buffer out;
    size_t total = (size_t)times * each - gap_count, done = count;
    char *to = luaL_buffinitsize(L, &out, total);
    memcpy(to, text, count);
    if (done < total) {
        memcpy(to + count, gap, gap_count);
        done = each;
    }
    // The part that is there already is copied behind itself: few copies, however short the text.
    while (done < total) {
        size_t more = done < total - done ? done : total - done;
        memcpy(to + done, to, more);
        done += more;
    }
    luaL_pushresultsize(&out, total);
    cl_charge(L, total / 16);
    return 1;
}

// Upvalue 1: the stock function.
static int call_stock(lua_State *L) {
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, LUA_MULTRET);
    return lua_gettop(L);
}

static int str_format(lua_State *L) {
    size_t count;
    const char *format = luaL_checklstring(L, 1, &count);
    if (count > FORMAT_MAX) return luaL_error(L, "format too long (over %d bytes)", FORMAT_MAX);
    cl_charge(L, count);
    for (int i = 2; i <= lua_gettop(L) && strstr(format, "q") != NULL; i++) {
        if (lua_type(L, i) == LUA_TSTRING && lua_rawlen(L, i) > QUOTED_MAX) {
            return luaL_error(L, "string too long to be quoted (over %d bytes)", QUOTED_MAX);
        }
    }
    return call_stock(L);
}

// Those that go over the bytes of their first argument.
static int linear(lua_State *L) {
    size_t count;
    luaL_checklstring(L, 1, &count);
    cl_charge(L, 1 + count);
    return call_stock(L);
}

static const luaL_Reg own[] = {
    {"find", str_find}, {"match", str_match}, {"gmatch", str_gmatch},
    {"gsub", str_gsub}, {"rep", str_rep},     {"dump", NULL},
    {NULL, NULL},
};

static void wrap(lua_State *L, const char *name, lua_CFunction around) {
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, around, 1);
    lua_setfield(L, -2, name);
}

// Changes the table of stock functions at the top.
void cl_guard_strings(lua_State *L) {
    static const char *const passes[] = {"lower", "upper", "reverse", "pack", "unpack"};
    for (const luaL_Reg *entry = own; entry->name != NULL; entry++) {
        if (entry->func != NULL) lua_pushcfunction(L, entry->func);
        else lua_pushnil(L);
        lua_setfield(L, -2, entry->name);
    }
    wrap(L, "format", str_format);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) wrap(L, passes[i], linear);
}

int cl_open_strings(lua_State *L) {
    luaopen_string(L);
    cl_guard_strings(L);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushliteral(L, "string");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
    return 1;
}

static int add_stock(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    luaopen_string(L);
    lua_setfield(L, -2, "stock");
    return 0;
}

bool callua_add_stock(callua_vm *vm) { return cl_protected(vm, add_stock, NULL); }
