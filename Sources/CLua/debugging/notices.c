// Tells a debugger what runs, and which functions are under way.
#include <stdlib.h>
#include <string.h>

#include "debug.h"

bool callua_debug(callua_vm *vm, callua_debugger debugger) {
    vm->debug = calloc(1, sizeof *vm->debug);
    if (vm->debug == NULL) return false;
    vm->debug->debugger = debugger;
    vm->debug->sight = (callua_sight){1024, 1000};
    cl_watch(vm, vm->main);
    return true;
}

void cl_end_debug(callua_vm *vm) {
    if (vm->debug == NULL) return;
    free(vm->debug->out.start);
    free(vm->debug);
}

static bool tell(callua_vm *vm, callua_notice notice) {
    struct cl_debug *debug = vm->debug;
    if (debug->looking) return true;
    if (vm->current >= 0) notice.handler = vm->handlers[vm->current].serial;
    // Whoever is told may call functions that write there.
    cl_buffer out = vm->out;
    vm->out = (cl_buffer){NULL, 0, 0};
    cl_shield();
    bool goes_on = debug->debugger.tell(debug->debugger.context, &notice);
    cl_unshield();
    free(vm->out.start);
    vm->out = out;
    return goes_on;
}

// Nothing else that the script does counts any more.
static void end_run(lua_State *L) { cl_kill(L, CALLUA_CPU); }

void cl_debug_line(lua_State *L, int line) {
    callua_vm *vm = cl_vm(L);
    if (vm->killed != 0 || vm->current < 0) return;
    callua_notice notice = {.event = line > 0 ? CALLUA_AT_LINE : CALLUA_AT_TICK, .line = line};
    if (!tell(vm, notice)) end_run(L);
}

void cl_debug_call(lua_State *L, const char *name) {
    callua_vm *vm = cl_vm(L);
    callua_notice notice = {.event = CALLUA_AT_CALL, .name = name, .bytes = cl_bytes(&vm->out)};
    if (vm->current >= 0 && !tell(vm, notice)) end_run(L);
}

void cl_debug_begin(callua_vm *vm, int32_t number, int64_t reference) {
    vm->handlers[number].serial = ++vm->debug->handlers;
    callua_notice notice = {
        .event = CALLUA_AT_BEGIN, .number = reference, .handler = vm->debug->handlers};
    tell(vm, notice);
}

void cl_debug_end(callua_vm *vm, int32_t number) {
    callua_notice notice = {.event = CALLUA_AT_END, .handler = vm->handlers[number].serial};
    tell(vm, notice);
}

void cl_debug_wait(callua_vm *vm, int32_t number) {
    callua_notice notice = {.event = CALLUA_AT_WAIT, .handler = vm->handlers[number].serial};
    tell(vm, notice);
}

void cl_debug_answer(callua_vm *vm, int32_t number, callua_answer answer) {
    callua_notice notice = {
        .event = CALLUA_AT_ANSWER, .handler = vm->handlers[number].serial,
        .number = answer.status, .bytes = answer.bytes};
    tell(vm, notice);
}

static callua_bytes message_of(lua_State *L) {
    size_t count = 0;
    const char *text = "";
    if (lua_type(L, -1) == LUA_TSTRING) text = lua_tolstring(L, -1, &count);
    else if (lua_gettop(L) > 0) count = strlen(text = luaL_typename(L, -1));
    return (callua_bytes){(const uint8_t *)text, count};
}

// The handler has failed, and its functions are still where they were.
void cl_debug_failed(callua_vm *vm, int32_t number, lua_State *L) {
    if (vm->killed != 0) return;
    vm->current = number;
    vm->running = vm->debug->chain[0] = L;
    vm->debug->depth = 1;
    callua_notice notice = {.event = CALLUA_AT_ERROR, .bytes = message_of(L)};
    tell(vm, notice);
    vm->running = NULL;
    vm->current = -1;
}

// What `pcall` gives to Lua as its message handler.
int cl_debug_caught(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    if (vm->killed != 0 || vm->current < 0) return 1;
    callua_notice notice = {
        .event = CALLUA_AT_ERROR, .number = 1, .bytes = message_of(L)};
    // Raising here would only be an error in a message handler: what is caught goes on to the end.
    if (!tell(vm, notice)) vm->killed = CALLUA_CPU;
    return 1;
}

