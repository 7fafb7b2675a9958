// What handlers get and give besides plain data: calls, decisions, objects of the host.
#include <stdio.h>
#include <string.h>

#include "vm.h"

typedef struct {
    uint32_t type;
    uint32_t count;
    uint8_t bytes[];
} block;

static block *push_block(lua_State *L, uint32_t type, callua_bytes bytes, int user_values) {
    block *b = lua_newuserdatauv(L, sizeof(block) + bytes.count, user_values);
    b->type = type;
    b->count = (uint32_t)bytes.count;
    if (bytes.count > 0) memcpy(b->bytes, bytes.start, bytes.count);
    return b;
}

static block *test_block(lua_State *L, int index, uint32_t type) {
    block *b = lua_touserdata(L, index);
    return b != NULL && lua_type(L, index) == LUA_TUSERDATA && b->type == type ? b : NULL;
}

static block *check_block(lua_State *L, uint32_t type, const char *name) {
    block *b = test_block(L, 1, type);
    if (b == NULL) luaL_typeerror(L, 1, name);
    return b;
}

static callua_bytes bytes_of(const block *b) { return (callua_bytes){b->bytes, b->count}; }

// Calls.

// Fields beyond those of a snapshot.
enum { FIELD_ID = 100, FIELD_EXTENDED_DATA, FIELD_VARS, FIELD_ALIVE };

static const struct {
    const char *name;
    int field;
} call_fields[] = {
    {"id", FIELD_ID},
    {"mode", PLAIN_CALL_MODE},
    {"kind", PLAIN_CALL_KIND},
    {"caller", PLAIN_CALL_CALLER},
    {"callee", PLAIN_CALL_CALLEE},
    {"inviter", PLAIN_CALL_INVITER},
    {"invitees", PLAIN_CALL_INVITEES},
    {"users", PLAIN_CALL_USERS},
    {"timeout", PLAIN_CALL_TIMEOUT},
    {"remaining", PLAIN_CALL_REMAINING},
    {"extended_raw", PLAIN_CALL_EXTENDED_RAW},
    {"extended_data", FIELD_EXTENDED_DATA},
    {"items", PLAIN_CALL_ITEMS},
    {"vars", FIELD_VARS},
    {"alive", FIELD_ALIVE},
    {"group", PLAIN_CALL_GROUP},
    {"receiver", PLAIN_CALL_RECEIVER},
    {"sender", PLAIN_CALL_SENDER},
    {"transferred_by", PLAIN_CALL_TRANSFERRED_BY},
};

enum { KEPT_FIELDS = PLAIN_CALL_FIELDS + 1 };

void cl_push_call(lua_State *L, callua_bytes snapshot) {
    push_block(L, CL_CALL, snapshot, KEPT_FIELDS);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_call_meta);
    lua_setmetatable(L, -2);
}

static int push_call_id(lua_State *L, const block *call) {
    uint64_t half[2];
    char text[33];
    memcpy(half, call->bytes, 16);
    for (int i = 0; i < 32; i++) {
        text[i] = "0123456789abcdef"[half[i / 16] >> (60 - i % 16 * 4) & 15];
    }
    lua_pushlstring(L, text, 32);
    return 1;
}

static int push_field(lua_State *L, const block *call, int field) {
    uint32_t at;
    memcpy(&at, call->bytes + 16 + 4 * field, 4);
    if (at == 0) lua_pushnil(L);
    else cl_decode(L, bytes_of(call), at);
    return 1;
}

// Parsed once; the raw text stays.
static int push_extended_data(lua_State *L, const block *call) {
    if (lua_getiuservalue(L, 1, KEPT_FIELDS) != LUA_TNIL) return 1;
    push_field(L, call, PLAIN_CALL_EXTENDED_RAW);
    if (lua_isnil(L, -1)) return 1;
    lua_replace(L, 2);
    lua_settop(L, 2);
    if (cl_host_call(L, CALLUA_PARSE, 2) == 0) lua_pushnil(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, KEPT_FIELDS);
    return 1;
}

