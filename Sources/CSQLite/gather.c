// The file layer that writes the log of a transaction in few large pieces. SQLite writes every page
// in two: a head of 24 bytes and the page. What stands side by side is gathered here until a
// transaction is complete, so that many pages cost one request to the system.
#include "CSQLite.h"
#include "layered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    // The system's layer takes less than 128 KiB at once.
    capacity = 64 * 1024,
    // The head of a page in the log; bytes 4 to 7 are 0 unless the page ends a transaction.
    head_size = 24,
    commit_mark = 4,
};

typedef struct {
    layered_file file;
    // What is to be written at `start`.
    sqlite3_int64 start;
    int count;
    // Where the log ends since it was begun anew.
    sqlite3_int64 end;
    // Whether the page that comes next ends a transaction.
    int ends;
    unsigned char *bytes;
} log_file;

static sqlite3_vfs *system_layer;
static sqlite3_vfs layer;

static int flush(log_file *log) {
    if (log->count == 0) return SQLITE_OK;
    int count = log->count;
    log->count = 0;
    return log->file.system->pMethods->xWrite(log->file.system, log->bytes, count, log->start);
}

static int log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    log_file *log = (log_file *)file;
    sqlite3_int64 end = offset + count;
    // What is written over may belong to a transaction that is complete: that does not wait.
    int is_new = end > log->end && count <= capacity;
    if (!is_new || offset != log->start + log->count || log->count + count > capacity) {
        int code = flush(log);
        if (code != SQLITE_OK) return code;
    }
    if (offset == 0 || end > log->end) log->end = end;
    if (!is_new) return log->file.system->pMethods->xWrite(log->file.system, bytes, count, offset);
    if (log->count == 0) log->start = offset;
    memcpy(log->bytes + log->count, bytes, (size_t)count);
    log->count += count;
    if (count == head_size) {
        static const unsigned char none[4];
        log->ends = memcmp((const char *)bytes + commit_mark, none, sizeof none) != 0;
        return SQLITE_OK;
    }
    // Whoever reads the log beside this connection may look for the transaction from here on.
    return log->ends ? flush(log) : SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
    log_file *log = (log_file *)file;
    int code = flush(log);
    if (code != SQLITE_OK) return code;
    return log->file.system->pMethods->xRead(log->file.system, into, count, offset);
}

static int log_close(sqlite3_file *file) {
    log_file *log = (log_file *)file;
    int written = flush(log);
    free(log->bytes);
    log->bytes = NULL;
    int closed = log->file.system->pMethods->xClose(log->file.system);
    return written != SQLITE_OK ? written : closed;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    log_file *log = (log_file *)file;
    int code = flush(log);
    return code != SQLITE_OK ? code : log->file.system->pMethods->xTruncate(log->file.system, size);
}

static int log_sync(sqlite3_file *file, int flags) {
    log_file *log = (log_file *)file;
    int code = flush(log);
    return code != SQLITE_OK ? code : log->file.system->pMethods->xSync(log->file.system, flags);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    log_file *log = (log_file *)file;
    int code = flush(log);
    return code != SQLITE_OK ? code : log->file.system->pMethods->xFileSize(log->file.system, size);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

// All files but the log are the system's own.
static int layer_open(
    sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL))
        return system_layer->xOpen(system_layer, path, file, flags, out_flags);
    log_file *log = (log_file *)file;
    log->file.base.pMethods = NULL;
    log->file.system = (sqlite3_file *)(log + 1);
    log->count = 0;
    log->end = 0;
    log->ends = 0;
    log->bytes = malloc(capacity);
    if (!log->bytes) return SQLITE_NOMEM;
    int code = system_layer->xOpen(system_layer, path, log->file.system, flags, out_flags);
    if (log->file.system->pMethods) {
        log->file.base.pMethods = &log_methods;
    } else {
        free(log->bytes);
    }
    return code;
}

static void make_layer(void) {
    system_layer = sqlite3_vfs_find(NULL);
    if (!system_layer) return;
    layer = *system_layer;
    layer.zName = "gathering";
    layer.pNext = NULL;
    layer.szOsFile = (int)sizeof(log_file) + system_layer->szOsFile;
    layer.xOpen = layer_open;
    if (sqlite3_vfs_register(&layer, 0) != SQLITE_OK) layer.zName = NULL;
}

const char *csqlite_gathering(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_layer);
    return layer.zName;
}
