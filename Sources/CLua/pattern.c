// The matcher of Lua patterns (Lua 5.4 manual, 6.4.1): backtracking like stock Lua's, so that
// both agree, but every step is paid for and the clock is looked at.
#include "pattern.h"

#include <ctype.h>
#include <string.h>

static const char *match(cl_match *m, const char *s, const char *p);

static inline void pay(cl_match *m, ptrdiff_t steps) { cl_charge(m->L, (uint64_t)steps); }

static inline int byte_at(const char *s) { return (unsigned char)*s; }

// Classes.

static bool in_class(int c, int letter) {
    bool is;
    switch (tolower(letter)) {
    case 'a': is = isalpha(c); break;
    case 'c': is = iscntrl(c); break;
    case 'd': is = isdigit(c); break;
    case 'g': is = isgraph(c); break;
    case 'l': is = islower(c); break;
    case 'p': is = ispunct(c); break;
    case 's': is = isspace(c); break;
    case 'u': is = isupper(c); break;
    case 'w': is = isalnum(c); break;
    case 'x': is = isxdigit(c); break;
    // Not in the manual any more, but stock Lua still has it.
    case 'z': is = c == 0; break;
    default: return letter == c;
    }
    return is != (isupper(letter) != 0);
}

// `p` stands at '[', `last` at its ']'.
static bool in_set(cl_match *m, int c, const char *p, const char *last) {
    bool wanted = true;
    pay(m, (last - p) / 4);
    if (p[1] == '^') {
        wanted = false;
        p++;
    }
    for (p++; p < last; p++) {
        if (*p == '%') {
            p++;
            if (in_class(c, byte_at(p))) return wanted;
        } else if (p[1] == '-' && p + 2 < last) {
            if (byte_at(p) <= c && c <= byte_at(p + 2)) return wanted;
            p += 2;
        } else if (byte_at(p) == c) {
            return wanted;
        }
    }
    return !wanted;
}

