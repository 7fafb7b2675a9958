// Memory of a vm: counted, and refused beyond the limit; and rows of bytes outside it.
#include <stdlib.h>
#include <string.h>

#include "vm.h"

// A block of this size costs so much that the clock is looked at first.
enum { LARGE_BLOCK = 64 * 1024 };

static bool may_grow(callua_vm *vm, size_t old_size, size_t new_size) {
    if (vm->used + (new_size - old_size) > vm->limits.memory) return false;
    if (new_size >= LARGE_BLOCK) cl_look(vm);
    return true;
}

static void count(callua_vm *vm, size_t old_size, size_t new_size) {
    vm->used += new_size - old_size;
}

static void *move(callua_vm *vm, void *block, size_t old_size, size_t new_size) {
    void *moved = cl_heap_take(&vm->heap, new_size);
    if (moved == NULL) {
        // Lua counts on it that a block can always shrink; a larger one serves as well.
        return new_size <= old_size ? block : NULL;
    }
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
    cl_heap_give(&vm->heap, block, old_size);
    return moved;
}

void *cl_allocate(void *context, void *block, size_t old_size, size_t new_size) {
    callua_vm *vm = context;
    // For a new block Lua passes the kind of object as the old size.
    if (block == NULL) old_size = 0;
    if (new_size == 0) {
        if (block != NULL) cl_heap_give(&vm->heap, block, old_size);
        count(vm, old_size, 0);
        return NULL;
    }
    if (new_size > old_size && !may_grow(vm, old_size, new_size)) return NULL;
    void *result = block;
    if (block == NULL) result = cl_heap_take(&vm->heap, new_size);
    else if (!cl_heap_same(old_size, new_size)) result = move(vm, block, old_size, new_size);
    if (result != NULL) count(vm, old_size, new_size);
    return result;
}

bool cl_make_room(cl_buffer *buffer, size_t count) {
    size_t capacity = buffer->capacity < 256 ? 256 : buffer->capacity;
    while (capacity - buffer->count < count) capacity *= 2;
    cl_shield();
    uint8_t *grown = realloc(buffer->start, capacity);
    if (grown != NULL) {
        buffer->start = grown;
        buffer->capacity = capacity;
    }
    cl_unshield();
    return grown != NULL;
}

bool cl_append(cl_buffer *buffer, const void *bytes, size_t count) {
    if (count > buffer->capacity - buffer->count && !cl_make_room(buffer, count)) return false;
    if (count > 0) memcpy(buffer->start + buffer->count, bytes, count);
    buffer->count += count;
    return true;
}

callua_bytes cl_bytes(const cl_buffer *buffer) {
    return (callua_bytes){buffer->start, buffer->count};
}
