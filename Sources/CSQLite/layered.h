// A file of a layer over the system's: what it hands on as it is.
#pragma once
#include <sqlite3.h>

// How the files of a layer begin. The system's own file stands behind them in memory.
typedef struct {
    sqlite3_file base;
    sqlite3_file *system;
} layered_file;

static inline sqlite3_file *system_file(sqlite3_file *file) {
    return ((layered_file *)file)->system;
}

static inline int file_lock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xLock(system_file(file), level);
}

static inline int file_unlock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xUnlock(system_file(file), level);
}

static inline int file_check_lock(sqlite3_file *file, int *result) {
    return system_file(file)->pMethods->xCheckReservedLock(system_file(file), result);
}

static inline int file_control(sqlite3_file *file, int operation, void *argument) {
    return system_file(file)->pMethods->xFileControl(system_file(file), operation, argument);
}

static inline int file_sector(sqlite3_file *file) {
    return system_file(file)->pMethods->xSectorSize(system_file(file));
}

static inline int file_traits(sqlite3_file *file) {
    return system_file(file)->pMethods->xDeviceCharacteristics(system_file(file));
}
