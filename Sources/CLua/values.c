// Plain data in both directions (see CLuaPlain.h).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vm.h"

enum { PATH_MAX_BYTES = 160 };

typedef struct {
    // Nil in an array, a key of a table, or the place in a list.
    const char *key;
    lua_Integer place;
} step;

typedef struct {
    lua_State *L;
    cl_buffer *out;
    // How the host function takes what it gets: CALLUA_TAKES_FUNCTIONS, CALLUA_SHOWS.
    uint32_t flags;
    size_t limit;
    int depth;
    // How deep it may get: what decisions hold has a table of fields around it.
    int depth_max;
    const void *above[PLAIN_DEPTH + 1];
    step path[PLAIN_DEPTH + 1];
    // What the path in a message begins with.
    const char *prefix;
    char *problem;
} encoder;

static bool encode(encoder *e, int index);

// The rows of tables are filled as they are entered: to clear them for every value costs more than
// most values do.
static void begin(encoder *e, lua_State *L, cl_buffer *out, char *problem) {
    e->L = L;
    e->out = out;
    e->flags = 0;
    e->limit = 0;
    e->depth = 0;
    e->depth_max = PLAIN_DEPTH;
    e->prefix = "";
    e->problem = problem;
}

static bool refuse(encoder *e, const char *what) {
    char path[PATH_MAX_BYTES];
    size_t used = (size_t)snprintf(path, sizeof path, "%s", e->prefix);
    for (int i = 0; i < e->depth && used < sizeof path - 1; i++) {
        const step *s = &e->path[i];
        int n = s->key != NULL
            ? snprintf(path + used, sizeof path - used, "%s%.40s", used ? "." : "", s->key)
            : snprintf(path + used, sizeof path - used, "[%lld]", (long long)s->place);
        used += n > 0 ? (size_t)n : 0;
    }
    snprintf(e->problem, CL_NOTE, "%s%s%s", path, path[0] ? ": " : "", what);
    return false;
}

static bool refuse_size(encoder *e) {
    cl_vm(e->L)->too_large = true;
    return refuse(e, "too much data");
}

// What is no data: for a person to read its name will do.
static bool put_no_data(encoder *e, const char *name, const char *problem) {
    if (!(e->flags & CALLUA_SHOWS)) return refuse(e, problem);
    size_t count = strlen(name);
    return cl_append_byte(e->out, PLAIN_STRING) && cl_append_count(e->out, (uint32_t)count)
        && cl_append(e->out, name, count);
}

static bool put_string(encoder *e, int index) {
    size_t count;
    const char *text = lua_tolstring(e->L, index, &count);
    if (e->out->count + count > e->limit) return refuse_size(e);
    return cl_append_byte(e->out, PLAIN_STRING) && cl_append_count(e->out, (uint32_t)count)
        && cl_append(e->out, text, count);
}

static bool put_number(encoder *e, int index) {
    if (lua_isinteger(e->L, index)) {
        lua_Integer integer = lua_tointeger(e->L, index);
        return cl_append_byte(e->out, PLAIN_INTEGER) && cl_append(e->out, &integer, 8);
    }
    lua_Number number = lua_tonumber(e->L, index);
    if (isnan(number)) return put_no_data(e, "nan", "not a number (nan)");
    // The host has uses for them; in JSON there are none.
    if (isinf(number) && e->flags & CALLUA_SHOWS) {
        return put_no_data(e, number > 0 ? "inf" : "-inf", "not a finite number");
    }
    return cl_append_byte(e->out, PLAIN_NUMBER) && cl_append(e->out, &number, 8);
}

static bool put_function(encoder *e, int index) {
    if (!(e->flags & CALLUA_TAKES_FUNCTIONS)) {
        return put_no_data(e, "function", "a function is not data");
    }
    lua_pushvalue(e->L, index);
    int32_t reference = luaL_ref(e->L, LUA_REGISTRYINDEX);
    return cl_append_byte(e->out, PLAIN_FUNCTION) && cl_append(e->out, &reference, 4);
}

// A list has the keys 1 to n and no others; an empty table is one only if it came as one.
static bool is_list(lua_State *L, int index, lua_Integer *count) {
    *count = (lua_Integer)lua_rawlen(L, index);
    if (*count == 0) {
        if (!lua_getmetatable(L, index)) return false;
        lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_array_meta);
        bool marked = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
        if (!marked) return false;
    }
    lua_Integer seen = 0;
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        if (!lua_isinteger(L, -1) || ++seen > *count || lua_tointeger(L, -1) < 1
            || lua_tointeger(L, -1) > *count) {
            lua_pop(L, 1);
            return false;
        }
    }
    return seen == *count;
}

