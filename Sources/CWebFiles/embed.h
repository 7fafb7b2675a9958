// C23's #embed in a compiler that calls it an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

#define JAVASCRIPT "text/javascript; charset=utf-8"
#define TYPES "text/plain; charset=utf-8"

// A row of a table: the array `name` as the file at `path`.
#define FILE_ROW(path, type, name) {path, type, name, sizeof name}
