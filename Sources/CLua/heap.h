// The memory of one vm: one region of addresses, so that all of it can be given up at once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAP_CLASSES = 84 };

typedef struct {
    uint8_t *base;
    size_t pages;
    // One bit per page in use.
    uint64_t *map;
    // No page below it is free.
    size_t lowest;
    // Where small blocks are cut from.
    uint8_t *cut;
    uint8_t *cut_end;
    void *free[HEAP_CLASSES];
} cl_heap;

// A heap that can hold about `size` bytes; false without addresses for it.
bool cl_heap_open(cl_heap *heap, size_t size);
void cl_heap_close(cl_heap *heap);
void *cl_heap_take(cl_heap *heap, size_t size);
void cl_heap_give(cl_heap *heap, void *block, size_t size);
// Whether a block of the one size may serve as one of the other without moving.
bool cl_heap_same(size_t old_size, size_t new_size);
