// `state` and `call.vars`: plain data behind tables that check every assignment.
//
// What a script sees is an empty table (a view) whose metatable leads to the real one. Every
// table that is assigned is copied in, so nothing but plain data can ever be inside, its size is
// known, and the host hears of every change.
#include <stdio.h>
#include <string.h>

#include "vm.h"

static const char backing_key, root_key, path_key, store_meta, views, calls_key;
const char cl_state_key;

// What all views of one tree share.
typedef struct {
    uint32_t type;
    // Of the tree as it would leave Lua, were every member under a key; and how many members stand
    // in lists, where they have none: at least so many.
    size_t size;
    size_t listed;
    bool dirty;
    // Of the call; 0 for `state`.
    uint64_t id[2];
} root;

enum { PATH_BYTES = 120, KEY_BYTES = 9 };

bool cl_is_view(lua_State *L, int index) {
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &store_meta);
    bool is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return is;
}

// Pushes the real table of the view at `index`.
void cl_push_backing(lua_State *L, int index) { lua_rawgetp(L, index, &backing_key); }

static root *root_of(lua_State *L, int index) {
    lua_rawgetp(L, index, &root_key);
    root *r = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return r;
}

// Replaces the real table at the top by a view of it. The root's userdata is at `root_index`.
static void make_view(lua_State *L, int root_index, const char *path) {
    root_index = lua_absindex(L, root_index);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &views);
    lua_pushvalue(L, -2);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_createtable(L, 0, 3);
        lua_pushvalue(L, -3);
        lua_rawsetp(L, -2, &backing_key);
        lua_pushvalue(L, root_index);
        lua_rawsetp(L, -2, &root_key);
        lua_pushstring(L, path);
        lua_rawsetp(L, -2, &path_key);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &store_meta);
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -3);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
}

static void write_path(lua_State *L, int view, int key, char *path) {
    lua_rawgetp(L, view, &path_key);
    const char *above = lua_tostring(L, -1);
    if (lua_type(L, key) == LUA_TSTRING) {
        snprintf(path, PATH_BYTES, "%s.%.40s", above, lua_tostring(L, key));
    } else {
        snprintf(path, PATH_BYTES, "%s[%lld]", above, (long long)lua_tointeger(L, key));
    }
    lua_pop(L, 1);
}

// Turns the value at the top, from the view at `view` under the key at `key`, into a view.
static void show(lua_State *L, int view, int key) {
    if (!lua_istable(L, -1)) return;
    char path[PATH_BYTES];
    write_path(L, view, key, path);
    lua_rawgetp(L, view, &root_key);
    lua_insert(L, -2);
    make_view(L, -2, path);
    lua_remove(L, -2);
}

static int store_index(lua_State *L) {
    lua_settop(L, 2);
    cl_push_backing(L, 1);
    lua_pushvalue(L, 2);
    lua_rawget(L, 3);
    show(L, 1, 2);
    return 1;
}

static void begin_size(callua_vm *vm) {
    vm->out.count = 0;
    vm->listed = 0;
}

// The size of what was encoded since then, were every member under a key: any assignment can make
// another table of a list.
static size_t counted(const callua_vm *vm) { return vm->out.count + KEY_BYTES * vm->listed; }

// The size of the value at the top. `listed` of the vm tells of its lists.
static size_t size_of(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    begin_size(vm);
    if (lua_isnil(L, -1)) return 0;
    cl_encode_or_raise(L, -1, &vm->out);
    return counted(vm);
}

static void check_key(lua_State *L, const char *name) {
    if (lua_type(L, 2) == LUA_TSTRING || lua_isinteger(L, 2)) return;
    luaL_error(L, "%s: only strings and integers can be keys, not a %s", name,
               luaL_typename(L, 2));
}

// Stack: view, key, value. Pushes the copy that is kept, or what is wrong with one that is too
// large and false.
static bool push_copy(lua_State *L, const char *path, size_t *size) {
    callua_vm *vm = cl_vm(L);
    char problem[CL_NOTE];
    begin_size(vm);
    *size = 0;
    if (lua_isnil(L, 3)) {
        lua_pushnil(L);
        return true;
    }
    if (!cl_encode_named(L, 3, &vm->out, path, problem)) {
        if (!vm->too_large) luaL_error(L, "%s", problem);
        lua_pushstring(L, problem);
        return false;
    }
    *size = counted(vm);
    cl_decode(L, cl_bytes(&vm->out), 0);
    return true;
}