// A table is made once, so that `call.callee == call.callee`.
static int push_kept(lua_State *L, const block *call, int field) {
    if (lua_getiuservalue(L, 1, field + 1) != LUA_TNIL) return 1;
    push_field(L, call, field);
    if (!lua_istable(L, -1)) return 1;
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, field + 1);
    return 1;
}

static int unknown_field(lua_State *L) {
    char suggestion[CL_NOTE];
    const char *key = luaL_tolstring(L, 2, NULL);
    cl_suggest(L, lua_upvalueindex(1), key, "", suggestion, sizeof suggestion);
    return luaL_error(L, "unknown field '%s' of call%s", key, suggestion);
}

// Upvalue 1: names to field numbers and methods.
static int call_index(lua_State *L) {
    block *call = check_block(L, CL_CALL, "call");
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNUMBER) {
        return lua_isnil(L, -1) ? unknown_field(L) : 1;
    }
    int field = (int)lua_tointeger(L, -1);
    switch (field) {
    case FIELD_ID: return push_call_id(L, call);
    case FIELD_EXTENDED_DATA: return push_extended_data(L, call);
    case FIELD_VARS:
        cl_vm(L)->has_vars = true;
        lua_settop(L, 1);
        cl_push_vars(L, call->bytes);
        return 1;
    case FIELD_ALIVE:
        lua_settop(L, 1);
        return cl_host_call(L, CALLUA_ALIVE, 1);
    default: return push_kept(L, call, field);
    }
}

static int call_newindex(lua_State *L) {
    const char *field = lua_tostring(L, 2);
    if (field != NULL && strcmp(field, "vars") == 0) {
        return luaL_error(L, "call.vars cannot be replaced; set fields of it");
    }
    return luaL_error(L, "a call cannot be changed (field '%s'); use call.vars",
                      luaL_tolstring(L, 2, NULL));
}

static int call_tostring(lua_State *L) {
    block *call = check_block(L, CL_CALL, "call");
    lua_pushliteral(L, "call ");
    push_call_id(L, call);
    lua_concat(L, 2);
    return 1;
}

// A user object stands for its id where texts are made of it.
static void push_id(lua_State *L, int index) {
    if (!lua_istable(L, index)) return lua_pushvalue(L, index);
    lua_pushliteral(L, "id");
    lua_rawget(L, index);
}

static int user_tostring(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    push_id(L, 1);
    luaL_tolstring(L, -1, NULL);
    return 1;
}

// Two objects of one user are equal: every event has objects of its own.
static int user_equal(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    push_id(L, 1);
    push_id(L, 2);
    lua_pushboolean(L, !lua_isnil(L, -1) && lua_rawequal(L, -2, -1));
    return 1;
}

// Not everybody has a name. Upvalue 1: what any other missing field leads to.
static int user_index(lua_State *L) {
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (strcmp(key, "name") == 0) return 0;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

static int user_concat(lua_State *L) {
    push_id(L, 1);
    push_id(L, 2);
    if (!lua_isstring(L, -2) || !lua_isstring(L, -1)) {
        int odd = lua_isstring(L, -2) ? -1 : -2;
        return luaL_error(L, "attempt to concatenate a %s value", luaL_typename(L, odd));
    }
    lua_concat(L, 2);
    return 1;
}

static void protect(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__metatable");
}

void cl_open_calls(lua_State *L) {
    lua_createtable(L, 0, 6);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof call_fields / sizeof call_fields[0]; i++) {
        lua_pushinteger(L, call_fields[i].field);
        lua_setfield(L, -2, call_fields[i].name);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_handle_meta);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "call");
    lua_pop(L, 1);
    lua_pushcclosure(L, call_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, call_newindex);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, call_tostring);
    lua_setfield(L, -2, "__tostring");
    protect(L, "call");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_call_meta);
    lua_newtable(L);
    cl_make_strict(L, "field", "user.");
    lua_getmetatable(L, -1);
    lua_getfield(L, -1, "__index");
    lua_pushcclosure(L, user_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, user_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, user_concat);
    lua_setfield(L, -2, "__concat");
    lua_pushcfunction(L, user_equal);
    lua_setfield(L, -2, "__eq");
    protect(L, "user");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_user_meta);
    lua_pop(L, 1);
    lua_newtable(L);
    protect(L, "array");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_array_meta);
}

