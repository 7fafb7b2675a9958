// The files of the console, as they are in the executable.

#ifndef CCONSOLE_H
#define CCONSOLE_H

#include <stddef.h>

/// One file of the console.
typedef struct {
    /// Its path, beginning with a slash.
    const char *path;
    /// Its `Content-Type`.
    const char *type;
    const unsigned char *bytes;
    size_t count;
} cconsole_file;

/// How many files there are.
size_t cconsole_count(void);
/// The file at `place`, which is below `cconsole_count()`.
cconsole_file cconsole_at(size_t place);

#endif