// The place behind the set that begins at `p`. A ']' that comes first belongs to it.
static const char *end_of_set(cl_match *m, const char *p) {
    p++;
    if (p < m->pattern_end && *p == '^') p++;
    do {
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%' && p < m->pattern_end) p++;
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

// The place behind the single-character item at `p`.
static const char *end_of_item(cl_match *m, const char *p) {
    if (*p == '[') return end_of_set(m, p);
    if (*p++ != '%') return p;
    if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
    return p + 1;
}

// Whether the character at `s` is one of the item from `p` to `item_end`.
static inline bool fits(cl_match *m, const char *s, const char *p, const char *item_end) {
    if (s >= m->end) return false;
    int c = byte_at(s);
    switch (*p) {
    case '.': return true;
    case '%': return in_class(c, byte_at(p + 1));
    case '[': return in_set(m, c, p, item_end - 1);
    default: return byte_at(p) == c;
    }
}

// Repetition.

static const char *most(cl_match *m, const char *s, const char *p, const char *item_end) {
    const char *last = s;
    while (fits(m, last, p, item_end)) {
        pay(m, 1);
        last++;
    }
    for (; last >= s; last--) {
        const char *found = match(m, last, item_end + 1);
        if (found != NULL) return found;
    }
    return NULL;
}

static const char *least(cl_match *m, const char *s, const char *p, const char *item_end) {
    for (;; s++) {
        const char *found = match(m, s, item_end + 1);
        if (found != NULL) return found;
        if (!fits(m, s, p, item_end)) return NULL;
    }
}

// Captures.

static const char *open_capture(cl_match *m, const char *s, const char *p, ptrdiff_t kind) {
    if (m->count >= PATTERN_CAPTURES) luaL_error(m->L, "too many captures");
    m->captures[m->count].start = s;
    m->captures[m->count].length = kind;
    m->count++;
    const char *found = match(m, s, p);
    if (found == NULL) m->count--;
    return found;
}

static const char *close_capture(cl_match *m, const char *s, const char *p) {
    int index = m->count - 1;
    while (index >= 0 && m->captures[index].length != CAPTURE_OPEN) index--;
    if (index < 0) luaL_error(m->L, "invalid pattern capture");
    m->captures[index].length = s - m->captures[index].start;
    const char *found = match(m, s, p);
    if (found == NULL) m->captures[index].length = CAPTURE_OPEN;
    return found;
}

// The place behind what capture `digit` matched before, if it stands here again.
static const char *again(cl_match *m, const char *s, int digit) {
    int index = digit - '1';
    if (index < 0 || index >= m->count || m->captures[index].length == CAPTURE_OPEN) {
        luaL_error(m->L, "invalid capture index %%%d", index + 1);
    }
    ptrdiff_t length = m->captures[index].length;
    if (length == CAPTURE_PLACE || m->end - s < length) return NULL;
    pay(m, length / 16);
    return memcmp(m->captures[index].start, s, (size_t)length) == 0 ? s + length : NULL;
}

// Special items.

static const char *balanced(cl_match *m, const char *s, const char *p) {
    if (m->pattern_end - p < 2) {
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    }
    if (s >= m->end || *s != *p) return NULL;
    int open = p[0], close = p[1], depth = 1;
    for (s++; s < m->end; s++) {
        pay(m, 1);
        if (*s == close) {
            if (--depth == 0) return s + 1;
        } else if (*s == open) {
            depth++;
        }
    }
    return NULL;
}

// `p` is after "%f"; `after` gets the place after its set.
static bool at_frontier(cl_match *m, const char *s, const char *p, const char **after) {
    if (p >= m->pattern_end || *p != '[') {
        luaL_error(m->L, "missing '[' after '%%f' in pattern");
    }
    *after = end_of_set(m, p);
    int before = s == m->subject ? 0 : byte_at(s - 1);
    int here = s == m->end ? 0 : byte_at(s);
    return !in_set(m, before, p, *after - 1) && in_set(m, here, p, *after - 1);
}

// Tries a plain item with its repetition. Returns true when the caller goes on at `*s`, `*p`;
// otherwise `*s` is the result.
static bool single(cl_match *m, const char **s, const char **p) {
    const char *item_end = end_of_item(m, *p);
    char mark = item_end < m->pattern_end ? *item_end : 0;
    bool fit = fits(m, *s, *p, item_end);
    switch (mark) {
    case '?':
        if (fit) {
            const char *found = match(m, *s + 1, item_end + 1);
            if (found != NULL) {
                *s = found;
                return false;
            }
        }
        *p = item_end + 1;
        return true;
    case '+':
        *s = fit ? most(m, *s + 1, *p, item_end) : NULL;
        return false;
    case '*': *s = most(m, *s, *p, item_end); return false;
    case '-': *s = least(m, *s, *p, item_end); return false;
    default: break;
    }
    if (!fit) {
        *s = NULL;
        return false;
    }
    *s += 1;
    *p = item_end;
    return true;
}

// Tries an item that begins with '%'; the same answer as `single`.
static bool escaped(cl_match *m, const char **s, const char **p) {
    char letter = *p + 1 < m->pattern_end ? (*p)[1] : 0;
    if (letter == 'b') {
        *s = balanced(m, *s, *p + 2);
        *p += 4;
        return *s != NULL;
    }
    if (letter == 'f') {
        if (at_frontier(m, *s, *p + 2, p)) return true;
        *s = NULL;
        return false;
    }
    if (isdigit((unsigned char)letter)) {
        *s = again(m, *s, letter);
        *p += 2;
        return *s != NULL;
    }
    return single(m, s, p);
}

static const char *match_items(cl_match *m, const char *s, const char *p) {
    bool go_on = true;
    while (go_on && p != m->pattern_end) {
        pay(m, 1);
        bool last = p + 1 == m->pattern_end;
        switch (*p) {
        case '(':
            return !last && p[1] == ')' ? open_capture(m, s, p + 2, CAPTURE_PLACE)
                                        : open_capture(m, s, p + 1, CAPTURE_OPEN);
        case ')': return close_capture(m, s, p + 1);
        case '$':
            if (last) return s == m->end ? s : NULL;
            go_on = single(m, &s, &p);
            break;
        case '%': go_on = escaped(m, &s, &p); break;
        default: go_on = single(m, &s, &p); break;
        }
    }
    return s;
}

static const char *match(cl_match *m, const char *s, const char *p) {
    if (m->depth-- == 0) luaL_error(m->L, "pattern too complex");
    const char *found = match_items(m, s, p);
    m->depth++;
    return found;
}

void cl_match_begin(cl_match *m, lua_State *L, const char *subject, size_t subject_size,
                    const char *pattern_end) {
    m->L = L;
    m->subject = subject;
    m->end = subject + subject_size;
    m->pattern_end = pattern_end;
    m->depth = PATTERN_DEPTH;
    m->count = 0;
}

const char *cl_match_at(cl_match *m, const char *at, const char *pattern) {
    m->count = 0;
    return match(m, at, pattern);
}

void cl_push_capture(cl_match *m, int index, const char *start, const char *end) {
    if (index >= m->count) {
        if (index != 0) luaL_error(m->L, "invalid capture index %%%d", index + 1);
        lua_pushlstring(m->L, start, (size_t)(end - start));
        return;
    }
    ptrdiff_t length = m->captures[index].length;
    const char *from = m->captures[index].start;
    if (length == CAPTURE_OPEN) luaL_error(m->L, "unfinished capture");
    if (length == CAPTURE_PLACE) lua_pushinteger(m->L, from - m->subject + 1);
    else lua_pushlstring(m->L, from, (size_t)length);
}

int cl_push_captures(cl_match *m, const char *start, const char *end) {
    int count = m->count == 0 && start != NULL ? 1 : m->count;
    luaL_checkstack(m->L, count, "too many captures");
    for (int i = 0; i < count; i++) cl_push_capture(m, i, start, end);
    return count;
}