// `state` is the plugin's own, and an error at the line helps. What is in `call.vars` comes from
// the people in the call. They must trip nothing by it: the change is left out and the host hears
// of it. What is wrong is at the top.
static int leave_out(lua_State *L, const root *r) {
    if (r == cl_vm(L)->state_root) return luaL_error(L, "%s", lua_tostring(L, -1));
    lua_replace(L, 1);
    lua_settop(L, 1);
    cl_host_call(L, CALLUA_LEAVE_VARS, 1);
    return 0;
}

// Pushes the tree itself.
static void push_tree(lua_State *L, const root *r) {
    if (r == cl_vm(L)->state_root) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_state_key);
        return;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
    lua_pushlstring(L, (const char *)r->id, sizeof r->id);
    lua_rawget(L, -2);
    lua_remove(L, -2);
}

static size_t less(size_t all, size_t part) { return all > part ? all - part : 0; }

// Whether the tree as it stands may leave Lua. More may be counted for it than it has: then it is
// counted anew.
static bool fits(lua_State *L, root *r) {
    callua_vm *vm = cl_vm(L);
    if (less(r->size, KEY_BYTES * r->listed) <= vm->limits.state) return true;
    char problem[CL_NOTE];
    begin_size(vm);
    push_tree(L, r);
    bool done = cl_encode_named(L, -1, &vm->out, "", problem);
    lua_pop(L, 1);
    if (!done || vm->out.count > vm->limits.state) return false;
    r->size = counted(vm);
    r->listed = vm->listed;
    return true;
}

// How many members of the table at 4 may stand in no list any more when the value at 3 is put under
// the key at 2.
static size_t leave_list(lua_State *L) {
    lua_Integer count = (lua_Integer)lua_rawlen(L, 4);
    bool ends = lua_isnil(L, 3);
    if (!lua_isinteger(L, 2)) return ends ? 0 : (size_t)count;
    lua_Integer place = lua_tointeger(L, 2);
    bool inside = place >= 1 && place <= count;
    if (!ends) return inside || place == count + 1 ? 0 : (size_t)count;
    if (!inside) return 0;
    return place == count ? 1 : (size_t)count;
}

static int store_newindex(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    char path[PATH_BYTES];
    lua_settop(L, 3);
    root *r = root_of(L, 1);
    lua_rawgetp(L, 1, &path_key);
    check_key(L, lua_tostring(L, -1));
    write_path(L, 1, 2, path);
    lua_settop(L, 3);
    cl_push_backing(L, 1);
    lua_pushvalue(L, 2);
    lua_rawget(L, 4);
    size_t old_size = size_of(L), old_listed = vm->listed + leave_list(L), size;
    if (!push_copy(L, path, &size)) return leave_out(L, r);
    size_t key_size = lua_type(L, 2) == LUA_TSTRING ? 5 + lua_rawlen(L, 2) : KEY_BYTES;
    if (size > 0) size += key_size;
    if (old_size > 0) old_size += key_size;
    // A table that was taken out of the tree can still be written to, and counts no more.
    root before = *r;
    r->size = less(r->size, old_size) + size;
    r->listed = less(r->listed, old_listed) + vm->listed;
    lua_pushvalue(L, 2);
    lua_insert(L, 6);
    lua_rawset(L, 4);
    if (!fits(L, r)) {
        *r = before;
        lua_pushvalue(L, 2);
        lua_insert(L, 5);
        lua_rawset(L, 4);
        lua_pushfstring(L, "%s: over the limit of %d bytes", path, (int)vm->limits.state);
        return leave_out(L, r);
    }
    r->dirty = true;
    vm->dirty = true;
    return 0;
}

static int store_len(lua_State *L) {
    cl_push_backing(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
    return 1;
}

int cl_view_next(lua_State *L) {
    lua_settop(L, 2);
    cl_push_backing(L, 1);
    lua_pushvalue(L, 2);
    if (!lua_next(L, 3)) {
        lua_pushnil(L);
        return 1;
    }
    show(L, 1, lua_gettop(L) - 1);
    return 2;
}

// Upvalue 1: the iterator of the real table's `pairs`.
static int view_step(lua_State *L) {
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    cl_push_backing(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2)) return 1;
    show(L, 1, lua_gettop(L) - 1);
    return 2;
}

