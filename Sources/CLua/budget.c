// The clock of a run, and the kill that nothing in a script can catch.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "vm.h"

// Much longer than the time from one look to the next.
enum { LEAST_GAP_NS = 100000 };

// After so long the host is told: what others wait for need not wait for the end of the run.
enum { LONG_NS = 1000000 };

static uint64_t read_clock(clockid_t clock) {
    struct timespec moment;
    clock_gettime(clock, &moment);
    return (uint64_t)moment.tv_sec * 1000000000u + (uint64_t)moment.tv_nsec;
}

static uint64_t monotonic_now(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t cl_processor_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void cl_arm(callua_vm *vm, uint64_t budget) {
    // Whoever debugs takes their time.
    if (vm->debug != NULL) budget = UINT64_MAX / 2;
    vm->looked_at = monotonic_now();
    vm->budget = budget;
    vm->spent = 0;
    // Nobody else waits while files are loaded or the host itself works.
    vm->knows_long = vm->running == NULL || vm->loading;
    vm->look_closely_at = vm->knows_long || budget < LONG_NS ? budget : LONG_NS;
    vm->cpu_at_start = 0;
    vm->charged = 0;
    vm->nested = 0;
    vm->closing = 0;
    vm->killed = 0;
    vm->denied = false;
    vm->stood_back = false;
    vm->note[0] = 0;
}

// Looks come every few microseconds, the first one soon after the start. When the next one is late,
// the script was not at work: the host was, or the machine had taken the processor away, which a
// virtual machine counts as processor time. So the time between two looks counts up to a quarter
// of the budget; of what an event has left the last runs get next to nothing, and those count too.
static uint64_t longest_gap(const callua_vm *vm) {
    bool is_first = vm->cpu_at_start == 0;
    return is_first || vm->budget / 4 < LEAST_GAP_NS ? LEAST_GAP_NS : vm->budget / 4;
}

static void count_gap(callua_vm *vm) {
    uint64_t now = monotonic_now();
    uint64_t gap = now - vm->looked_at;
    uint64_t most = longest_gap(vm);
    vm->looked_at = now;
    vm->spent += gap < most ? gap : most;
}

static uint64_t cpu_spent(const callua_vm *vm) {
    return cl_processor_time() - vm->cpu_at_start;
}

uint64_t cl_spent(callua_vm *vm) {
    count_gap(vm);
    if (vm->cpu_at_start == 0 || vm->spent < LEAST_GAP_NS) return vm->spent;
    uint64_t cpu = cpu_spent(vm);
    return cpu < vm->spent ? cpu : vm->spent;
}

static void tell_long(callua_vm *vm) {
    callua_bytes nothing = {NULL, 0};
    vm->knows_long = true;
    cl_shield();
    vm->host.call(vm->host.context, CALLUA_LONG, nothing, &nothing);
    cl_unshield();
}

// The budget is processor time. The monotonic clock is cheap to read and never behind it, so
// the processor's own clock is only asked when that one says that the time is over, and once at
// the first look. A thread that had to wait for a processor loses nothing.
static bool is_over(callua_vm *vm) {
    count_gap(vm);
    if (vm->cpu_at_start == 0) vm->cpu_at_start = cl_processor_time() - vm->spent;
    if (vm->spent < vm->look_closely_at) return false;
    if (!vm->knows_long) {
        tell_long(vm);
        vm->look_closely_at = vm->budget;
        if (vm->spent < vm->budget) return false;
    }
    uint64_t cpu = cpu_spent(vm);
    if (cpu >= vm->budget) return true;
    vm->look_closely_at = vm->spent + (vm->budget - cpu);
    return false;
}

void cl_note_position(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    lua_Debug record;
    for (int level = 0; level < 8 && lua_getstack(L, level, &record); level++) {
        lua_getinfo(L, "Sl", &record);
        if (record.currentline < 0) continue;
        snprintf(vm->note, CL_NOTE, "%s:%d", record.short_src, record.currentline);
        return;
    }
}

// Light: raising it needs no memory.
static const char kill_mark;

int cl_raise_kill(lua_State *L) {
    lua_sethook(L, cl_hook, LUA_MASKCOUNT, 1);
    lua_pushlightuserdata(L, (void *)&kill_mark);
    return lua_error(L);
}

void cl_kill(lua_State *L, int32_t failure) {
    callua_vm *vm = cl_vm(L);
    if (vm->killed == 0) {
        vm->killed = failure;
        cl_note_position(L);
    }
    cl_raise_kill(L);
}

// Called where nothing may be raised: the next instruction raises instead.
void cl_look(callua_vm *vm) {
    if (vm->running == NULL || vm->killed != 0 || !is_over(vm)) return;
    vm->killed = CALLUA_CPU;
    lua_sethook(vm->running, cl_hook, LUA_MASKCOUNT, 1);
}

void cl_check(lua_State *L) {
    callua_vm *vm = cl_vm(L);
    if (vm->killed != 0) {
        if (vm->note[0] == 0) cl_note_position(L);
        cl_raise_kill(L);
    }
    if (vm->debug != NULL) cl_debug_line(L, 0);
    if (is_over(vm)) cl_kill(L, CALLUA_CPU);
}

// A hook may yield where the coroutine can; a script's own coroutine would yield to the script.
static bool may_stand_back(callua_vm *vm, lua_State *L) {
    return vm->stands_back_after != 0 && vm->spent >= vm->stands_back_after &&
           vm->current >= 0 && L == vm->handlers[vm->current].thread && lua_isyieldable(L);
}

void cl_hook(lua_State *L, lua_Debug *record) {
    callua_vm *vm = cl_vm(L);
    bool is_line = record->event == LUA_HOOKLINE;
    if (is_line && vm->cover != NULL) cl_cover_line(L, record);
    if (is_line && vm->debug != NULL) cl_debug_line(L, record->currentline);
    cl_check(L);
    if (!may_stand_back(vm, L)) return;
    vm->stood_back = true;
    lua_yield(L, 0);
}

void callua_stand_back(callua_vm *vm, uint64_t after) {
    if (vm->broken || vm->stands_back_after == after) return;
    vm->stands_back_after = after;
    if (vm->used_before == 0) vm->used_before = vm->used;
    lua_gc(vm->main, after != 0 ? LUA_GCSTOP : LUA_GCRESTART);
}

size_t callua_garbage(const callua_vm *vm) {
    return vm->used > vm->used_before ? vm->used - vm->used_before : 0;
}

void cl_watch(callua_vm *vm, lua_State *L) {
    int lines = vm->cover != NULL || vm->debug != NULL ? LUA_MASKLINE : 0;
    lua_sethook(L, cl_hook, LUA_MASKCOUNT | lines, vm->limits.stride);
}
