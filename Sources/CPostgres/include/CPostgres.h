// CPostgres: the functions of libpq, found when they are needed. Nothing links to the library, so a
// server that runs alone neither loads nor needs it.
#pragma once
#include <postgresql/libpq-fe.h>

/// The functions that are used, each as `libpq-fe.h` describes it.
typedef struct {
    int (*_Nonnull version)(void);
    PQconninfoOption *_Nullable (*_Nonnull parse)(
        const char *_Nonnull text, char *_Nullable *_Nonnull problem);
    void (*_Nonnull free_options)(PQconninfoOption *_Nullable options);
    void (*_Nonnull free_memory)(void *_Nullable memory);
    PGconn *_Nullable (*_Nonnull start)(
        const char *_Nullable const *_Nonnull keywords,
        const char *_Nullable const *_Nonnull values, int expand);
    PostgresPollingStatusType (*_Nonnull poll)(PGconn *_Nonnull);
    ConnStatusType (*_Nonnull status)(const PGconn *_Nonnull);
    int (*_Nonnull socket)(const PGconn *_Nonnull);
    char *_Nonnull (*_Nonnull message)(const PGconn *_Nonnull);
    void (*_Nonnull finish)(PGconn *_Nonnull);
    int (*_Nonnull server_version)(const PGconn *_Nonnull);
    int (*_Nonnull backend)(const PGconn *_Nonnull);
    int (*_Nonnull set_nonblocking)(PGconn *_Nonnull, int);
    int (*_Nonnull enter_pipeline)(PGconn *_Nonnull);
    int (*_Nonnull sync)(PGconn *_Nonnull);
    int (*_Nonnull flush)(PGconn *_Nonnull);
    int (*_Nonnull consume)(PGconn *_Nonnull);
    int (*_Nonnull is_busy)(PGconn *_Nonnull);
    PGresult *_Nullable (*_Nonnull result)(PGconn *_Nonnull);
    int (*_Nonnull prepare)(
        PGconn *_Nonnull, const char *_Nonnull name, const char *_Nonnull sql, int count,
        const Oid *_Nullable types);
    int (*_Nonnull run)(
        PGconn *_Nonnull, const char *_Nonnull name, int count,
        const char *_Nullable const *_Nullable values, const int *_Nullable lengths,
        const int *_Nullable formats, int result_format);
    int (*_Nonnull query)(
        PGconn *_Nonnull, const char *_Nonnull sql, int count, const Oid *_Nullable types,
        const char *_Nullable const *_Nullable values, const int *_Nullable lengths,
        const int *_Nullable formats, int result_format);
    ExecStatusType (*_Nonnull kind)(const PGresult *_Nonnull);
    char *_Nullable (*_Nonnull field)(const PGresult *_Nonnull, int code);
    int (*_Nonnull rows)(const PGresult *_Nonnull);
    char *_Nullable (*_Nonnull value)(const PGresult *_Nonnull, int row, int column);
    int (*_Nonnull length)(const PGresult *_Nonnull, int row, int column);
    int (*_Nonnull is_null)(const PGresult *_Nonnull, int row, int column);
    char *_Nullable (*_Nonnull changed)(PGresult *_Nonnull);
    void (*_Nonnull clear)(PGresult *_Nullable);
    PQnoticeProcessor _Nullable (*_Nonnull on_notice)(
        PGconn *_Nonnull, PQnoticeProcessor _Nullable, void *_Nullable);
    PGVerbosity (*_Nonnull verbosity)(PGconn *_Nonnull, PGVerbosity);
} cpostgres_functions;

/// The functions, loaded by the first call. NULL: there is no library, or one before version 14;
/// `cpostgres_problem` tells which. Any thread may call it.
const cpostgres_functions *_Nullable cpostgres_load(void);

/// Why `cpostgres_load` returned NULL; empty otherwise.
const char *_Nonnull cpostgres_problem(void);

/// What `cpostgres_wait` waits for, as bits.
enum { cpostgres_readable = 1, cpostgres_writable = 2 };

/// Waits until `socket` is ready for one of `events`, at most so many milliseconds; 0: it is not,
/// below 0: the system refused.
int cpostgres_wait(int socket, int events, int milliseconds);

/// Milliseconds since the machine started, time asleep included.
long long cpostgres_now(void);

/// The codes of the fields of an error.
enum { cpostgres_field_code = PG_DIAG_SQLSTATE, cpostgres_field_text = PG_DIAG_MESSAGE_PRIMARY };

/// Processes nothing of a notice: notices would go to the standard error output.
void cpostgres_ignore_notice(void *_Nullable owner, const char *_Nullable text);
