// The file layer that fails on purpose: every operation is the system's own, unless it is armed.
#include "CSQLite.h"
#include "layered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct csqlite_faults {
    sqlite3_vfs layer;
    sqlite3_vfs *system;
    pthread_mutex_t lock;
    int operations;
    int64_t after;
    int64_t times;
    // What `after` and `times` are set to when the failures are over; 0 times: nothing.
    int64_t next_after;
    int64_t next_times;
    int64_t hit;
    int code;
    char name[64];
};

typedef struct {
    layered_file file;
    csqlite_faults *faults;
} faulty_file;

// Whether this operation fails; then the code to fail with, else SQLITE_OK.
static int verdict(csqlite_faults *faults, int operation) {
    int code = SQLITE_OK;
    pthread_mutex_lock(&faults->lock);
    if (faults->times > 0 && (faults->operations & operation)) {
        if (faults->after > 0) {
            faults->after--;
        } else {
            faults->times--;
            faults->hit++;
            code = faults->code;
            if (faults->times == 0) {
                faults->after = faults->next_after;
                faults->times = faults->next_times;
            }
        }
    }
    pthread_mutex_unlock(&faults->lock);
    return code;
}

static csqlite_faults *faults_of(sqlite3_file *file) { return ((faulty_file *)file)->faults; }

static int file_close(sqlite3_file *file) {
    return system_file(file)->pMethods->xClose(system_file(file));
}

static int file_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
    int code = verdict(faults_of(file), csqlite_fault_read);
    if (code != SQLITE_OK) return code;
    return system_file(file)->pMethods->xRead(system_file(file), into, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    int code = verdict(faults_of(file), csqlite_fault_write);
    if (code == SQLITE_OK)
        return system_file(file)->pMethods->xWrite(system_file(file), bytes, count, offset);
    if (code != SQLITE_READONLY && count > 1)
        system_file(file)->pMethods->xWrite(system_file(file), bytes, count / 2, offset);
    return code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int code = verdict(faults_of(file), csqlite_fault_truncate);
    if (code != SQLITE_OK) return code;
    return system_file(file)->pMethods->xTruncate(system_file(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    int code = verdict(faults_of(file), csqlite_fault_sync);
    if (code != SQLITE_OK) return code;
    return system_file(file)->pMethods->xSync(system_file(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return system_file(file)->pMethods->xFileSize(system_file(file), size);
}

static int file_shm_map(
    sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    return system_file(file)->pMethods->xShmMap(system_file(file), page, size, extend, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return system_file(file)->pMethods->xShmLock(system_file(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) {
    system_file(file)->pMethods->xShmBarrier(system_file(file));
}

static int file_shm_unmap(sqlite3_file *file, int delete_flag) {
    return system_file(file)->pMethods->xShmUnmap(system_file(file), delete_flag);
}

// Version 2: shared memory for WAL, but no memory-mapped reads, which would bypass `file_read`.
static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int layer_open(
    sqlite3_vfs *layer, sqlite3_filename path, sqlite3_file *file, int flags, int *out_flags) {
    csqlite_faults *faults = layer->pAppData;
    faulty_file *wrapper = (faulty_file *)file;
    wrapper->file.base.pMethods = NULL;
    int code = verdict(faults, csqlite_fault_open);
    if (code != SQLITE_OK) return code;
    wrapper->faults = faults;
    wrapper->file.system = (sqlite3_file *)(wrapper + 1);
    code = faults->system->xOpen(faults->system, path, wrapper->file.system, flags, out_flags);
    if (wrapper->file.system->pMethods) wrapper->file.base.pMethods = &file_methods;
    return code;
}

static int layer_delete(sqlite3_vfs *layer, const char *path, int sync) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xDelete(faults->system, path, sync);
}

static int layer_access(sqlite3_vfs *layer, const char *path, int flags, int *result) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xAccess(faults->system, path, flags, result);
}

static int layer_full_path(sqlite3_vfs *layer, const char *path, int count, char *into) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xFullPathname(faults->system, path, count, into);
}

static int layer_randomness(sqlite3_vfs *layer, int count, char *into) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xRandomness(faults->system, count, into);
}

static int layer_sleep(sqlite3_vfs *layer, int microseconds) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xSleep(faults->system, microseconds);
}

static int layer_time(sqlite3_vfs *layer, sqlite3_int64 *into) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xCurrentTimeInt64(faults->system, into);
}

static int layer_last_error(sqlite3_vfs *layer, int count, char *into) {
    csqlite_faults *faults = layer->pAppData;
    return faults->system->xGetLastError(faults->system, count, into);
}

csqlite_faults *csqlite_faults_create(const char *name) {
    sqlite3_vfs *system = sqlite3_vfs_find(csqlite_gathering());
    csqlite_faults *faults = system ? calloc(1, sizeof *faults) : NULL;
    if (!faults) return NULL;
    strncpy(faults->name, name, sizeof faults->name - 1);
    pthread_mutex_init(&faults->lock, NULL);
    faults->system = system;
    faults->layer = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(faulty_file) + system->szOsFile,
        .mxPathname = system->mxPathname,
        .zName = faults->name,
        .pAppData = faults,
        .xOpen = layer_open,
        .xDelete = layer_delete,
        .xAccess = layer_access,
        .xFullPathname = layer_full_path,
        .xRandomness = layer_randomness,
        .xSleep = layer_sleep,
        .xGetLastError = layer_last_error,
        .xCurrentTimeInt64 = layer_time,
    };
    if (sqlite3_vfs_register(&faults->layer, 0) == SQLITE_OK) return faults;
    pthread_mutex_destroy(&faults->lock);
    free(faults);
    return NULL;
}

void csqlite_faults_arm(
    csqlite_faults *faults, int operations, int64_t after, int64_t times, int again, int code) {
    pthread_mutex_lock(&faults->lock);
    faults->operations = operations;
    faults->after = after;
    faults->times = times;
    faults->next_after = again ? after : 0;
    faults->next_times = again ? times : 0;
    faults->code = code;
    pthread_mutex_unlock(&faults->lock);
}

int64_t csqlite_faults_hit(const csqlite_faults *faults) {
    csqlite_faults *unlocked = (csqlite_faults *)faults;
    pthread_mutex_lock(&unlocked->lock);
    int64_t hit = faults->hit;
    pthread_mutex_unlock(&unlocked->lock);
    return hit;
}

void csqlite_faults_destroy(csqlite_faults *faults) {
    sqlite3_vfs_unregister(&faults->layer);
    pthread_mutex_destroy(&faults->lock);
    free(faults);
}
