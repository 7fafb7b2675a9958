// Finds, writes and masks frames.
#include "frame.h"

#include <string.h>

bool frame_find(uint8_t *bytes, size_t count, struct frame *found) {
    if (count < 2) return false;
    size_t head = 2;
    uint64_t length = bytes[1] & 0x7F;
    size_t extra = length == 126 ? 2 : length == 127 ? 8 : 0;
    found->is_masked = bytes[1] & 0x80;
    size_t rest = extra + (found->is_masked ? 4 : 0);
    if (count < head + rest) return false;
    if (extra) length = 0;
    for (size_t index = 0; index < extra; index++) length = length << 8 | bytes[head++];
    if (found->is_masked) {
        memcpy(found->mask, bytes + head, 4);
        head += 4;
    }
    if (count - head < length) return false;
    found->opcode = bytes[0] & 0x0F;
    found->payload = bytes + head;
    found->length = length;
    found->size = head + length;
    return true;
}

void frame_mask(uint8_t *to, const uint8_t *from, size_t length, const uint8_t *mask) {
    uint32_t half;
    memcpy(&half, mask, 4);
    uint64_t whole = (uint64_t)half << 32 | half, word;
    size_t index = 0;
    for (; index + 8 <= length; index += 8) {
        memcpy(&word, from + index, 8);
        word ^= whole;
        memcpy(to + index, &word, 8);
    }
    for (; index < length; index++) to[index] = from[index] ^ mask[index & 3];
}

size_t frame_head(uint8_t *out, int opcode, size_t length, const uint8_t *mask) {
    uint8_t *place = out;
    uint8_t bit = mask ? 0x80 : 0;
    *place++ = 0x80 | (uint8_t)opcode;
    if (length < 126) {
        *place++ = bit | (uint8_t)length;
    } else {
        int bytes = length < 65536 ? 2 : 8;
        *place++ = bit | (bytes == 2 ? 126 : 127);
        for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
            *place++ = (uint8_t)(length >> shift);
        }
    }
    if (mask) {
        memcpy(place, mask, 4);
        place += 4;
    }
    return (size_t)(place - out);
}

size_t frame_write(uint8_t *out, int opcode, const void *payload, size_t length) {
    static const uint8_t mask[4] = {0x9C, 0x21, 0x5A, 0xE3};
    size_t head = frame_head(out, opcode, length, mask);
    frame_mask(out + head, payload, length, mask);
    return head + length;
}