void cl_debug_enter(callua_vm *vm, lua_State *L) {
    int depth = vm->debug->depth++;
    if (depth < CHAIN_MAX) vm->debug->chain[depth] = L;
}

void cl_debug_leave(callua_vm *vm, int depth) { vm->debug->depth = depth; }

int cl_debug_depth(const callua_vm *vm) { return vm->debug->depth; }

// Which functions are under way.

static int32_t handler_of(callua_vm *vm, int64_t serial) {
    for (int32_t i = 0; i < vm->handler_count; i++) {
        if (vm->handlers[i].busy && vm->handlers[i].serial == serial) return i;
    }
    return -1;
}

int32_t callua_debug_coroutines(callua_vm *vm, int64_t handler) {
    int32_t number = vm->broken ? -1 : handler_of(vm, handler);
    if (number < 0) return 0;
    int depth = vm->debug->depth < CHAIN_MAX ? vm->debug->depth : CHAIN_MAX;
    return number == vm->current ? depth : 1;
}

lua_State *cl_find_coroutine(callua_vm *vm, callua_frame frame) {
    int32_t number = vm->broken ? -1 : handler_of(vm, frame.handler);
    if (number < 0 || frame.coroutine < 0) return NULL;
    if (frame.coroutine >= callua_debug_coroutines(vm, frame.handler)) return NULL;
    if (number != vm->current) return vm->handlers[number].thread;
    return vm->debug->chain[frame.coroutine];
}

bool cl_find_function(callua_vm *vm, callua_frame frame, lua_State **L, lua_Debug *record) {
    *L = cl_find_coroutine(vm, frame);
    return *L != NULL && frame.level >= 0 && lua_getstack(*L, frame.level, record) == 1;
}

// Lua goes through the functions one by one: twice as many, then half of the rest.
int32_t callua_debug_levels(callua_vm *vm, callua_frame frame) {
    lua_State *L = cl_find_coroutine(vm, frame);
    lua_Debug record;
    int32_t some = 0, none = 1;
    if (L == NULL || !lua_getstack(L, 0, &record)) return 0;
    while (lua_getstack(L, none, &record)) {
        some = none;
        none *= 2;
    }
    while (none - some > 1) {
        int32_t middle = some + (none - some) / 2;
        if (lua_getstack(L, middle, &record)) some = middle;
        else none = middle;
    }
    return none;
}

bool callua_debug_is_deeper(callua_vm *vm, int32_t levels) {
    lua_Debug record;
    return vm->running != NULL && lua_getstack(vm->running, levels, &record) == 1;
}

static callua_bytes file_of(const lua_Debug *record) {
    bool is_file = record->source[0] == '@';
    const char *name = is_file ? record->source + 1 : record->short_src;
    return (callua_bytes){(const uint8_t *)name, strlen(name)};
}

callua_bytes callua_debug_file(callua_vm *vm) {
    lua_Debug record;
    if (vm->running == NULL || !lua_getstack(vm->running, 0, &record)) {
        return (callua_bytes){NULL, 0};
    }
    lua_getinfo(vm->running, "S", &record);
    return file_of(&record);
}

bool callua_debug_function(callua_vm *vm, callua_frame frame, callua_bytes *row) {
    lua_State *L;
    lua_Debug record;
    *row = (callua_bytes){NULL, 0};
    if (!cl_find_function(vm, frame, &L, &record) || !lua_getinfo(L, "nSl", &record)) return false;
    callua_bytes file = file_of(&record);
    vm->debug->out.count = 0;
    cl_put_list(vm, 5);
    cl_put_text(vm, record.name != NULL ? record.name : "", record.name ? strlen(record.name) : 0);
    cl_put_text(vm, record.what, strlen(record.what));
    cl_put_text(vm, (const char *)file.start, file.count);
    cl_put_integer(vm, record.currentline);
    cl_put_integer(vm, record.linedefined);
    *row = cl_bytes(&vm->debug->out);
    return true;
}
