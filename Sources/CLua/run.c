// Runs: every handler is a coroutine that the host starts, resumes and cancels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm.h"

enum { MESSAGE_MAX = 2048, TRACE_LEVELS = 12 };

// Handlers.

static void append_text(cl_buffer *buffer, const char *text) {
    cl_append(buffer, text, strlen(text));
}

static int new_thread(lua_State *L) {
    cl_handler *handler = lua_touserdata(L, 1);
    handler->thread = lua_newthread(L);
    handler->reference = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static void put_free(callua_vm *vm, int32_t number) {
    if (number < CL_IDLE_MAX) return;
    vm->handlers[number].next_free = vm->free_handler;
    vm->free_handler = number;
}

static bool grow_handlers(callua_vm *vm) {
    int32_t before = vm->handler_count;
    int32_t count = before == 0 ? CL_IDLE_MAX : before * 2;
    cl_handler *grown = realloc(vm->handlers, (size_t)count * sizeof *grown);
    if (grown == NULL) return false;
    memset(grown + before, 0, (size_t)(count - before) * sizeof *grown);
    vm->handlers = grown;
    vm->handler_count = count;
    if (before == 0) vm->free_handler = -1;
    for (int32_t i = count - 1; i >= before; i--) put_free(vm, i);
    return true;
}

// Only the first ones keep their coroutines; however many there are, no more than these are looked
// through.
static int32_t find_free(callua_vm *vm) {
    int32_t empty = -1;
    if (vm->handler_count == 0 && !grow_handlers(vm)) return -1;
    for (int32_t i = 0; i < CL_IDLE_MAX; i++) {
        if (vm->handlers[i].busy) continue;
        if (vm->handlers[i].thread != NULL) return i;
        if (empty < 0) empty = i;
    }
    if (empty >= 0) return empty;
    if (vm->free_handler < 0 && !grow_handlers(vm)) return -1;
    return vm->free_handler;
}

// Takes an idle coroutine, or makes one; -1 when there is no memory.
static int32_t take_handler(callua_vm *vm) {
    int32_t number = find_free(vm);
    if (number < 0) return -1;
    cl_handler *handler = &vm->handlers[number];
    if (handler->thread == NULL) {
        if (!cl_protected(vm, new_thread, handler)) return -1;
    }
    if (number >= CL_IDLE_MAX) vm->free_handler = handler->next_free;
    handler->busy = true;
    handler->stood_back = false;
    handler->made.count = 0;
    vm->alive++;
    return number;
}

static void drop_thread(callua_vm *vm, cl_handler *handler) {
    luaL_unref(vm->main, LUA_REGISTRYINDEX, handler->reference);
    handler->thread = NULL;
}

// A coroutine that a script has seen, that failed or that nobody needs is not used again.
static void give_back(callua_vm *vm, int32_t number, bool reusable) {
    cl_handler *handler = &vm->handlers[number];
    if (!reusable || number >= CL_IDLE_MAX || cl_has_mark(handler->thread, CL_ESCAPED)) {
        drop_thread(vm, handler);
    } else {
        lua_settop(handler->thread, 0);
    }
    if (vm->debug != NULL) cl_debug_end(vm, number);
    handler->busy = false;
    put_free(vm, number);
    vm->alive--;
}

// Runs a function of C in protected mode with one light userdata; a message goes to `out`.
bool cl_protected(callua_vm *vm, lua_CFunction function, void *argument) {
    if (vm->running == NULL) cl_arm(vm, UINT64_MAX / 2);
    lua_pushcfunction(vm->main, function);
    lua_pushlightuserdata(vm->main, argument);
    bool done = lua_pcall(vm->main, 1, 0, 0) == LUA_OK;
    if (!done) {
        const char *problem = lua_tostring(vm->main, -1);
        vm->out.count = 0;
        if (problem != NULL) append_text(&vm->out, problem);
    }
    lua_settop(vm->main, 0);
    return done;
}

// What a run leaves behind.

static void write_message(callua_vm *vm, lua_State *L) {
    size_t count;
    vm->out.count = 0;
    if (lua_type(L, -1) == LUA_TSTRING) {
        const char *text = lua_tolstring(L, -1, &count);
        cl_append(&vm->out, text, count < MESSAGE_MAX ? count : MESSAGE_MAX);
    } else {
        // Lua puts the place before texts only.
        cl_note_position(L);
        append_text(&vm->out, vm->note);
        append_text(&vm->out, vm->note[0] ? ": error object is " : "error object is ");
        if (!lua_isnil(L, -1)) append_text(&vm->out, "a ");
        append_text(&vm->out, luaL_typename(L, -1));
    }
}

static void write_kill(callua_vm *vm) {
    char text[CL_NOTE + 80];
    vm->out.count = 0;
    const char *colon = vm->note[0] ? ": " : "";
    if (vm->killed == CALLUA_BAD_RETURN || vm->killed == CALLUA_TOO_LARGE) {
        snprintf(text, sizeof text, "%s", vm->note);
    } else if (vm->killed == CALLUA_CPU) {
        snprintf(text, sizeof text, "%s%sover the processor budget of %g ms", vm->note, colon,
                 (double)vm->budget / 1e6);
    } else {
        snprintf(text, sizeof text, "%s%sover the memory limit of %zu KB", vm->note, colon,
                 vm->limits.memory / 1024);
    }
    append_text(&vm->out, text);
}

static void append_place(callua_vm *vm, const lua_Debug *record, int line) {
    char place[CL_NOTE];
    int count = snprintf(place, sizeof place, "%s%s:%d", vm->trace.count ? " < " : "",
                         record->short_src, line);
    cl_append(&vm->trace, place, (size_t)count);
}

static void write_trace(callua_vm *vm, lua_State *L) {
    lua_Debug record;
    vm->trace.count = 0;
    for (int level = 0; level < TRACE_LEVELS && lua_getstack(L, level, &record); level++) {
        lua_getinfo(L, "Sl", &record);
        if (record.currentline > 0) append_place(vm, &record, record.currentline);
    }
}

callua_bytes callua_waits_at(callua_vm *vm, int32_t thread) {
    vm->trace.count = 0;
    if (!vm->broken) write_trace(vm, vm->handlers[thread].thread);
    return cl_bytes(&vm->trace);
}

callua_bytes callua_defined_at(callua_vm *vm, int32_t reference) {
    lua_Debug record;
    vm->trace.count = 0;
    if (vm->broken || !lua_checkstack(vm->main, 1)) return cl_bytes(&vm->trace);
    if (lua_rawgeti(vm->main, LUA_REGISTRYINDEX, reference) != LUA_TFUNCTION) {
        lua_pop(vm->main, 1);
        return cl_bytes(&vm->trace);
    }
    lua_getinfo(vm->main, ">S", &record);
    append_place(vm, &record, record.linedefined);
    return cl_bytes(&vm->trace);
}

static void fail(callua_vm *vm, lua_State *L, int status, callua_outcome *outcome) {
    if (status == LUA_ERRMEM && vm->killed == 0) {
        vm->killed = CALLUA_MEMORY;
        cl_note_position(L);
    }
    outcome->status = CALLUA_FAILED;
    write_trace(vm, L);
    if (vm->killed != 0) {
        outcome->failure = vm->killed;
        write_kill(vm);
    } else {
        outcome->failure = vm->denied ? CALLUA_DENIED : CALLUA_ERROR;
        write_message(vm, L);
    }
    outcome->value = cl_bytes(&vm->out);
    outcome->traceback = cl_bytes(&vm->trace);
}

static void note_unreturned(callua_vm *vm, cl_handler *handler, callua_outcome *outcome) {
    const cl_made *made = &handler->made;
    bool returned = vm->out.count > 5 && vm->out.start[5] != PLAIN_NIL;
    if (made->count == 0 || returned) return;
    int count = snprintf(vm->unreturned, CL_NOTE, "%s:%d: decision made but not returned",
                         made->source, made->line);
    outcome->unreturned = (callua_bytes){(const uint8_t *)vm->unreturned, (size_t)count};
}

callua_bytes callua_place(callua_vm *vm) {
    const cl_made *made = &vm->handlers[vm->finished].made;
    if (made->count == 0) return (callua_bytes){NULL, 0};
    int count = snprintf(vm->unreturned, CL_NOTE, "%s:%d", made->source, made->line);
    return (callua_bytes){(const uint8_t *)vm->unreturned, (size_t)count};
}

// A status of our own: the run was left by the watchdog.
enum { GIVEN_UP = 100 };

// Resumes a coroutine under the eyes of the watchdog.
static int resume(callua_vm *vm, lua_State *thread, int arguments) {
    int results = 0;
    if (sigsetjmp(vm->escape, 0) != 0) {
        vm->broken = true;
        return GIVEN_UP;
    }
    cl_guard_run(vm);
    int status = lua_resume(thread, vm->main, arguments, &results);
    cl_end_guard();
    return status;
}

// Nothing of the state may be touched any more.
static void fail_broken(callua_vm *vm, callua_outcome *outcome) {
    char text[CL_NOTE];
    vm->killed = CALLUA_CPU;
    snprintf(text, sizeof text,
             "over the processor budget of %g ms within one instruction; its state is given up",
             (double)vm->budget / 1e6);
    vm->out.count = vm->trace.count = 0;
    append_text(&vm->out, text);
    outcome->status = CALLUA_FAILED;
    outcome->failure = CALLUA_CPU;
    outcome->broken = true;
    outcome->value = cl_bytes(&vm->out);
}

// Runs a handler until it returns, waits or fails.
static void run(callua_vm *vm, int32_t number, int arguments, uint64_t budget,
                callua_outcome *outcome) {
    cl_handler *handler = &vm->handlers[number];
    lua_State *thread = handler->thread;
    vm->current = number;
    vm->running = thread;
    vm->request = 0;
    vm->closed_off = false;
    cl_arm(vm, budget);
    if (vm->debug != NULL) {
        cl_debug_leave(vm, 0);
        cl_debug_enter(vm, thread);
    }
    int status = resume(vm, thread, arguments);
    vm->running = NULL;
    vm->current = -1;
    *outcome = (callua_outcome){.thread = -1};
    if (status == GIVEN_UP) {
        fail_broken(vm, outcome);
    } else if (status == LUA_YIELD && vm->stood_back) {
        outcome->status = CALLUA_PAUSED;
        outcome->thread = number;
        handler->stood_back = true;
    } else if (status == LUA_YIELD) {
        outcome->status = CALLUA_WAITING;
        outcome->function = vm->request;
        outcome->thread = number;
        if (vm->debug != NULL) cl_debug_wait(vm, number);
    } else if (status == LUA_OK) {
        outcome->status = CALLUA_FINISHED;
        outcome->value = cl_bytes(&vm->out);
        note_unreturned(vm, handler, outcome);
        vm->finished = number;
        give_back(vm, number, true);
    } else {
        if (vm->debug != NULL) cl_debug_failed(vm, number, thread);
        fail(vm, thread, status, outcome);
        give_back(vm, number, false);
    }
    outcome->nanoseconds = status == GIVEN_UP ? budget : cl_spent(vm);
    if (vm->debug != NULL) outcome->nanoseconds = 0;
    if (status != GIVEN_UP && (vm->dirty || vm->has_vars)) cl_flush_calls(vm);
}

static void fail_without_memory(callua_vm *vm, callua_outcome *outcome) {
    *outcome = (callua_outcome){.thread = -1};
    outcome->status = CALLUA_FAILED;
    outcome->failure = CALLUA_MEMORY;
    vm->killed = CALLUA_MEMORY;
    vm->note[0] = 0;
    write_kill(vm);
    outcome->value = cl_bytes(&vm->out);
}

// Writes the results, from the stack's second value on, as an array.
static int leave(lua_State *L, int status, lua_KContext context) {
    callua_vm *vm = cl_vm(L);
    char problem[CL_NOTE];
    (void)status;
    (void)context;
    int count = lua_gettop(L);
    vm->out.count = 0;
    cl_append_byte(&vm->out, PLAIN_ARRAY);
    cl_append_count(&vm->out, (uint32_t)count);
    for (int i = 1; i <= count; i++) {
        if (cl_encode(L, i, &vm->out, 0, problem)) continue;
        vm->killed = vm->too_large ? CALLUA_TOO_LARGE : CALLUA_BAD_RETURN;
        snprintf(vm->note, CL_NOTE, "bad result: %.400s", problem);
        return cl_raise_kill(L);
    }
    lua_settop(L, 0);
    return 0;
}

// The body of a handler's coroutine; upvalue-free, so that pushing it needs no memory.
static int enter(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    callua_bytes in = vm->in;
    vm->in = (callua_bytes){NULL, 0};
    int count = cl_decode_array(L, in);
    lua_callk(L, count, LUA_MULTRET, 0, leave);
    return leave(L, LUA_OK, 0);
}

void callua_start(callua_vm *vm, int32_t reference, callua_bytes arguments, uint64_t budget,
                  callua_outcome *outcome) {
    int32_t number = vm->broken ? -1 : take_handler(vm);
    if (number < 0) {
        fail_without_memory(vm, outcome);
        return;
    }
    lua_State *thread = vm->handlers[number].thread;
    lua_pushcfunction(thread, enter);
    lua_rawgeti(thread, LUA_REGISTRYINDEX, reference);
    if (vm->debug != NULL) cl_debug_begin(vm, number, reference);
    vm->in = arguments;
    run(vm, number, 1, budget, outcome);
}

void callua_resume(callua_vm *vm, int32_t thread, callua_answer answer, uint64_t budget,
                   callua_outcome *outcome) {
    cl_handler *handler = &vm->handlers[thread];
    if (vm->debug != NULL && !handler->stood_back) cl_debug_answer(vm, thread, answer);
    vm->in = handler->stood_back ? (callua_bytes){NULL, 0} : answer.bytes;
    vm->in_status = answer.status;
    handler->stood_back = false;
    run(vm, thread, 0, budget, outcome);
}

uint64_t callua_cancel(callua_vm *vm, int32_t thread, uint64_t budget) {
    cl_handler *handler = &vm->handlers[thread];
    vm->current = thread;
    vm->running = handler->thread;
    cl_arm(vm, budget);
    if (sigsetjmp(vm->escape, 0) != 0) {
        vm->broken = true;
    } else {
        cl_guard_run(vm);
        lua_resetthread(handler->thread);
        cl_end_guard();
    }
    vm->running = NULL;
    vm->current = -1;
    if (vm->broken) return budget;
    uint64_t spent = cl_spent(vm);
    give_back(vm, thread, false);
    return spent;
}

void callua_release(callua_vm *vm, int32_t reference) {
    luaL_unref(vm->main, LUA_REGISTRYINDEX, reference);
}

// Loading.

typedef struct {
    const char *chunk;
    callua_bytes source;
} file;

static int load_file(lua_State *L) {
    const file *f = lua_touserdata(L, 1);
    lua_settop(L, 0);
    if (cl_load_text(L, f->source, f->chunk) != LUA_OK) return lua_error(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &cl_globals);
    lua_setupvalue(L, -2, 1);
    lua_callk(L, 0, 0, 0, leave);
    return leave(L, LUA_OK, 0);
}

void callua_load(callua_vm *vm, const char *chunk, callua_bytes source, uint64_t budget,
                 callua_outcome *outcome) {
    int32_t number = vm->broken ? -1 : take_handler(vm);
    if (number < 0) {
        fail_without_memory(vm, outcome);
        return;
    }
    file f = {chunk, source};
    lua_State *thread = vm->handlers[number].thread;
    lua_pushcfunction(thread, load_file);
    lua_pushlightuserdata(thread, &f);
    if (vm->debug != NULL) cl_debug_begin(vm, number, -1);
    vm->loading = true;
    run(vm, number, 1, budget, outcome);
    vm->loading = false;
}