// Objects of the host.

typedef struct {
    uint32_t type;
    uint32_t number;
    uint8_t kind;
} handle;

void cl_push_handle(lua_State *L, uint8_t kind, uint32_t number) {
    handle *h = lua_newuserdatauv(L, sizeof *h, 0);
    *h = (handle){CL_HANDLE, number, kind};
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_handle_meta);
    lua_rawgeti(L, -1, kind);
    lua_setmetatable(L, -3);
    lua_pop(L, 1);
}

void cl_open_handles(lua_State *L) {
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_handle_meta);
}

typedef struct {
    uint8_t kind;
    const char *name;
} kind_name;

// Upvalue 1: the methods of the kind. A kind with the methods `at` and `len` is also a list.
static int handle_index(lua_State *L) {
    if (lua_isinteger(L, 2)) {
        lua_pushliteral(L, "at");
        if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) return 1;
        lua_insert(L, 1);
        lua_call(L, 2, 1);
        return 1;
    }
    lua_gettable(L, lua_upvalueindex(1));
    return 1;
}

static int handle_length(lua_State *L) {
    lua_settop(L, 1);
    lua_pushliteral(L, "len");
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
        return luaL_error(L, "attempt to get length of a %s value", luaL_typename(L, 1));
    }
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int add_kind(lua_State *L) {
    const kind_name *k = lua_touserdata(L, 1);
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s:", k->name);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_handle_meta);
    lua_newtable(L);
    lua_newtable(L);
    cl_make_strict(L, "method", prefix);
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, k->name);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, handle_length, 1);
    lua_setfield(L, -3, "__len");
    lua_pushcclosure(L, handle_index, 1);
    lua_setfield(L, -2, "__index");
    protect(L, k->name);
    lua_rawseti(L, 2, k->kind);
    return 0;
}

bool callua_kind(callua_vm *vm, uint8_t kind, const char *name) {
    kind_name k = {kind, name};
    return cl_protected(vm, add_kind, &k);
}

// Decisions.

static int decision_tostring(lua_State *L) {
    static const char *const names[] = {"accept", "reject", "ring",
                                        "forward", "refuse", "allow", "drop", "admit"};
    block *decision = check_block(L, CL_DECISION, "decision");
    lua_pushfstring(L, "decision: %s", names[decision->bytes[0] % 8]);
    return 1;
}

static int decision_equal(lua_State *L) {
    block *a = test_block(L, 1, CL_DECISION), *b = test_block(L, 2, CL_DECISION);
    bool same = a != NULL && b != NULL && a->count == b->count
        && memcmp(a->bytes, b->bytes, a->count) == 0;
    lua_pushboolean(L, same);
    return 1;
}

static int decision_fixed(lua_State *L) { return luaL_error(L, "a decision has no fields"); }

void cl_push_decision(lua_State *L, callua_bytes payload) {
    push_block(L, CL_DECISION, payload, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_decision_meta);
    lua_setmetatable(L, -2);
}

// Remembers where a handler made a decision, for the warning when it is not returned.
static void note_made(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    if (vm->current < 0 || vm->loading) return;
    cl_made *made = &vm->handlers[vm->current].made;
    lua_Debug record;
    if (!lua_getstack(L, 1, &record)) return;
    lua_getinfo(L, "Sl", &record);
    made->count++;
    made->line = record.currentline;
    memcpy(made->source, record.short_src, sizeof made->source);
}

static void check_options(lua_State *L, int index, int names, const char *constructor) {
    char suggestion[CL_NOTE];
    if (lua_isnoneornil(L, index)) return;
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, names) == LUA_TNIL) {
            lua_pop(L, 1);
            const char *key = luaL_tolstring(L, -1, NULL);
            cl_suggest(L, names, key, "", suggestion, sizeof suggestion);
            luaL_error(L, "unknown field '%s' of %s%s", key, constructor, suggestion);
        }
        lua_pop(L, 1);
    }
}

// A user given as the object that handlers get stands for the user's id.
static void take_user(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TTABLE) return;
    lua_pushliteral(L, "id");
    if (lua_rawget(L, index) == LUA_TSTRING) {
        lua_replace(L, index);
    } else {
        lua_pop(L, 1);
    }
}

