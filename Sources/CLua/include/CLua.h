// CLua: a sandboxed Lua 5.4 state behind plain C calls, so that Swift never meets longjmp.
//
// A vm is one Lua state with its own memory limit. Everything that may raise a Lua error runs
// inside C; Swift hands in bytes and gets bytes back (see CLuaPlain.h for their form). A function
// of the host is called from C with bytes and answers with a status: no Swift frame is ever jumped
// over. A vm belongs to one thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CLuaPlain.h"

/// One Lua state with its limits.
typedef struct callua_vm callua_vm;

/// Bytes that somebody else owns.
typedef struct {
    const uint8_t *start;
    size_t count;
} callua_bytes;

/// How a run came back.
enum {
    /// The function returned; `value` has what it returned, as an array.
    CALLUA_FINISHED = 0,
    /// It waits for the host function `function`.
    CALLUA_WAITING = 1,
    /// It failed; `failure` says how, `value` has the message, `traceback` the way there.
    CALLUA_FAILED = 2,
    /// It used the time after which it stands back (`callua_stand_back`): `callua_resume` goes on.
    CALLUA_PAUSED = 3,
};

/// Why a run failed.
enum {
    CALLUA_NOTHING = 0,
    /// A Lua error.
    CALLUA_ERROR = 1,
    /// More processor time than a run or an event may use.
    CALLUA_CPU = 2,
    /// More memory than the vm may use.
    CALLUA_MEMORY = 3,
    /// Returned what cannot leave Lua: a function, a cycle.
    CALLUA_BAD_RETURN = 4,
    /// Asked for what the operator has not granted.
    CALLUA_DENIED = 5,
    /// Returned data, but more or deeper than may leave Lua.
    CALLUA_TOO_LARGE = 6,
};

/// How a host function may be used and what it takes.
enum {
    /// May answer `CALLUA_WAIT`: the host resumes the handler with the result.
    CALLUA_WAITS = 1 << 0,
    /// Takes functions: the host gets references to them.
    CALLUA_TAKES_FUNCTIONS = 1 << 1,
    /// Only while a file is loaded.
    CALLUA_LOAD_ONLY = 1 << 2,
    /// Only inside handlers.
    CALLUA_HANDLER_ONLY = 1 << 3,
    /// Gets the caller's `FILE` and `LINE` as two arguments before the others.
    CALLUA_SITED = 1 << 4,
    /// Answers with a table and the set of its fields; reading any other is an error.
    CALLUA_NAMES_FIELDS = 1 << 5,
    /// Takes for a person what is no data (a function, a coroutine, a table inside itself): the
    /// host gets its name as a string.
    CALLUA_SHOWS = 1 << 6,
    /// What is larger or deeper than data may be gives `nil, "too_large"`, and is no error.
    CALLUA_GIVES_TROUBLE = 1 << 7,
};

/// Host functions that C itself calls; the host's own begin at `CALLUA_OWN`.
enum {
    /// JSON text of an object to that object, other text to nil.
    CALLUA_PARSE = 1,
    /// A call to whether it lives.
    CALLUA_ALIVE = 2,
    /// The name given to `require` to `CALLUA_RUN`.
    CALLUA_MODULE = 3,
    /// File, line and name of a global that a file of settings assigns; may be refused.
    CALLUA_ASSIGN = 4,
    /// A call to the table of its vars.
    CALLUA_VARS = 5,
    /// The two halves of a call's id and its vars, to be kept.
    CALLUA_KEEP_VARS = 6,
    /// The run at hand takes long; told once of a run, with no arguments and no result. Nothing of
    /// the vm may be used.
    CALLUA_LONG = 7,
    /// A change of a call's vars was too large and is left out; one argument says what it was.
    CALLUA_LEAVE_VARS = 8,
    CALLUA_OWN = 16,
};

/// What a host function says.
enum {
    /// The result is an array of values to return.
    CALLUA_RETURN = 0,
    /// The result is a message to raise, with the caller's position put before it.
    CALLUA_RAISE = 1,
    /// Like `CALLUA_RAISE`; the failure is `CALLUA_DENIED` if nothing catches it.
    CALLUA_REFUSE = 2,
    /// The result is a string for the chunk's name and one for its source: run it and return
    /// what it returns.
    CALLUA_RUN = 3,
    /// The result comes later, by `callua_resume`.
    CALLUA_WAIT = 4,
};

/// The answer of a host function that came later.
typedef struct {
    /// `CALLUA_RETURN`, `CALLUA_RAISE` or `CALLUA_REFUSE`.
    int32_t status;
    callua_bytes bytes;
} callua_answer;

/// The host's side: one function that serves all host functions by number.
typedef struct {
    void *context;
    /// Must not keep `arguments`; `result` must stay valid until the next call.
    int32_t (*call)(
        void *context, uint32_t function, callua_bytes arguments, callua_bytes *result);
} callua_host;

/// The limits of a vm.
typedef struct {
    /// Bytes.
    size_t memory;
    /// Script coroutines and handlers alive at once.
    uint32_t coroutines;
    /// Of those, of one origin (`callua_count_for`), and how often as many of one account.
    uint32_t coroutines_of_origin;
    uint32_t origins_of_account;
    /// Bytes of one value that leaves Lua.
    size_t value;
    /// Bytes of `state`, and of the vars of one call.
    size_t state;
    /// Bytes of source that `load` takes.
    size_t source;
    /// Instructions between two looks at the clock.
    int32_t stride;
} callua_limits;

