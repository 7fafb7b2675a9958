// "did you mean …": the nearest of the names that exist.
#include <stdio.h>
#include <string.h>

#include "vm.h"

enum { LONGEST = 32 };

static int smaller(int a, int b) { return a < b ? a : b; }

// Changes, insertions, removals and swaps of neighbours between two short names.
static int distance(const char *a, const char *b) {
    int rows[3][LONGEST + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    int width = (int)strlen(b);
    for (int j = 0; j <= width; j++) last[j] = before[j] = j;
    for (int i = 1; a[i - 1] != 0; i++) {
        row[0] = i;
        for (int j = 1; j <= width; j++) {
            int change = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(change, smaller(last[j], row[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = smaller(row[j], before[j - 2] + 1);
        }
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[width];
}

// Writes ` (did you mean 'PREFIXname'?)` for the nearest string key of the table at `index`.
void cl_suggest(lua_State *L, int index, const char *wrong, const char *prefix, char *out,
                size_t size) {
    out[0] = 0;
    if (strlen(wrong) > LONGEST) return;
    int best = strlen(wrong) <= 4 ? 2 : 3;
    index = lua_absindex(L, index);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING) continue;
        const char *name = lua_tostring(L, -1);
        if (strlen(name) > LONGEST) continue;
        int found = distance(wrong, name);
        if (found >= best) continue;
        best = found;
        snprintf(out, size, " (did you mean '%s%s'?)", prefix, name);
    }
}