// Upvalue 1: the kind; 2: whether the first argument is a text; 3: names of options; 4: its name.
static int make_decision(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    bool text = lua_toboolean(L, lua_upvalueindex(2));
    int last = text ? 2 : 1;
    const char *name = lua_tostring(L, lua_upvalueindex(4));
    if (lua_gettop(L) > last) luaL_error(L, "too many arguments to '%s'", name);
    if (lua_tointeger(L, lua_upvalueindex(1)) == PLAIN_FORWARD) take_user(L, 1);
    bool list = lua_tointeger(L, lua_upvalueindex(1)) == PLAIN_FORWARD && lua_istable(L, 1)
        && lua_rawlen(L, 1) > 0;
    if (text && !list && lua_type(L, 1) != LUA_TSTRING) luaL_checktype(L, 1, LUA_TSTRING);
    check_options(L, last, lua_upvalueindex(3), name);
    int count = lua_gettop(L);
    vm->out.count = 0;
    cl_append_byte(&vm->out, (uint8_t)lua_tointeger(L, lua_upvalueindex(1)));
    cl_append_byte(&vm->out, PLAIN_ARRAY);
    cl_append_count(&vm->out, (uint32_t)count);
    for (int i = 1; i <= count; i++) cl_encode_fields_or_raise(L, i, &vm->out);
    cl_push_decision(L, cl_bytes(&vm->out));
    note_made(L);
    return 1;
}

static const struct {
    const char *name;
    int kind;
    bool text;
    const char *options[5];
} constructors[] = {
    {"accept", PLAIN_ACCEPT, false, {"wait", "extended_data"}},
    {"reject", PLAIN_REJECT, true, {"extended_data"}},
    {"ring", PLAIN_RING, false, {"for_", "again"}},
    {"forward", PLAIN_FORWARD, true, {"first", "each"}},
    {"refuse", PLAIN_REFUSE, true, {NULL}},
    {"allow", PLAIN_ALLOW, false, {"timeout", "invitees", "extended_data"}},
    {"drop", PLAIN_DROP, true, {NULL}},
};

void cl_open_decisions(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    for (size_t i = 0; i < sizeof constructors / sizeof constructors[0]; i++) {
        lua_pushinteger(L, constructors[i].kind);
        lua_pushboolean(L, constructors[i].text);
        lua_newtable(L);
        for (const char *const *option = constructors[i].options; *option != NULL; option++) {
            lua_pushboolean(L, 1);
            lua_setfield(L, -2, *option);
        }
        lua_pushstring(L, constructors[i].name);
        lua_pushcclosure(L, make_decision, 4);
        lua_setfield(L, -2, constructors[i].name);
    }
    lua_pop(L, 1);
    lua_createtable(L, 0, 6);
    lua_pushcfunction(L, decision_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, decision_equal);
    lua_setfield(L, -2, "__eq");
    lua_pushcfunction(L, decision_fixed);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, decision_fixed);
    lua_setfield(L, -2, "__newindex");
    protect(L, "decision");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_decision_meta);
    // `admit` takes nothing, so it is a value: an array of nothing behind its kind.
    static const uint8_t admit[] = {PLAIN_ADMIT, PLAIN_ARRAY, 0, 0, 0, 0};
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    cl_push_decision(L, (callua_bytes){admit, sizeof admit});
    lua_setfield(L, -2, "admit");
    lua_pop(L, 1);
}

// Writes an object that may leave Lua; false for any other userdata.
bool cl_encode_object(lua_State *L, int index, cl_buffer *out) {
    const uint32_t *type = lua_touserdata(L, index);
    if (*type == CL_HANDLE) {
        const handle *h = (const handle *)type;
        return cl_append_byte(out, PLAIN_HANDLE) && cl_append_byte(out, h->kind)
            && cl_append_count(out, h->number);
    }
    const block *b = (const block *)type;
    uint32_t count = *type == CL_CALL ? 16 : b->count;
    return cl_append_byte(out, *type == CL_CALL ? PLAIN_CALL : PLAIN_DECISION)
        && cl_append_count(out, count) && cl_append(out, b->bytes, count);
}
