// Compiling: to run it, and without running for checks.
#include <string.h>

#include "vm.h"

int cl_load_text(lua_State *L, callua_bytes source, const char *name) {
    static const char mark[] = "\xEF\xBB\xBF";
    const char *text = (const char *)source.start;
    size_t count = source.count;
    // Some editors begin a file with the mark of UTF-8; Lua's own loader of files skips it too.
    if (count >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        count -= 3;
    }
    return luaL_loadbufferx(L, text, count, name, "t");
}

static int append_code(lua_State *L, const void *bytes, size_t count, void *out) {
    (void)L;
    return cl_append(out, bytes, count) ? 0 : 1;
}

typedef struct {
    const char *chunk;
    callua_bytes source;
} text;

static int compile(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    const text *t = lua_touserdata(L, 1);
    if (cl_load_text(L, t->source, t->chunk) != LUA_OK) return lua_error(L);
    vm->out.count = 0;
    lua_dump(L, append_code, &vm->out, 0);
    return 0;
}

static void add_name(lua_State *L, const char *library, const char *name) {
    if (library == NULL) lua_pushstring(L, name);
    else lua_pushfstring(L, "%s.%s", library, name);
    cl_encode_or_raise(L, -1, &cl_vm(L)->out);
    lua_pop(L, 1);
}

// Every name of the table at the top that is a string; returns how many.
static uint32_t add_names(lua_State *L, const char *library) {
    uint32_t count = 0;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            const char *name = lua_tostring(L, -2);
            add_name(L, library, name);
            count++;
            bool is_library = library == NULL && lua_istable(L, -1) && strcmp(name, "_G") != 0;
            if (is_library && cl_push_shown(L, lua_gettop(L))) {
                count += add_names(L, name);
                lua_pop(L, 1);
            }
        }
        lua_pop(L, 1);
    }
    return count;
}

static int list_names(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    vm->out.count = 0;
    cl_append_byte(&vm->out, PLAIN_ARRAY);
    cl_append_count(&vm->out, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_api);
    uint32_t count = add_names(L, NULL);
    memcpy(vm->out.start + 1, &count, 4);
    return 0;
}

bool callua_compile(callua_vm *vm, const char *chunk, callua_bytes source, callua_bytes *code) {
    text t = {chunk, source};
    bool done = cl_protected(vm, compile, &t);
    *code = cl_bytes(&vm->out);
    return done;
}

bool callua_names(callua_vm *vm, callua_bytes *names) {
    bool done = cl_protected(vm, list_names, NULL);
    *names = cl_bytes(&vm->out);
    return done;
}