static bool put_list(encoder *e, int index, lua_Integer count) {
    if (!cl_append_byte(e->out, PLAIN_ARRAY) || !cl_append_count(e->out, (uint32_t)count)) {
        return refuse(e, "no memory");
    }
    cl_vm(e->L)->listed += (size_t)count;
    for (lua_Integer i = 1; i <= count; i++) {
        e->path[e->depth - 1] = (step){NULL, i};
        lua_rawgeti(e->L, index, i);
        bool done = encode(e, lua_gettop(e->L));
        lua_pop(e->L, 1);
        if (!done) return false;
    }
    return true;
}

static bool put_pair(encoder *e, int key) {
    int kind = lua_type(e->L, key);
    if (kind == LUA_TSTRING) {
        e->path[e->depth - 1] = (step){lua_tostring(e->L, key), 0};
        return put_string(e, key) && encode(e, key + 1);
    }
    if (!lua_isinteger(e->L, key)) {
        e->path[e->depth - 1] = (step){lua_typename(e->L, kind), 0};
        return refuse(e, "only strings and integers can be keys");
    }
    e->path[e->depth - 1] = (step){NULL, lua_tointeger(e->L, key)};
    return put_number(e, key) && encode(e, key + 1);
}

static bool put_pairs(encoder *e, int index) {
    size_t at = e->out->count + 1;
    uint32_t count = 0;
    if (!cl_append_byte(e->out, PLAIN_OBJECT) || !cl_append_count(e->out, 0)) {
        return refuse(e, "no memory");
    }
    lua_pushnil(e->L);
    while (lua_next(e->L, index)) {
        if (!put_pair(e, lua_gettop(e->L) - 1)) return false;
        lua_pop(e->L, 1);
        count++;
    }
    memcpy(e->out->start + at, &count, 4);
    return true;
}

// A user object that the host gave: it crosses as such, and is its id wherever data is meant.
static bool is_user(lua_State *L, int index) {
    if (!lua_getmetatable(L, index)) return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_user_meta);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

static bool put_user(encoder *e, int index) {
    static const char *const fields[] = {"id", "calls", "devices", "name"};
    lua_State *L = e->L;
    int top = lua_gettop(L);
    if (!lua_checkstack(L, 8)) return refuse(e, "no memory");
    for (int i = 0; i < 4; i++) {
        lua_pushstring(L, fields[i]);
        lua_rawget(L, index);
    }
    bool sound = lua_type(L, top + 1) == LUA_TSTRING && lua_isinteger(L, top + 2)
        && lua_isinteger(L, top + 3)
        && (lua_isnil(L, top + 4) || lua_type(L, top + 4) == LUA_TSTRING);
    if (!sound) return refuse(e, "a user that was changed is not data");
    bool done = cl_append_byte(e->out, PLAIN_USER) && put_string(e, top + 1)
        && put_number(e, top + 2) && put_number(e, top + 3)
        && (lua_isnil(L, top + 4) ? cl_append_byte(e->out, PLAIN_NIL) : put_string(e, top + 4));
    lua_settop(L, top);
    return done ? true : refuse(e, "no memory");
}

static bool put_table(encoder *e, int index) {
    if (is_user(e->L, index)) return put_user(e, index);
    const void *identity = lua_topointer(e->L, index);
    for (int i = 0; i < e->depth; i++) {
        if (e->above[i] == identity) return put_no_data(e, "itself", "a table inside itself");
    }
    if (e->depth == e->depth_max) {
        cl_vm(e->L)->too_large = true;
        return put_no_data(e, "table", "more than 64 levels deep");
    }
    if (!lua_checkstack(e->L, 8)) return refuse(e, "no memory");
    if (e->out->count > e->limit) return refuse_size(e);
    e->path[e->depth] = (step){NULL, 0};
    e->above[e->depth++] = identity;
    lua_Integer count;
    int top = lua_gettop(e->L);
    if (cl_is_view(e->L, index)) {
        cl_push_backing(e->L, index);
        index = lua_gettop(e->L);
    }
    bool done = is_list(e->L, index, &count) ? put_list(e, index, count) : put_pairs(e, index);
    // Whoever walks a table around this one finds its key where it left it.
    if (done) lua_settop(e->L, top);
    if (done) e->depth--;
    return done;
}

