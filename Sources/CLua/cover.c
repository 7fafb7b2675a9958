// Which lines have run, for the plugins' own tests.
#include <stdlib.h>
#include <string.h>

#include "vm.h"

enum { FILES_MAX = 64, LINES_MAX = 65536 };

struct cl_cover {
    int count;
    struct {
        char source[LUA_IDSIZE];
        uint8_t lines[LINES_MAX / 8];
    } files[FILES_MAX];
};

bool callua_cover(callua_vm *vm) {
    vm->cover = calloc(1, sizeof *vm->cover);
    if (vm->cover == NULL) return false;
    cl_watch(vm, vm->main);
    return true;
}

static int find(const struct cl_cover *cover, const char *source) {
    for (int i = 0; i < cover->count; i++) {
        if (strcmp(cover->files[i].source, source) == 0) return i;
    }
    return -1;
}

void cl_cover_line(lua_State *L, lua_Debug *record) {
    struct cl_cover *cover = cl_vm(L)->cover;
    lua_getinfo(L, "S", record);
    int file = find(cover, record->short_src);
    if (file < 0 && cover->count == FILES_MAX) return;
    if (file < 0) {
        file = cover->count++;
        memcpy(cover->files[file].source, record->short_src, LUA_IDSIZE);
    }
    int line = record->currentline;
    if (line > 0 && line < LINES_MAX) {
        cover->files[file].lines[line / 8] |= (uint8_t)(1 << (line % 8));
    }
}

callua_bytes callua_covered(const callua_vm *vm, const char *file) {
    int found = vm->cover == NULL ? -1 : find(vm->cover, file);
    if (found < 0) return (callua_bytes){NULL, 0};
    return (callua_bytes){vm->cover->files[found].lines, LINES_MAX / 8};
}
