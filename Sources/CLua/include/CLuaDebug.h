// What a debugger sees of a vm. Looking runs nothing of a script: it calls no metamethod except
// those of callagent's own objects.
//
// All of it is for the thread that runs the vm, while a notice is given or nothing runs. Rows are
// plain data (see CLuaPlain.h), valid until the next call.
#pragma once

#include "CLua.h"

/// What is told.
enum {
    /// Before a line of a script.
    CALLUA_AT_LINE = 1,
    /// A script has run for a while.
    CALLUA_AT_TICK = 2,
    /// A handler begins; `number` is the reference of its function, -1 for a file that is loaded.
    CALLUA_AT_BEGIN = 3,
    /// A handler is over.
    CALLUA_AT_END = 4,
    /// A script calls the host function `name` with the values in `bytes`.
    CALLUA_AT_CALL = 5,
    /// The handler waits for what the last call comes to.
    CALLUA_AT_WAIT = 6,
    /// It goes on with `bytes`: an array when `number` is `CALLUA_RETURN`, else a message.
    CALLUA_AT_ANSWER = 7,
    /// An error with the message in `bytes`; `number` is 1 when the script itself catches it.
    CALLUA_AT_ERROR = 8,
};

typedef struct {
    int32_t event;
    /// Of a line.
    int32_t line;
    /// Which handler: handlers of a vm are counted from 1.
    int64_t handler;
    int64_t number;
    const char *name;
    callua_bytes bytes;
} callua_notice;

/// Who is told. `tell` answers false to end the run at hand, which nothing in it can catch.
typedef struct {
    void *context;
    bool (*tell)(void *context, const callua_notice *notice);
} callua_debugger;

/// Begins to tell `debugger`, before the first load. From then on no time is a budget's.
bool callua_debug(callua_vm *vm, callua_debugger debugger);

/// A function under way. `coroutine` 0 is the handler's own, 1 the one that it resumes, and so on;
/// `level` 0 is the innermost function there.
typedef struct {
    int64_t handler;
    int32_t coroutine;
    int32_t level;
} callua_frame;

/// The coroutines of a handler that stand inside each other; 0: there is no such handler.
int32_t callua_debug_coroutines(callua_vm *vm, int64_t handler);
/// The functions under way in one of them.
int32_t callua_debug_levels(callua_vm *vm, callua_frame frame);
/// Whether more than `levels` functions are under way where the run at hand is.
bool callua_debug_is_deeper(callua_vm *vm, int32_t levels);
/// The file of the function at hand, as `FILE`, or nothing.
callua_bytes callua_debug_file(callua_vm *vm);
/// `[name, what, file, line, first line]`; `what` is `Lua`, `main` or `C`.
bool callua_debug_function(callua_vm *vm, callua_frame frame, callua_bytes *row);

/// How much of what is shown.
typedef struct {
    /// Bytes of a string.
    uint32_t text;
    /// Members that are counted or given at once.
    uint32_t members;
} callua_sight;
void callua_debug_see(callua_vm *vm, callua_sight sight);

// A value is `[type, value, length, reference, named, place]`: `value` is plain where the type is,
// else a text; `length` the bytes of a string, or the length of a list; `reference` is not 0 where
// there are members, of which about `named` (counted up to a bound) are no places of the list, and
// stays valid until `callua_debug_forget`; `place` tells objects apart. A row of a list of values
// is its name (for members the key, a value without reference) and the value.

/// The locals of a function in their order, then what came for `...`.
bool callua_debug_locals(callua_vm *vm, callua_frame frame, callua_bytes *rows);
/// The locals of functions around it that it uses.
bool callua_debug_upvalues(callua_vm *vm, callua_frame frame, callua_bytes *rows);
/// The names that scripts have from callagent.
bool callua_debug_globals(callua_vm *vm, callua_bytes *value);

/// Which members: those at the places from `start` on of a list, or `start` others later.
typedef struct {
    bool places;
    int64_t start;
    uint32_t count;
} callua_page;
/// Members of what has a reference.
bool callua_debug_members(callua_vm *vm, int64_t reference, callua_page page, callua_bytes *rows);

/// Where a value is kept: a local of a frame by its number from 1, an upvalue by its number below
/// 0; or, with `reference`, the member under a plain key.
typedef struct {
    callua_frame frame;
    int32_t number;
    int64_t reference;
    callua_bytes key;
} callua_slot;
/// The value that is kept there.
bool callua_debug_get(callua_vm *vm, callua_slot slot, callua_bytes *value);
/// Keeps a plain value there, or with `reference` what has that one; on failure a message and
/// false.
bool callua_debug_set(
    callua_vm *vm, callua_slot slot, callua_bytes value, int64_t reference, callua_bytes *problem);
/// Lets go of everything that was seen.
void callua_debug_forget(callua_vm *vm);
