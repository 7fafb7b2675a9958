// The last resort: a run that no hook can end is left by a jump out of a signal, and its vm is
// given up. A single instruction of Lua may take seconds (a table whose keys all collide after it
// has grown, a chain of weak keys for the collector), and no count of instructions sees that.
//
// Every thread that runs a vm has a timer of its own processor time. It ticks only while the
// thread works. What is jumped over is liblua, libc without locks, and this target's own C; host
// functions and malloc are shielded.
#define _GNU_SOURCE
#include "watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vm.h"

// The third tick after the first that sees a run comes 12 ms later: with this grace it is the one
// that ends a run of 10 ms, also when it is a little early.
enum { TICK_NS = 4000000, GRACE_NS = 1500000 };

typedef struct {
    callua_vm *volatile vm;
    volatile sig_atomic_t shields;
    // The run that the last tick saw, the processor time then, and how much of it counts.
    volatile uint64_t seen_run;
    volatile uint64_t seen_at;
    volatile uint64_t spent;
    bool tried;
    bool ticks;
    timer_t timer;
} watch;

static _Thread_local watch own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t timer_key;
static atomic_bool installed;

static void on_tick(int number) {
    (void)number;
    callua_vm *vm = own.vm;
    if (vm == NULL) return;
    uint64_t now = cl_processor_time();
    uint64_t gap = now - own.seen_at;
    own.seen_at = now;
    if (own.seen_run != vm->run_number) {
        own.seen_run = vm->run_number;
        own.spent = 0;
        return;
    }
    // What the host does is not the script's, nor is what a machine took away between two ticks.
    if (own.shields > 0) return;
    own.spent += gap < TICK_NS + GRACE_NS ? gap : TICK_NS + GRACE_NS;
    if (own.spent < vm->budget + GRACE_NS) return;
    own.vm = NULL;
    siglongjmp(vm->escape, 1);
}

static void stop_timer(void *timer) { timer_delete(*(timer_t *)timer); }

static void install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    // The handler may be left by a jump, so the signal must not stay blocked.
    action.sa_flags = SA_NODEFER | SA_RESTART;
    if (sigaction(SIGVTALRM, &action, NULL) != 0) return;
    if (pthread_key_create(&timer_key, stop_timer) != 0) return;
    atomic_store(&installed, true);
}

// Threads of a pool may have all signals blocked.
static void let_ticks_in(void) {
    sigset_t ticks;
    sigemptyset(&ticks);
    sigaddset(&ticks, SIGVTALRM);
    pthread_sigmask(SIG_UNBLOCK, &ticks, NULL);
}

// The thread sanitizer holds back signals until a thread waits: no jump can come in time.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIGNALS_ARE_HELD_BACK 1
#endif
#endif

static void start_timer(void) {
    own.tried = true;
#ifdef SIGNALS_ARE_HELD_BACK
    return;
#endif
    pthread_once(&once, install);
    if (!atomic_load(&installed)) return;
    let_ticks_in();
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &own.timer) != 0) return;
    struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
    own.ticks = timer_settime(own.timer, 0, &every, NULL) == 0;
    pthread_setspecific(timer_key, &own.timer);
}

void cl_guard_run(callua_vm *vm) {
    if (!own.tried) start_timer();
    vm->run_number++;
    own.seen_run = vm->run_number - 1;
    own.shields = 0;
    atomic_signal_fence(memory_order_seq_cst);
    own.vm = vm;
}

void cl_end_guard(void) {
    own.vm = NULL;
    atomic_signal_fence(memory_order_seq_cst);
}

void cl_shield(void) {
    own.shields = own.shields + 1;
    atomic_signal_fence(memory_order_seq_cst);
}

void cl_unshield(void) {
    atomic_signal_fence(memory_order_seq_cst);
    own.shields = own.shields - 1;
}

bool callua_has_watchdog(void) {
    if (!own.tried) start_timer();
    return own.ticks;
}
