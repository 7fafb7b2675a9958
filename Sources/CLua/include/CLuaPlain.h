// Plain data: the form in which values cross between Lua and the host, also the layout of a call.
//
// One value is a tag byte and what follows it; numbers are little-endian, counts 32 bits wide.
#pragma once

enum {
    PLAIN_NIL = 0,
    PLAIN_FALSE = 1,
    PLAIN_TRUE = 2,
    // 8 bytes
    PLAIN_INTEGER = 3,
    // 8 bytes, IEEE 754
    PLAIN_NUMBER = 4,
    // count, bytes
    PLAIN_STRING = 5,
    // count, values
    PLAIN_ARRAY = 6,
    // count, (string or integer, value) pairs
    PLAIN_OBJECT = 7,
    // 4 bytes: a reference that keeps the function alive
    PLAIN_FUNCTION = 8,
    // count, a snapshot of a call (see below); from Lua only the 16 bytes of its id
    PLAIN_CALL = 9,
    // id, calls, devices, name: a string, two integers and a string or nil, each a value
    PLAIN_USER = 10,
    // count, a kind (see below), and the constructor's arguments as an array
    PLAIN_DECISION = 11,
    // 1 byte kind, 4 bytes number: an object of the host
    PLAIN_HANDLE = 12,
    // only inside the snapshot of a call: count, places of values in the snapshot
    PLAIN_PLACES = 13,
};

enum { PLAIN_DEPTH = 64 };

// A snapshot: the call's id as two 64-bit halves, then for each of these fields 32 bits that say
// where its value begins, counted from the start of the snapshot; 0: the field is nil.
enum {
    PLAIN_CALL_MODE = 0,
    PLAIN_CALL_KIND = 1,
    PLAIN_CALL_CALLER = 2,
    PLAIN_CALL_CALLEE = 3,
    PLAIN_CALL_INVITER = 4,
    PLAIN_CALL_INVITEES = 5,
    PLAIN_CALL_USERS = 6,
    PLAIN_CALL_TIMEOUT = 7,
    PLAIN_CALL_REMAINING = 8,
    PLAIN_CALL_EXTENDED_RAW = 9,
    PLAIN_CALL_ITEMS = 10,
    PLAIN_CALL_GROUP = 11,
    PLAIN_CALL_RECEIVER = 12,
    PLAIN_CALL_TRANSFERRED_BY = 13,
    PLAIN_CALL_SENDER = 14,
    PLAIN_CALL_FIELDS = 15,
};

// The kinds of decisions.
enum {
    PLAIN_ACCEPT = 0,
    PLAIN_REJECT = 1,
    PLAIN_RING = 2,
    PLAIN_FORWARD = 3,
    PLAIN_REFUSE = 4,
    PLAIN_ALLOW = 5,
    PLAIN_DROP = 6,
    PLAIN_ADMIT = 7,
};