static bool encode(encoder *e, int index) {
    bool done;
    switch (lua_type(e->L, index)) {
    case LUA_TNIL: done = cl_append_byte(e->out, PLAIN_NIL); break;
    case LUA_TBOOLEAN:
        done = cl_append_byte(e->out, lua_toboolean(e->L, index) ? PLAIN_TRUE : PLAIN_FALSE);
        break;
    case LUA_TNUMBER: return put_number(e, index);
    case LUA_TSTRING: return put_string(e, index);
    case LUA_TTABLE: return put_table(e, index);
    case LUA_TFUNCTION: return put_function(e, index);
    case LUA_TUSERDATA:
        if (cl_encode_object(e->L, index, e->out)) return true;
        return put_no_data(e, "object", "this object is not data");
    case LUA_TTHREAD: return put_no_data(e, "coroutine", "a coroutine is not data");
    default: return put_no_data(e, lua_typename(e->L, lua_type(e->L, index)), "this is not data");
    }
    return done ? true : refuse(e, "no memory");
}

static bool encode_all(encoder *e, int index) {
    e->limit = e->out->count + cl_vm(e->L)->limits.value;
    cl_vm(e->L)->too_large = false;
    int top = lua_gettop(e->L);
    bool done = encode(e, lua_absindex(e->L, index));
    lua_settop(e->L, top);
    return done;
}

bool cl_encode_named(lua_State *L, int index, cl_buffer *out, const char *prefix, char *problem) {
    encoder e;
    begin(&e, L, out, problem);
    e.prefix = prefix;
    return encode_all(&e, index);
}

bool cl_encode(lua_State *L, int index, cl_buffer *out, uint32_t flags, char *problem) {
    encoder e;
    begin(&e, L, out, problem);
    e.flags = flags;
    return encode_all(&e, index);
}

void cl_encode_or_raise(lua_State *L, int index, cl_buffer *out) {
    char problem[CL_NOTE];
    if (!cl_encode(L, index, out, 0, problem)) luaL_error(L, "%s", problem);
}

void cl_encode_fields_or_raise(lua_State *L, int index, cl_buffer *out) {
    char problem[CL_NOTE];
    encoder e;
    begin(&e, L, out, problem);
    e.depth_max = PLAIN_DEPTH + 1;
    if (!encode_all(&e, index)) luaL_error(L, "%s", problem);
}

static size_t truncated(lua_State *L) { return (size_t)luaL_error(L, "damaged data from host"); }

static uint32_t get_count(lua_State *L, callua_bytes bytes, size_t at) {
    uint32_t count = 0;
    if (at + 4 > bytes.count) truncated(L);
    memcpy(&count, bytes.start + at, 4);
    return count;
}

static size_t decode_string(lua_State *L, callua_bytes bytes, size_t at) {
    uint32_t count = get_count(L, bytes, at);
    if (count > bytes.count - at - 4) truncated(L);
    lua_pushlstring(L, (const char *)bytes.start + at + 4, count);
    return at + 4 + count;
}

static size_t decode_list(lua_State *L, callua_bytes bytes, size_t at) {
    uint32_t count = get_count(L, bytes, at);
    if (count > bytes.count) truncated(L);
    luaL_checkstack(L, 4, "data too deep");
    lua_createtable(L, (int)count, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_array_meta);
    lua_setmetatable(L, -2);
    at += 4;
    for (uint32_t i = 1; i <= count; i++) {
        at = cl_decode(L, bytes, at);
        lua_rawseti(L, -2, i);
    }
    return at;
}

static size_t decode_pairs(lua_State *L, callua_bytes bytes, size_t at) {
    uint32_t count = get_count(L, bytes, at);
    if (count > bytes.count) truncated(L);
    luaL_checkstack(L, 4, "data too deep");
    lua_createtable(L, 0, (int)count);
    at += 4;
    for (uint32_t i = 0; i < count; i++) {
        at = cl_decode(L, bytes, at);
        at = cl_decode(L, bytes, at);
        lua_rawset(L, -3);
    }
    return at;
}

