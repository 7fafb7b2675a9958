// Finds the functions of libpq.
#include "CPostgres.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static cpostgres_functions functions;
static char problem[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    // Never closed again: threads of TLS libraries may still use it when the process ends.
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(problem, sizeof problem, "%s", why ? why : "libpq.so.5 cannot be loaded");
        return;
    }
    const struct {
        void **place;
        const char *name;
    } wanted[] = {
        {(void **)&functions.version, "PQlibVersion"},
        {(void **)&functions.parse, "PQconninfoParse"},
        {(void **)&functions.free_options, "PQconninfoFree"},
        {(void **)&functions.free_memory, "PQfreemem"},
        {(void **)&functions.start, "PQconnectStartParams"},
        {(void **)&functions.poll, "PQconnectPoll"},
        {(void **)&functions.status, "PQstatus"},
        {(void **)&functions.socket, "PQsocket"},
        {(void **)&functions.message, "PQerrorMessage"},
        {(void **)&functions.finish, "PQfinish"},
        {(void **)&functions.server_version, "PQserverVersion"},
        {(void **)&functions.backend, "PQbackendPID"},
        {(void **)&functions.set_nonblocking, "PQsetnonblocking"},
        {(void **)&functions.enter_pipeline, "PQenterPipelineMode"},
        {(void **)&functions.sync, "PQpipelineSync"},
        {(void **)&functions.flush, "PQflush"},
        {(void **)&functions.consume, "PQconsumeInput"},
        {(void **)&functions.is_busy, "PQisBusy"},
        {(void **)&functions.result, "PQgetResult"},
        {(void **)&functions.prepare, "PQsendPrepare"},
        {(void **)&functions.run, "PQsendQueryPrepared"},
        {(void **)&functions.query, "PQsendQueryParams"},
        {(void **)&functions.kind, "PQresultStatus"},
        {(void **)&functions.field, "PQresultErrorField"},
        {(void **)&functions.rows, "PQntuples"},
        {(void **)&functions.value, "PQgetvalue"},
        {(void **)&functions.length, "PQgetlength"},
        {(void **)&functions.is_null, "PQgetisnull"},
        {(void **)&functions.changed, "PQcmdTuples"},
        {(void **)&functions.clear, "PQclear"},
        {(void **)&functions.on_notice, "PQsetNoticeProcessor"},
        {(void **)&functions.verbosity, "PQsetErrorVerbosity"},
    };
    for (size_t place = 0; place < sizeof wanted / sizeof *wanted; place++) {
        *wanted[place].place = dlsym(library, wanted[place].name);
        if (*wanted[place].place) continue;
        snprintf(
            problem, sizeof problem, "libpq.so.5 has no %s: version 14 or newer is needed",
            wanted[place].name);
        return;
    }
}

const cpostgres_functions *cpostgres_load(void) {
    pthread_once(&once, load);
    return problem[0] ? NULL : &functions;
}

const char *cpostgres_problem(void) {
    pthread_once(&once, load);
    return problem;
}

int cpostgres_wait(int socket, int events, int milliseconds) {
    struct pollfd watched = {.fd = socket, .events = 0};
    if (events & cpostgres_readable) watched.events |= POLLIN;
    if (events & cpostgres_writable) watched.events |= POLLOUT;
    return poll(&watched, 1, milliseconds);
}

long long cpostgres_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void cpostgres_ignore_notice(void *owner, const char *text) {
    (void)owner;
    (void)text;
}