/// What a run did.
typedef struct {
    int32_t status;
    int32_t failure;
    /// The handler, to resume or cancel it while it waits; -1 when it is over.
    int32_t thread;
    uint32_t function;
    callua_bytes value;
    callua_bytes traceback;
    /// `FILE:LINE: decision made but not returned`, or nothing.
    callua_bytes unreturned;
    /// Nothing else could end it: the vm is of no use any more, nor are its waiting handlers.
    bool broken;
    /// Processor time of this run, as its budget counts it: the time of one host function up to a
    /// quarter of the budget.
    uint64_t nanoseconds;
} callua_outcome;

/// Puts other limits into force. There is room for twice the memory that the vm was made with.
void callua_limit(callua_vm *vm, callua_limits limits);

/// A vm with the guarded library and nothing of the host, or NULL without memory.
callua_vm *callua_new(callua_limits limits, callua_host host, uint64_t seed);
/// Ends a vm. Nothing of its scripts runs.
void callua_free(callua_vm *vm);
/// The traceback of a waiting handler, the place where it waits first: `FILE:LINE < FILE:LINE`.
callua_bytes callua_waits_at(callua_vm *vm, int32_t thread);
/// `FILE:LINE` where the function of this reference begins.
callua_bytes callua_defined_at(callua_vm *vm, int32_t reference);
/// `FILE:LINE` where the handler that finished last made its last decision, or nothing.
callua_bytes callua_place(callua_vm *vm);
/// Names the objects that `PLAIN_HANDLE` with this kind stands for, before their methods are bound.
bool callua_kind(callua_vm *vm, uint8_t kind, const char *name);
/// Makes a host function visible as `name`: `f`, `table.f` or `kind:method`.
bool callua_bind(callua_vm *vm, const char *name, uint32_t function, uint32_t flags);
/// Closes the table of names; from here on scripts can only read it.
bool callua_seal(callua_vm *vm);
/// Lets files assign globals, each told to the host; `tables` are tables whose entries they set.
bool callua_make_assignable(callua_vm *vm, const char *const *tables, size_t count);
/// Reads a global that a file assigned: plain data, or a message and false.
bool callua_read(callua_vm *vm, const char *name, callua_bytes *value);
/// Adds the unguarded string library as `stock`, to compare the guarded one with.
bool callua_add_stock(callua_vm *vm);

/// Compiles `source` and runs it as the file `chunk`, for at most `budget` ns.
void callua_load(
    callua_vm *vm, const char *chunk, callua_bytes source, uint64_t budget,
    callua_outcome *outcome);
/// Begins to note which lines run; before the first load. Runs are much slower then.
bool callua_cover(callua_vm *vm);
/// One bit for every line of `file`: whether it has run.
callua_bytes callua_covered(const callua_vm *vm, const char *file);
/// Compiles `source` without running it, for at most `budget` ns: Lua's bytecode, or a message and
/// false.
bool callua_compile(
    callua_vm *vm, const char *chunk, callua_bytes source, uint64_t budget, callua_bytes *code);
/// Every name that scripts can use, as an array of `NAME` and `LIBRARY.NAME`.
bool callua_names(callua_vm *vm, callua_bytes *names);
/// Calls the function `reference` with `arguments`, an array, for at most `budget` ns.
void callua_start(
    callua_vm *vm, int32_t reference, callua_bytes arguments, uint64_t budget,
    callua_outcome *outcome);
/// Goes on with a waiting handler: `answer` is what the host function says.
void callua_resume(
    callua_vm *vm, int32_t thread, callua_answer answer, uint64_t budget,
    callua_outcome *outcome);
/// Has the runs that follow stand back after `after` ns of processor time, and leaves their garbage
/// for later, because a thread that others wait for runs them. 0: neither. A run stands back at an
/// instruction of the handler itself, not inside of `table.sort`, metamethods and the like, nor in
/// a coroutine of the script.
void callua_stand_back(callua_vm *vm, uint64_t after);
/// Bytes in use beyond those after the last `callua_collect`.
size_t callua_garbage(const callua_vm *vm);
/// Coroutines that the next run makes count for this number, and for the account that stands in
/// its upper half; 0: for nobody.
void callua_count_for(callua_vm *vm, int64_t origin);
/// Ends a waiting handler; its `<close>` variables are closed for at most `budget` ns. Returns how
/// long that took.
uint64_t callua_cancel(callua_vm *vm, int32_t thread, uint64_t budget);
/// Gives back a reference that the host got for a function.
void callua_release(callua_vm *vm, int32_t reference);

/// Whether `state` was changed since it was read.
bool callua_state_changed(const callua_vm *vm);
/// The plugin's `state` as an object; on failure a message and false.
bool callua_read_state(callua_vm *vm, callua_bytes *bytes);
/// Lays the members of an object over `state`; on failure a message and false.
bool callua_write_state(callua_vm *vm, callua_bytes bytes, callua_bytes *problem);
/// Puts the members of an object in the place of all of `state`.
bool callua_replace_state(callua_vm *vm, callua_bytes bytes);

/// Bytes in use now.
size_t callua_memory(const callua_vm *vm);
/// Collects all garbage; returns the bytes in use after it.
size_t callua_collect(callua_vm *vm);
/// How long the last `callua_collect` took, in nanoseconds of processor time; 0: there was none.
uint64_t callua_collect_time(const callua_vm *vm);
/// Whether a run had to be left in the middle: then only `callua_free` is allowed.
bool callua_is_broken(const callua_vm *vm);
/// Whether this thread can end runs that hooks cannot end.
bool callua_has_watchdog(void);
/// Whether fewer than `most` handlers and script coroutines are alive; those that nobody can reach
/// any more are collected before it says no.
bool callua_has_room(callua_vm *vm, uint32_t most);

#include "CLuaDebug.h"
