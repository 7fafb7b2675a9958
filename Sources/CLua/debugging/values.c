// Values as a debugger shows them, and as it changes them.
#include <stdio.h>
#include <string.h>

#include "debug.h"

static const char seen;

// Writing rows. Nothing here raises: without memory a row is cut, and the reader is told.

void cl_put_text(callua_vm *vm, const char *text, size_t count) {
    cl_append_byte(&vm->debug->out, PLAIN_STRING);
    cl_append_count(&vm->debug->out, (uint32_t)count);
    cl_append(&vm->debug->out, text, count);
}

void cl_put_integer(callua_vm *vm, int64_t integer) {
    cl_append_byte(&vm->debug->out, PLAIN_INTEGER);
    cl_append(&vm->debug->out, &integer, 8);
}

void cl_put_list(callua_vm *vm, uint32_t count) {
    cl_append_byte(&vm->debug->out, PLAIN_ARRAY);
    cl_append_count(&vm->debug->out, count);
}

static void put_word(callua_vm *vm, const char *word) { cl_put_text(vm, word, strlen(word)); }

static bool has_meta(lua_State *L, int index, const char *key) {
    if (!lua_getmetatable(L, index)) return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, key);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

static uint32_t kind_of(lua_State *L, int index) {
    const uint32_t *type = lua_touserdata(L, index);
    return lua_type(L, index) == LUA_TUSERDATA ? *type : 0;
}

static const char *type_of(lua_State *L, int index) {
    if (lua_isinteger(L, index)) return "integer";
    if (lua_istable(L, index) && has_meta(L, index, &cl_user_meta)) return "user";
    switch (kind_of(L, index)) {
    case CL_CALL: return "call";
    case CL_DECISION: return "decision";
    case CL_HANDLE: return "object";
    default: return luaL_typename(L, index);
    }
}

// Pushes the table in which the members of the one at `index` really are.
static void push_contents(lua_State *L, int index) {
    index = lua_absindex(L, index);
    if (cl_is_view(L, index)) cl_push_backing(L, index);
    else if (!cl_push_shown(L, index)) lua_pushvalue(L, index);
    // Only a broken view has none.
    if (!lua_istable(L, -1)) {
        lua_pop(L, 1);
        lua_newtable(L);
    }
}

// Keeps the value at `index`; returns its number.
static int64_t keep(lua_State *L, int index) {
    index = lua_absindex(L, index);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &seen) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &seen);
    }
    int64_t number = (int64_t)lua_rawlen(L, -1) + 1;
    lua_pushvalue(L, index);
    lua_rawseti(L, -2, number);
    lua_pop(L, 1);
    return number;
}

static bool push_kept(lua_State *L, int64_t number) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &seen) != LUA_TTABLE) return false;
    lua_rawgeti(L, -1, number);
    lua_remove(L, -2);
    return !lua_isnil(L, -1);
}

void callua_debug_forget(callua_vm *vm) {
    if (vm->broken || !lua_checkstack(vm->main, 2)) return;
    // There is a place for it already, or there is nothing to forget: no memory is taken.
    if (lua_rawgetp(vm->main, LUA_REGISTRYINDEX, &seen) == LUA_TTABLE) {
        lua_pushboolean(vm->main, 0);
        lua_rawsetp(vm->main, LUA_REGISTRYINDEX, &seen);
    }
    lua_pop(vm->main, 1);
}

// Whether the key at the top is a place of a list of `length`.
static bool is_place(lua_State *L, int index, lua_Integer length) {
    if (!lua_isinteger(L, index)) return false;
    lua_Integer place = lua_tointeger(L, index);
    return place >= 1 && place <= length;
}

// Members that are no places of the list, counted up to a bound.
static int64_t count_named(lua_State *L, int index, lua_Integer length) {
    uint32_t most = cl_vm(L)->debug->sight.members;
    int64_t named = 0, looked = 0;
    // What is no place stands behind a long list, most often.
    if (length > most) lua_pushinteger(L, length);
    else lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        if (!is_place(L, -1, length)) named++;
        if (named > most || ++looked > 2 * (int64_t)most) {
            lua_pop(L, 1);
            break;
        }
    }
    return named;
}