// The list of values that stand elsewhere in the same bytes.
static size_t decode_places(lua_State *L, callua_bytes bytes, size_t at) {
    uint32_t count = get_count(L, bytes, at);
    if (count > bytes.count / 4) truncated(L);
    luaL_checkstack(L, 4, "data too deep");
    lua_createtable(L, (int)count, 0);
    for (uint32_t i = 1; i <= count; i++) {
        cl_decode(L, bytes, get_count(L, bytes, at + 4 * i));
        lua_rawseti(L, -2, i);
    }
    return at + 4 + 4 * count;
}

static size_t decode_user(lua_State *L, callua_bytes bytes, size_t at) {
    lua_createtable(L, 0, 5);
    at = cl_decode(L, bytes, at);
    lua_setfield(L, -2, "id");
    at = cl_decode(L, bytes, at);
    lua_setfield(L, -2, "calls");
    at = cl_decode(L, bytes, at);
    lua_pushboolean(L, lua_tointeger(L, -1) > 0);
    lua_setfield(L, -3, "online");
    lua_setfield(L, -2, "devices");
    at = cl_decode(L, bytes, at);
    lua_setfield(L, -2, "name");
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_user_meta);
    lua_setmetatable(L, -2);
    return at;
}

static size_t decode_block(lua_State *L, callua_bytes bytes, size_t at, int tag) {
    uint32_t count = get_count(L, bytes, at);
    if (count > bytes.count - at - 4) truncated(L);
    callua_bytes block = {bytes.start + at + 4, count};
    if (tag == PLAIN_CALL) cl_push_call(L, block);
    else cl_push_decision(L, block);
    return at + 4 + count;
}

static size_t decode_scalar(lua_State *L, callua_bytes bytes, size_t at, int tag) {
    lua_Integer integer;
    lua_Number number;
    if (at + 8 > bytes.count) truncated(L);
    if (tag == PLAIN_INTEGER) {
        memcpy(&integer, bytes.start + at, 8);
        lua_pushinteger(L, integer);
    } else {
        memcpy(&number, bytes.start + at, 8);
        lua_pushnumber(L, number);
    }
    return at + 8;
}

static size_t decode_reference(lua_State *L, callua_bytes bytes, size_t at, int tag) {
    int32_t number;
    size_t head = tag == PLAIN_HANDLE ? 1 : 0;
    if (at + head + 4 > bytes.count) truncated(L);
    memcpy(&number, bytes.start + at + head, 4);
    if (tag == PLAIN_HANDLE) cl_push_handle(L, bytes.start[at], (uint32_t)number);
    else lua_rawgeti(L, LUA_REGISTRYINDEX, number);
    return at + head + 4;
}

// Pushes the value at `at` and returns the place after it.
size_t cl_decode(lua_State *L, callua_bytes bytes, size_t at) {
    if (at >= bytes.count) return truncated(L);
    int tag = bytes.start[at++];
    switch (tag) {
    case PLAIN_NIL: lua_pushnil(L); return at;
    case PLAIN_FALSE: lua_pushboolean(L, 0); return at;
    case PLAIN_TRUE: lua_pushboolean(L, 1); return at;
    case PLAIN_INTEGER:
    case PLAIN_NUMBER: return decode_scalar(L, bytes, at, tag);
    case PLAIN_STRING: return decode_string(L, bytes, at);
    case PLAIN_ARRAY: return decode_list(L, bytes, at);
    case PLAIN_OBJECT: return decode_pairs(L, bytes, at);
    case PLAIN_USER: return decode_user(L, bytes, at);
    case PLAIN_PLACES: return decode_places(L, bytes, at);
    case PLAIN_CALL:
    case PLAIN_DECISION: return decode_block(L, bytes, at, tag);
    case PLAIN_FUNCTION:
    case PLAIN_HANDLE: return decode_reference(L, bytes, at, tag);
    default: return truncated(L);
    }
}

// Pushes every value of an array one by one and returns their number.
int cl_decode_array(lua_State *L, callua_bytes bytes) {
    if (bytes.count == 0) return 0;
    if (bytes.start[0] != PLAIN_ARRAY) truncated(L);
    uint32_t count = get_count(L, bytes, 1);
    luaL_checkstack(L, (int)count + 8, "too many values");
    size_t at = 5;
    for (uint32_t i = 0; i < count; i++) at = cl_decode(L, bytes, at);
    return (int)count;
}
