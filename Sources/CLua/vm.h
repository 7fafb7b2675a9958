// What the parts of CLua share: the vm and the few rules that all of them keep.
//
// Every C function that scripts can call either costs a bounded time or calls `cl_charge`.
// Once a vm is killed it stays killed until the run is over: whatever catches an error must
// call `cl_check` before it goes on.
#pragma once

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include <setjmp.h>
#include <string.h>

#include "CLua.h"
#include "heap.h"
#include "watchdog.h"

// A growing row of bytes outside Lua's memory.
typedef struct {
    uint8_t *start;
    size_t count;
    size_t capacity;
} cl_buffer;

bool cl_append(cl_buffer *buffer, const void *bytes, size_t count);
bool cl_make_room(cl_buffer *buffer, size_t count);

static inline bool cl_append_byte(cl_buffer *buffer, uint8_t byte) {
    if (buffer->count == buffer->capacity && !cl_make_room(buffer, 1)) return false;
    buffer->start[buffer->count++] = byte;
    return true;
}

static inline bool cl_append_count(cl_buffer *buffer, uint32_t count) {
    if (buffer->capacity - buffer->count < 4 && !cl_make_room(buffer, 4)) return false;
    memcpy(buffer->start + buffer->count, &count, 4);
    buffer->count += 4;
    return true;
}

callua_bytes cl_bytes(const cl_buffer *buffer);

// Decisions that a handler made and has not returned yet.
typedef struct {
    uint32_t count;
    int line;
    char source[LUA_IDSIZE];
} cl_made;

// A handler: a coroutine that the host starts, resumes and cancels.
typedef struct {
    lua_State *thread;
    int reference;
    bool busy;
    // The free one behind it; -1: none.
    int32_t next_free;
    // Whether it stood back, so that nothing answers what it waits for.
    bool stood_back;
    cl_made made;
    // Which one it is, for a debugger.
    int64_t serial;
} cl_handler;

enum { CL_NOTE = 512, CL_KINDS = 16, CL_IDLE_MAX = 32 };

struct callua_vm {
    // The handler that finished last.
    int32_t finished;
    lua_State *main;
    // The coroutine that runs now: the one whose hook a kill must arm.
    lua_State *running;
    callua_limits limits;
    callua_host host;

    // Memory.
    cl_heap heap;
    size_t used;

    // Where a run that nothing else ends is left; after that the vm is broken for good.
    sigjmp_buf escape;
    volatile uint64_t run_number;
    bool broken;

    // The clock of the current run, in nanoseconds.
    volatile uint64_t budget;
    uint64_t spent;
    uint64_t looked_at;
    // How much must be spent before the processor's own clock is asked again.
    uint64_t look_closely_at;
    // 0 before the first look.
    uint64_t cpu_at_start;
    // Whether the host knows that the run takes long, or does not want to.
    bool knows_long;
    // After so much of it the run stands back; 0: never.
    uint64_t stands_back_after;
    bool stood_back;
    // What was in use after all garbage was collected, or when runs first left it for later.
    size_t used_before;
    // Processor time of that collection, in nanoseconds.
    uint64_t collect_time;
    // Steps since the last look.
    uint64_t charged;
    // 0, or the failure that ends this run.
    int32_t killed;
    bool loading;
    // Whether globals may be assigned, each told to the host.
    bool assignable;
    // Whether what did not leave Lua last was too large or too deep.
    bool too_large;
    // Members of lists in what left Lua, where somebody counts them.
    size_t listed;
    bool denied;
    char note[CL_NOTE];
    // Whether `state` or some call's vars were changed, and whether vars of calls are here.
    bool dirty;
    bool has_vars;

    // The current run.
    int32_t current;
    callua_bytes in;
    int32_t in_status;
    cl_buffer out;
    cl_buffer trace;
    cl_buffer spare;
    void *state_root;
    char unreturned[CL_NOTE];
    // What a waiting coroutine waits for; 0 while nothing waits.
    uint32_t request;
    // Whether one of the coroutines under way was resumed where nothing can wait.
    bool closed_off;
    int closing;
    // Calls of pcall and xpcall under way in this run.
    int nested;

    // Handlers, by number.
    cl_handler *handlers;
    int32_t handler_count;
    // The first of those without a coroutine that are free, beyond the first CL_IDLE_MAX.
    int32_t free_handler;
    uint32_t alive;
    // Script coroutines made and not known to be over.
    uint32_t scripted;
    // For whom coroutines are counted, and how many of them there are at most.
    int64_t origin;
    int64_t counted_origin;
    uint32_t counted;
    uint32_t counted_account;

    // Which lines have run; NULL unless that is wanted.
    struct cl_cover *cover;
    // Who is told what runs; NULL unless somebody debugs.
    struct cl_debug *debug;

    // Random numbers (xoshiro256**).
    uint64_t dice[4];
};

// The vm that a state belongs to.
static inline callua_vm *cl_vm(lua_State *L) {
    return (callua_vm *)(*(uintptr_t *)lua_getextraspace(L) & ~(uintptr_t)7);
}

// Marks of a coroutine, kept in the low bits beside the vm.
enum { CL_SCRIPT = 1, CL_ESCAPED = 2 };

