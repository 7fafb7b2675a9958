// Lua patterns, matched with a count of steps.
#pragma once

#include "vm.h"

enum { PATTERN_CAPTURES = 32, PATTERN_DEPTH = 200 };

// Lengths of captures that are not texts.
enum { CAPTURE_OPEN = -1, CAPTURE_PLACE = -2 };

typedef struct {
    lua_State *L;
    const char *subject;
    const char *end;
    const char *pattern_end;
    int depth;
    int count;
    struct {
        const char *start;
        ptrdiff_t length;
    } captures[PATTERN_CAPTURES];
} cl_match;

void cl_match_begin(cl_match *m, lua_State *L, const char *subject, size_t subject_size,
                    const char *pattern_end);
// Where the match of `pattern` at `at` ends, or NULL. Raises for a malformed pattern.
const char *cl_match_at(cl_match *m, const char *at, const char *pattern);
// Pushes capture `index`; without any captures, the whole match.
void cl_push_capture(cl_match *m, int index, const char *start, const char *end);
// Pushes all captures, or the whole match when there are none and `start` is given.
int cl_push_captures(cl_match *m, const char *start, const char *end);