static void put_function_text(lua_State *L, int index) {
    char text[LUA_IDSIZE + 40];
    lua_Debug record;
    lua_pushvalue(L, index);
    lua_getinfo(L, ">S", &record);
    if (record.linedefined < 0) snprintf(text, sizeof text, "function of callagent");
    else snprintf(text, sizeof text, "function %s:%d", record.short_src, record.linedefined);
    put_word(cl_vm(L), text);
}

static const char *decision_name(lua_State *L, int index) {
    static const char *const names[] = {"accept", "reject", "ring",
                                        "forward", "refuse", "allow", "drop"};
    const uint8_t *bytes = (const uint8_t *)lua_touserdata(L, index) + 2 * sizeof(uint32_t);
    return names[bytes[0] % 7];
}

static int upvalues_of(lua_State *L, int index) {
    lua_Debug record;
    lua_pushvalue(L, index);
    lua_getinfo(L, ">u", &record);
    return lua_iscfunction(L, index) ? 0 : record.nups;
}

// Writes `[.., value, length, reference, named, place]` behind the type.
static void put_object(lua_State *L, int index) {
    callua_vm *vm = cl_vm(L);
    int64_t length = 0, named = 0;
    bool has_members = true;
    switch (lua_type(L, index)) {
    case LUA_TTABLE:
        put_word(vm, cl_is_view(L, index) ? "kept table" : "table");
        push_contents(L, index);
        length = (int64_t)lua_rawlen(L, -1);
        named = count_named(L, lua_gettop(L), length);
        lua_pop(L, 1);
        has_members = length > 0 || named > 0;
        if (!has_members && lua_getmetatable(L, index)) {
            has_members = true;
            lua_pop(L, 1);
        }
        break;
    case LUA_TFUNCTION:
        put_function_text(L, index);
        named = upvalues_of(L, index);
        has_members = named > 0;
        break;
    case LUA_TUSERDATA:
        named = kind_of(L, index) == CL_CALL ? 1 : 0;
        has_members = kind_of(L, index) == CL_CALL || kind_of(L, index) == CL_DECISION;
        put_word(vm, kind_of(L, index) == CL_DECISION ? decision_name(L, index)
                                                      : type_of(L, index));
        break;
    default:
        put_word(vm, type_of(L, index));
        has_members = false;
    }
    cl_put_integer(vm, length);
    cl_put_integer(vm, has_members ? keep(L, index) : 0);
    cl_put_integer(vm, named);
    cl_put_integer(vm, (int64_t)(uintptr_t)lua_topointer(L, index));
}

// Writes a value that has no members, or false.
static bool put_plain(lua_State *L, int index, int64_t *length) {
    callua_vm *vm = cl_vm(L);
    size_t count;
    *length = 0;
    switch (lua_type(L, index)) {
    case LUA_TNIL: return cl_append_byte(&vm->debug->out, PLAIN_NIL);
    case LUA_TBOOLEAN:
        return cl_append_byte(
            &vm->debug->out, lua_toboolean(L, index) ? PLAIN_TRUE : PLAIN_FALSE);
    case LUA_TNUMBER: {
        lua_Number number = lua_tonumber(L, index);
        if (lua_isinteger(L, index)) {
            cl_put_integer(vm, lua_tointeger(L, index));
            return true;
        }
        return cl_append_byte(&vm->debug->out, PLAIN_NUMBER)
            && cl_append(&vm->debug->out, &number, 8);
    }
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, index, &count);
        *length = (int64_t)count;
        cl_put_text(vm, text, count < vm->debug->sight.text ? count : vm->debug->sight.text);
        return true;
    }
    default: return false;
    }
}

void cl_put_value(lua_State *L, int index) {
    callua_vm *vm = cl_vm(L);
    int64_t length;
    index = lua_absindex(L, index);
    luaL_checkstack(L, 8, NULL);
    cl_put_list(vm, 6);
    put_word(vm, type_of(L, index));
    if (!put_plain(L, index, &length)) return put_object(L, index);
    cl_put_integer(vm, length);
    for (int i = 0; i < 3; i++) cl_put_integer(vm, 0);
}

