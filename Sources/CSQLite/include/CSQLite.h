// CSQLite: what Swift cannot call of the library itself, a file layer that gathers what is written
// to the log, and one that fails on purpose.
#pragma once
#include <sqlite3.h>
#include <stdint.h>

/// Binds bytes that SQLite copies (`SQLITE_TRANSIENT` is a macro that Swift cannot see).
static inline int csqlite_bind_bytes(
    sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, count ? bytes : "", count, SQLITE_TRANSIENT);
}

/// Binds UTF-8 text that SQLite copies.
static inline int csqlite_bind_text(
    sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

/// Binds UTF-8 text that stays where it is until the statement has run.
static inline int csqlite_bind_written_text(
    sqlite3_stmt *statement, int index, const void *text, int count) {
    return sqlite3_bind_text(statement, index, (const char *)text, count, SQLITE_STATIC);
}

/// The name of a file layer over the system's own that writes each transaction to the log in large
/// pieces, which `sqlite3_open_v2` then takes. NULL: there is none, and the system's own is taken.
const char *csqlite_gathering(void);

/// A file layer over the gathering one in which chosen operations fail: for tests of what happens
/// when a disk is full, read-only or broken.
typedef struct csqlite_faults csqlite_faults;

/// The operations that can fail, as bits.
enum {
    csqlite_fault_write = 1,
    csqlite_fault_sync = 2,
    csqlite_fault_read = 4,
    csqlite_fault_truncate = 8,
    csqlite_fault_open = 16,
};

/// Registers a layer under `name`, which `sqlite3_open_v2` then takes. NULL: out of memory.
csqlite_faults *csqlite_faults_create(const char *name);

/// From now on, after `after` more operations of the kinds in `operations`, the next `times` ones
/// fail with `code`, and with `again` so on for ever. A failing write has written its first half.
/// `times` 0 disarms.
void csqlite_faults_arm(
    csqlite_faults *faults, int operations, int64_t after, int64_t times, int again, int code);

/// How many operations failed on purpose so far.
int64_t csqlite_faults_hit(const csqlite_faults *faults);

/// Unregisters the layer. Every connection opened through it must be closed.
void csqlite_faults_destroy(csqlite_faults *faults);