static inline bool cl_has_mark(lua_State *L, uintptr_t mark) {
    return (*(uintptr_t *)lua_getextraspace(L) & mark) != 0;
}
static inline void cl_set_mark(lua_State *L, uintptr_t mark) {
    *(uintptr_t *)lua_getextraspace(L) |= mark;
}

// Things that live in the registry under their own address.
extern const char cl_array_meta, cl_user_meta, cl_call_meta, cl_decision_meta, cl_handle_meta,
    cl_frozen_meta, cl_api, cl_globals, cl_threads, cl_modules, cl_loading;

// budget.c
// Of this thread, in nanoseconds; also for handlers of signals.
uint64_t cl_processor_time(void);
void cl_arm(callua_vm *vm, uint64_t budget);
void cl_hook(lua_State *L, lua_Debug *record);
void cl_watch(callua_vm *vm, lua_State *L);
// Processor time of this run so far.
uint64_t cl_spent(callua_vm *vm);
void cl_look(callua_vm *vm);
void cl_check(lua_State *L);
// Notes where `L` is, for the message of a kill.
void cl_note_position(lua_State *L);

void cl_kill(lua_State *L, int32_t failure);
int cl_raise_kill(lua_State *L);

// A step costs about a nanosecond: the clock is looked at every few microseconds.
enum { CL_STEPS_PER_LOOK = 4096 };

static inline void cl_charge(lua_State *L, uint64_t steps) {
    callua_vm *vm = cl_vm(L);
    vm->charged += steps;
    if (vm->charged < CL_STEPS_PER_LOOK) return;
    vm->charged = 0;
    cl_check(L);
}

// compile.c
int cl_load_text(lua_State *L, callua_bytes source, const char *name);

// cover.c
void cl_cover_line(lua_State *L, lua_Debug *record);

// debugging/notices.c; only where there is a debugger.
void cl_end_debug(callua_vm *vm);
// Line 0: it has run for a while.
void cl_debug_line(lua_State *L, int line);
void cl_debug_call(lua_State *L, const char *name);
void cl_debug_begin(callua_vm *vm, int32_t number, int64_t reference);
void cl_debug_end(callua_vm *vm, int32_t number);
void cl_debug_wait(callua_vm *vm, int32_t number);
void cl_debug_answer(callua_vm *vm, int32_t number, callua_answer answer);
void cl_debug_failed(callua_vm *vm, int32_t number, lua_State *L);
int cl_debug_caught(lua_State *L);
// A coroutine is resumed; `cl_debug_leave` gets the depth of before.
void cl_debug_enter(callua_vm *vm, lua_State *L);
void cl_debug_leave(callua_vm *vm, int depth);
int cl_debug_depth(const callua_vm *vm);

// memory.c
void *cl_allocate(void *context, void *block, size_t old_size, size_t new_size);

// run.c
bool cl_protected(callua_vm *vm, lua_CFunction function, void *argument);

// values.c
bool cl_encode(lua_State *L, int index, cl_buffer *out, uint32_t flags, char *problem);
bool cl_encode_named(lua_State *L, int index, cl_buffer *out, const char *prefix, char *problem);
void cl_encode_or_raise(lua_State *L, int index, cl_buffer *out);
// The same for a table of fields, each of which may nest as deep as data does.
void cl_encode_fields_or_raise(lua_State *L, int index, cl_buffer *out);
int cl_decode_array(lua_State *L, callua_bytes bytes);
size_t cl_decode(lua_State *L, callua_bytes bytes, size_t at);

// suggest.c
void cl_suggest(lua_State *L, int index, const char *wrong, const char *prefix, char *out,
                size_t size);

// names.c
void cl_make_strict(lua_State *L, const char *word, const char *prefix);
bool cl_push_shown(lua_State *L, int index);
void cl_open_names(lua_State *L);

// store.c
bool cl_is_view(lua_State *L, int index);
void cl_push_backing(lua_State *L, int index);
int cl_view_next(lua_State *L);
void cl_push_vars(lua_State *L, const uint8_t *id);
void cl_flush_calls(callua_vm *vm);
void cl_open_store(lua_State *L);

// pairs.c
int cl_pairs(lua_State *L);

// Parts of the library; those that return an int leave their table on the stack.
void cl_open_base(lua_State *L);
void cl_open_coroutines(lua_State *L);
int cl_open_strings(lua_State *L);
void cl_guard_strings(lua_State *L);
int cl_open_tables(lua_State *L);
int cl_open_utf8(lua_State *L);
int cl_open_math(lua_State *L);
void cl_open_calls(lua_State *L);
void cl_open_decisions(lua_State *L);
void cl_open_handles(lua_State *L);

// The first word of every userdata: all of them are made here.
enum { CL_CALL = 1, CL_DECISION = 2, CL_HANDLE = 3, CL_ROOT = 4 };

void cl_push_call(lua_State *L, callua_bytes snapshot);
void cl_push_decision(lua_State *L, callua_bytes payload);
void cl_push_handle(lua_State *L, uint8_t kind, uint32_t number);
bool cl_encode_object(lua_State *L, int index, cl_buffer *out);
int cl_host_call(lua_State *L, uint32_t function, int first);
// What stands at the top is the module whose name is at 1.
void cl_note_module(lua_State *L);