// A key is a value of which nothing more is asked.
static void put_key(lua_State *L, int index) {
    callua_vm *vm = cl_vm(L);
    int64_t length;
    if (put_plain(L, index, &length)) return;
    char text[64];
    snprintf(text, sizeof text, "[%s]", type_of(L, index));
    cl_append_byte(&vm->debug->out, PLAIN_ARRAY);
    cl_append_count(&vm->debug->out, 1);
    put_word(vm, text);
}

bool cl_look_at(callua_vm *vm, lua_CFunction function, void *operation, callua_bytes *out) {
    struct cl_debug *debug = vm->debug;
    *out = (callua_bytes){NULL, 0};
    if (vm->broken) return false;
    debug->out.count = 0;
    // What is looked at takes memory for a while; the script shall not feel it.
    size_t memory = vm->limits.memory;
    vm->limits.memory = memory * 2;
    bool was_looking = debug->looking;
    debug->looking = true;
    bool done = cl_protected(vm, function, operation);
    debug->looking = was_looking;
    vm->limits.memory = memory;
    *out = done ? cl_bytes(&debug->out) : cl_bytes(&vm->out);
    return done;
}

// Lists.

typedef struct {
    callua_vm *vm;
    callua_frame frame;
    int64_t reference;
    callua_page page;
    callua_slot slot;
    callua_bytes value;
} operation;

static void begin_list(callua_vm *vm, size_t *at) {
    *at = vm->debug->out.count + 1;
    cl_put_list(vm, 0);
}

static void end_list(callua_vm *vm, size_t at, uint32_t count) {
    memcpy(vm->debug->out.start + at, &count, 4);
}

static void put_named(lua_State *L, const char *name) {
    callua_vm *vm = cl_vm(L);
    cl_put_list(vm, 2);
    put_word(vm, name);
    cl_put_value(L, -1);
}

static lua_State *find(lua_State *L, const operation *o, lua_Debug *record) {
    lua_State *other;
    if (!cl_find_function(o->vm, o->frame, &other, record)) {
        luaL_error(L, "this function is not under way any more");
    }
    if (!lua_checkstack(other, 4) || !lua_checkstack(L, 8)) luaL_error(L, "no memory");
    return other;
}

static void take(lua_State *L, lua_State *other) {
    if (L != other) lua_xmove(other, L, 1);
}

static int list_locals(lua_State *L) {
    const operation *o = lua_touserdata(L, 1);
    lua_Debug record;
    lua_State *other = find(L, o, &record);
    uint32_t count = 0;
    size_t at;
    begin_list(o->vm, &at);
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int n = 1; (uint32_t)n <= o->vm->debug->sight.members; n++) {
            const char *name = lua_getlocal(other, &record, sign * n);
            if (name == NULL) break;
            take(L, other);
            char text[32];
            if (sign < 0) snprintf(text, sizeof text, "(vararg %d)", n);
            put_named(L, sign < 0 ? text : name);
            lua_pop(L, 1);
            count++;
        }
    }
    end_list(o->vm, at, count);
    return 0;
}

bool callua_debug_locals(callua_vm *vm, callua_frame frame, callua_bytes *rows) {
    operation o = {.vm = vm, .frame = frame};
    return cl_look_at(vm, list_locals, &o, rows);
}

static void put_upvalues(lua_State *L, int function) {
    callua_vm *vm = cl_vm(L);
    uint32_t count = 0;
    size_t at;
    begin_list(vm, &at);
    for (int n = 1; n <= 255; n++) {
        const char *name = lua_getupvalue(L, function, n);
        if (name == NULL) break;
        put_named(L, name);
        count++;
        lua_pop(L, 1);
    }
    end_list(vm, at, count);
}

static void push_function(lua_State *L, const operation *o) {
    lua_Debug record;
    lua_State *other = find(L, o, &record);
    lua_getinfo(other, "f", &record);
    take(L, other);
}

static int list_upvalues(lua_State *L) {
    push_function(L, lua_touserdata(L, 1));
    if (lua_iscfunction(L, -1)) cl_put_list(cl_vm(L), 0);
    else put_upvalues(L, lua_gettop(L));
    return 0;
}

