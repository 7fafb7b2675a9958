// Compiling: to run it, and without running for checks.
#include <string.h>

#include "vm.h"

// Some editors begin a file with the mark of UTF-8; Lua's own loader of files skips it too.
static callua_bytes without_mark(callua_bytes source) {
    static const char mark[] = "\xEF\xBB\xBF";
    if (source.count < 3 || memcmp(source.start, mark, 3) != 0) return source;
    return (callua_bytes){source.start + 3, source.count - 3};
}

int cl_load_text(lua_State *L, callua_bytes source, const char *name) {
    callua_bytes text = without_mark(source);
    return luaL_loadbufferx(L, (const char *)text.start, text.count, name, "t");
}

static int append_code(lua_State *L, const void *bytes, size_t count, void *out) {
    (void)L;
    return cl_append(out, bytes, count) ? 0 : 1;
}

typedef struct {
    const char *chunk;
    callua_bytes source;
    uint64_t budget;
    // Where the compiler is.
    size_t place;
    int line;
    uint64_t deadline;
} text;

// Lua takes the square of the time for some texts, such as one expression of 50,000 `or`: it gets
// the file in pieces, between which the clock is looked at.
static const char *next_piece(lua_State *L, void *data, size_t *count) {
    enum { PIECE = 512 };
    text *t = data;
    if (cl_processor_time() > t->deadline) {
        lua_pushfstring(L,
                        "%s:%d: compiling takes over %d ms: an expression or a row of "
                        "'elseif' is too long",
                        t->chunk + 1, t->line, (int)(t->budget / 1000000));
        lua_error(L);
    }
    const uint8_t *piece = t->source.start + t->place;
    *count = t->source.count - t->place;
    if (*count > PIECE) *count = PIECE;
    for (size_t i = 0; i < *count; i++) t->line += piece[i] == '\n';
    t->place += *count;
    return (const char *)piece;
}

static int compile(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    text *t = lua_touserdata(L, 1);
    t->deadline = cl_processor_time() + t->budget;
    if (lua_load(L, next_piece, t, t->chunk, "t") != LUA_OK) return lua_error(L);
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

bool callua_compile(callua_vm *vm, const char *chunk, callua_bytes source, uint64_t budget,
                    callua_bytes *code) {
    text t = {.chunk = chunk, .source = without_mark(source), .budget = budget, .line = 1};
    bool done = cl_protected(vm, compile, &t);
    *code = cl_bytes(&vm->out);
    return done;
}

bool callua_names(callua_vm *vm, callua_bytes *names) {
    bool done = cl_protected(vm, list_names, NULL);
    *names = cl_bytes(&vm->out);
    return done;
}
