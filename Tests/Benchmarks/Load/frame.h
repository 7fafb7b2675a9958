// WebSocket frames: as little of RFC 6455 as a measurement needs.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_TEXT = 1, FRAME_CLOSE = 8, FRAME_PING = 9, FRAME_PONG = 10, FRAME_HEAD_MAX = 14 };

/// How the last frames of the floor's answers begin: of a group, and of all.
#define LAST_OF_GROUP "{\"seq\":1,\"event\":\"more\""
#define LAST_OF_ALL "{\"seq\":1,\"event\":\"call.ended\""

/// A frame as it lies in a buffer.
struct frame {
    int opcode;
    bool is_masked;
    uint8_t mask[4];
    uint8_t *payload;
    size_t length;
    /// Bytes of head and payload.
    size_t size;
};

/// Finds the frame at the start of `bytes`; false: it is not complete.
bool frame_find(uint8_t *bytes, size_t count, struct frame *found);

/// Writes the head of a final frame to `out`; returns its size. Clients give a mask, servers NULL.
size_t frame_head(uint8_t *out, int opcode, size_t length, const uint8_t *mask);

/// Writes a client's final frame to `out`; returns its size.
size_t frame_write(uint8_t *out, int opcode, const void *payload, size_t length);

/// Copies `length` bytes and applies the mask to them.
void frame_mask(uint8_t *to, const uint8_t *from, size_t length, const uint8_t *mask);