bool callua_debug_upvalues(callua_vm *vm, callua_frame frame, callua_bytes *rows) {
    operation o = {.vm = vm, .frame = frame};
    return cl_look_at(vm, list_upvalues, &o, rows);
}

static int show_globals(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    cl_put_value(L, -1);
    return 0;
}

bool callua_debug_globals(callua_vm *vm, callua_bytes *value) {
    return cl_look_at(vm, show_globals, NULL, value);
}

// Members.

static uint32_t put_places(lua_State *L, int table, callua_page page) {
    callua_vm *vm = cl_vm(L);
    int64_t length = (int64_t)lua_rawlen(L, table);
    uint32_t count = 0;
    for (int64_t place = page.start + 1; place <= length && count < page.count; place++) {
        cl_put_list(vm, 2);
        cl_put_integer(vm, place);
        lua_rawgeti(L, table, place);
        cl_put_value(L, -1);
        lua_pop(L, 1);
        count++;
    }
    return count;
}

static uint32_t put_others(lua_State *L, int table, callua_page page) {
    callua_vm *vm = cl_vm(L);
    lua_Integer length = (lua_Integer)lua_rawlen(L, table);
    uint32_t count = 0;
    int64_t passed = 0;
    lua_pushnil(L);
    while (count < page.count && lua_next(L, table)) {
        if (!is_place(L, -2, length) && passed++ >= page.start) {
            cl_put_list(vm, 2);
            put_key(L, lua_gettop(L) - 1);
            cl_put_value(L, -1);
            count++;
        }
        lua_pop(L, 1);
    }
    return count;
}

// The metatable of a script: those of callagent are nobody's business.
static uint32_t put_metatable(lua_State *L, int index) {
    if (cl_is_view(L, index) || cl_push_shown(L, index)) return 0;
    if (!lua_getmetatable(L, index)) return 0;
    lua_pushliteral(L, "__metatable");
    bool is_own = lua_rawget(L, -2) == LUA_TNIL;
    lua_pop(L, 1);
    if (is_own) put_named(L, "(metatable)");
    return is_own ? 1 : 0;
}

static void put_table(lua_State *L, callua_page page) {
    callua_vm *vm = cl_vm(L);
    int index = lua_gettop(L);
    size_t at;
    push_contents(L, index);
    int contents = lua_gettop(L);
    begin_list(vm, &at);
    uint32_t count = page.places ? put_places(L, contents, page) : put_others(L, contents, page);
    if (!page.places && count < page.count) count += put_metatable(L, index);
    end_list(vm, at, count);
}

static const char *const call_names[] = {
    "id", "mode", "kind", "caller", "callee", "inviter", "invitees", "users", "timeout",
    "remaining", "extended_data", "extended_raw", "items", "vars", "alive", "group", "receiver",
    "sender",    "transferred_by",
};

enum { CALL_NAMES = sizeof call_names / sizeof call_names[0] };

static void put_call(lua_State *L) {
    int index = lua_gettop(L);
    cl_put_list(cl_vm(L), CALL_NAMES);
    for (int i = 0; i < CALL_NAMES; i++) {
        lua_getfield(L, index, call_names[i]);
        put_named(L, call_names[i]);
        lua_settop(L, index);
    }
}

static void put_decision(lua_State *L) {
    const uint8_t *block = lua_touserdata(L, -1);
    uint32_t size;
    memcpy(&size, block + sizeof(uint32_t), sizeof size);
    int before = lua_gettop(L);
    int count = cl_decode_array(L, (callua_bytes){block + 2 * sizeof(uint32_t) + 1, size - 1});
    cl_put_list(cl_vm(L), (uint32_t)count);
    for (int i = 1; i <= count; i++) {
        cl_put_list(cl_vm(L), 2);
        cl_put_integer(cl_vm(L), i);
        cl_put_value(L, before + i);
    }
}

static int list_members(lua_State *L) {
    const operation *o = lua_touserdata(L, 1);
    if (!push_kept(L, o->reference)) return luaL_error(L, "this value is not shown any more");
    switch (lua_type(L, -1)) {
    case LUA_TTABLE: put_table(L, o->page); break;
    case LUA_TFUNCTION: put_upvalues(L, lua_gettop(L)); break;
    default:
        if (kind_of(L, -1) == CL_CALL) put_call(L);
        else put_decision(L);
    }
    return 0;
}