static int store_pairs(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_getfield(L, -1, "pairs");
    cl_push_backing(L, 1);
    lua_call(L, 1, 1);
    lua_pushcclosure(L, view_step, 1);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

// Pushes a view of an empty tree.
static void push_root(lua_State *L, const char *path, const uint64_t *id) {
    root *r = lua_newuserdatauv(L, sizeof *r, 0);
    *r = (root){.type = CL_ROOT};
    if (id != NULL) memcpy(r->id, id, sizeof r->id);
    lua_newtable(L);
    make_view(L, -2, path);
    lua_remove(L, -2);
}

void cl_open_store(lua_State *L) {
    static const luaL_Reg events[] = {
        {"__index", store_index}, {"__newindex", store_newindex}, {"__len", store_len},
        {"__pairs", store_pairs}, {NULL, NULL},
    };
    luaL_newlib(L, events);
    lua_pushliteral(L, "store");
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &store_meta);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &views);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &calls_key);
    push_root(L, "state", NULL);
    cl_vm(L)->state_root = root_of(L, lua_gettop(L));
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cl_state_key);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    lua_insert(L, -2);
    lua_setfield(L, -2, "state");
    lua_pop(L, 1);
}

// `call.vars`: the call's tree, fetched from the host the first time.

void cl_push_vars(lua_State *L, const uint8_t *id) {
    uint64_t halves[2];
    memcpy(halves, id, 16);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
    lua_pushlstring(L, (const char *)id, 16);
    if (lua_rawget(L, -2) != LUA_TNIL) return;
    lua_pop(L, 1);
    push_root(L, "call.vars", halves);
    int view = lua_gettop(L);
    lua_pushvalue(L, 1);
    if (cl_host_call(L, CALLUA_VARS, view + 1) > 0 && lua_istable(L, -1)) {
        root *r = root_of(L, view);
        r->size = size_of(L);
        r->listed = cl_vm(L)->listed;
        lua_rawsetp(L, view, &backing_key);
        lua_settop(L, view);
    }
    lua_settop(L, view);
    lua_pushlstring(L, (const char *)id, 16);
    lua_pushvalue(L, view);
    lua_rawset(L, view - 1);
}

// Between host and trees.

typedef struct {
    callua_bytes bytes;
    bool keeps;
    bool replaces;
} exchange;

static int read_state(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_state_key);
    root *r = root_of(L, lua_gettop(L));
    r->size = size_of(L);
    r->listed = cl_vm(L)->listed;
    r->dirty = false;
    return 0;
}

// Lays members over those that are there, or puts them in their place.
static int write_state(lua_State *L) {
    const exchange *x = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_state_key);
    cl_decode(L, x->bytes, 0);
    luaL_checktype(L, -1, LUA_TTABLE);
    cl_push_backing(L, -2);
    for (lua_pushnil(L); x->replaces && lua_next(L, -2);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_settop(L, 4);
    lua_pushnil(L);
    while (lua_next(L, -3)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_settop(L, 2);
    callua_vm *vm = cl_vm(L);
    root *r = root_of(L, 2);
    r->size = size_of(L);
    r->listed = vm->listed;
    if (vm->out.count > vm->limits.state) {
        return luaL_error(L, "state: over the limit of %d bytes", (int)vm->limits.state);
    }
    return 0;
}

static int flush_calls(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    const exchange *x = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        int view = lua_gettop(L);
        root *r = root_of(L, view);
        if (r->dirty) {
            lua_pushinteger(L, (lua_Integer)r->id[0]);
            lua_pushinteger(L, (lua_Integer)r->id[1]);
            lua_pushvalue(L, view);
            cl_host_call(L, CALLUA_KEEP_VARS, view + 1);
            r->dirty = false;
        }
        lua_settop(L, view - 1);
    }
    vm->dirty = false;
    if (x->keeps) return 0;
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &calls_key);
    return 0;
}

void cl_flush_calls(callua_vm *vm) {
    if (!vm->dirty && !vm->has_vars) return;
    exchange x = {.keeps = vm->alive > 0};
    // What the run has left in `out` is still to be read.
    cl_buffer result = vm->out;
    vm->out = vm->spare;
    cl_protected(vm, flush_calls, &x);
    vm->has_vars = x.keeps;
    vm->spare = vm->out;
    vm->out = result;
}

bool callua_state_changed(const callua_vm *vm) {
    const root *r = vm->state_root;
    return r->dirty;
}

bool callua_read_state(callua_vm *vm, callua_bytes *bytes) {
    bool done = !vm->broken && cl_protected(vm, read_state, NULL);
    *bytes = cl_bytes(&vm->out);
    return done;
}

bool callua_write_state(callua_vm *vm, callua_bytes bytes, callua_bytes *problem) {
    exchange x = {.bytes = bytes};
    bool done = cl_protected(vm, write_state, &x);
    *problem = cl_bytes(&vm->out);
    return done;
}

bool callua_replace_state(callua_vm *vm, callua_bytes bytes) {
    exchange x = {.bytes = bytes, .replaces = true};
    return cl_protected(vm, write_state, &x);
}