bool callua_debug_members(
    callua_vm *vm, int64_t reference, callua_page page, callua_bytes *rows) {
    operation o = {.vm = vm, .reference = reference, .page = page};
    if (page.count > vm->debug->sight.members) o.page.count = vm->debug->sight.members;
    return cl_look_at(vm, list_members, &o, rows);
}

// Places where values are kept.

static void push_member(lua_State *L, const operation *o) {
    if (!push_kept(L, o->slot.reference)) luaL_error(L, "this value is not shown any more");
    cl_decode(L, o->slot.key, 0);
    int key = lua_gettop(L);
    if (kind_of(L, key - 1) == CL_CALL) {
        lua_gettable(L, key - 1);
        return;
    }
    if (!lua_istable(L, key - 1)) {
        luaL_error(L, "a %s has no fields", type_of(L, key - 1));
    }
    push_contents(L, key - 1);
    lua_pushvalue(L, key);
    lua_rawget(L, -2);
    // What a metatable of the script would lead to is not looked for.
}

static int get_slot(lua_State *L) {
    const operation *o = lua_touserdata(L, 1);
    lua_Debug record;
    if (o->slot.reference != 0) {
        push_member(L, o);
    } else if (o->slot.number > 0) {
        lua_State *other = find(L, o, &record);
        if (lua_getlocal(other, &record, o->slot.number) == NULL) lua_pushnil(L);
        else take(L, other);
    } else {
        push_function(L, o);
        if (lua_getupvalue(L, -1, -o->slot.number) == NULL) lua_pushnil(L);
    }
    cl_put_value(L, -1);
    return 0;
}

bool callua_debug_get(callua_vm *vm, callua_slot slot, callua_bytes *value) {
    operation o = {.vm = vm, .frame = slot.frame, .slot = slot};
    return cl_look_at(vm, get_slot, &o, value);
}

static void set_member(lua_State *L, const operation *o, int value) {
    if (!push_kept(L, o->slot.reference)) luaL_error(L, "this value is not shown any more");
    int table = lua_gettop(L);
    if (!lua_istable(L, table)) luaL_error(L, "a %s cannot be changed", type_of(L, table));
    bool is_plain = !cl_is_view(L, table) && !cl_push_shown(L, table)
        && !has_meta(L, table, &cl_user_meta);
    if (!is_plain) luaL_error(L, "this table cannot be changed here");
    cl_decode(L, o->slot.key, 0);
    if (lua_isnil(L, -1)) luaL_error(L, "this member cannot be changed here");
    lua_pushvalue(L, value);
    lua_rawset(L, table);
}

static int set_slot(lua_State *L) {
    const operation *o = lua_touserdata(L, 1);
    lua_Debug record;
    if (o->reference == 0) cl_decode(L, o->value, 0);
    else if (!push_kept(L, o->reference)) luaL_error(L, "this value is not shown any more");
    int value = lua_gettop(L);
    if (o->slot.reference != 0) {
        set_member(L, o, value);
    } else if (o->slot.number > 0) {
        lua_State *other = find(L, o, &record);
        lua_xmove(L, other, 1);
        if (lua_setlocal(other, &record, o->slot.number) == NULL) {
            luaL_error(L, "there is no such variable");
        }
    } else {
        push_function(L, o);
        lua_pushvalue(L, value);
        if (lua_setupvalue(L, -2, -o->slot.number) == NULL) {
            luaL_error(L, "there is no such variable");
        }
    }
    return 0;
}

bool callua_debug_set(
    callua_vm *vm, callua_slot slot, callua_bytes value, int64_t reference,
    callua_bytes *problem) {
    operation o = {
        .vm = vm, .frame = slot.frame, .slot = slot, .value = value, .reference = reference};
    return cl_look_at(vm, set_slot, &o, problem);
}

void callua_debug_see(callua_vm *vm, callua_sight sight) { vm->debug->sight = sight; }
