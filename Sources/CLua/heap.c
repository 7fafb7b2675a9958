// Small blocks come from lists by size, large ones are runs of pages. Nothing here takes a lock
// or calls malloc after the start: a vm may be given up in the middle of any of it.
#define _GNU_SOURCE
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, CHUNK_PAGES = 16, SMALL_MAX = 1024, CLASS_MAX = 32768, GIVE_BACK_PAGES = 16 };

// Classes: multiples of 16 up to 1,024, then four sizes for each doubling.

static int class_of(size_t size) {
    if (size <= SMALL_MAX) return (int)((size + 15) / 16) - 1;
    size_t last = size - 1;
    int power = 63 - __builtin_clzll(last);
    return 64 + (power - 10) * 4 + (int)(last >> (power - 2) & 3);
}

static size_t size_of_class(int number) {
    if (number < 64) return (size_t)(number + 1) * 16;
    int power = 10 + (number - 64) / 4, step = (number - 64) % 4;
    return (size_t)(5 + step) << (power - 2);
}

bool cl_heap_same(size_t old_size, size_t new_size) {
    if (old_size == 0 || new_size == 0) return false;
    if (old_size > CLASS_MAX || new_size > CLASS_MAX) {
        return old_size > CLASS_MAX && new_size > CLASS_MAX
            && (old_size + PAGE - 1) / PAGE == (new_size + PAGE - 1) / PAGE;
    }
    return class_of(old_size) == class_of(new_size);
}

// Pages.

static bool is_used(const cl_heap *heap, size_t page) {
    return heap->map[page / 64] >> (page % 64) & 1;
}

static void mark(cl_heap *heap, size_t page, size_t count, bool used) {
    for (size_t i = page; i < page + count; i++) {
        if (used) heap->map[i / 64] |= (uint64_t)1 << (i % 64);
        else heap->map[i / 64] &= ~((uint64_t)1 << (i % 64));
    }
}

static uint8_t *take_pages(cl_heap *heap, size_t count) {
    size_t found = 0;
    bool seen_free = false;
    for (size_t page = heap->lowest; page < heap->pages; page++) {
        if (page % 64 == 0 && heap->map[page / 64] == UINT64_MAX) {
            found = 0;
            page += 63;
            continue;
        }
        if (is_used(heap, page)) {
            found = 0;
            continue;
        }
        if (!seen_free) heap->lowest = page;
        seen_free = true;
        if (++found < count) continue;
        size_t first = page + 1 - count;
        mark(heap, first, count, true);
        return heap->base + first * PAGE;
    }
    return NULL;
}

static void give_pages(cl_heap *heap, uint8_t *block, size_t count) {
    size_t page = (size_t)(block - heap->base) / PAGE;
    mark(heap, page, count, false);
    if (page < heap->lowest) heap->lowest = page;
    if (count >= GIVE_BACK_PAGES) madvise(block, count * PAGE, MADV_DONTNEED);
}

// Small blocks.

static void put(cl_heap *heap, void *block, int number) {
    memcpy(block, &heap->free[number], sizeof(void *));
    heap->free[number] = block;
}

// What is left of a chunk goes into the lists.
static void scatter_rest(cl_heap *heap) {
    while (heap->cut_end - heap->cut >= 16) {
        size_t left = (size_t)(heap->cut_end - heap->cut);
        size_t size = left > SMALL_MAX ? SMALL_MAX : left / 16 * 16;
        put(heap, heap->cut, class_of(size));
        heap->cut += size;
    }
}

static void *take_small(cl_heap *heap, int number) {
    void *block = heap->free[number];
    if (block != NULL) {
        memcpy(&heap->free[number], block, sizeof(void *));
        return block;
    }
    size_t size = size_of_class(number);
    if ((size_t)(heap->cut_end - heap->cut) < size) {
        uint8_t *chunk = take_pages(heap, CHUNK_PAGES);
        if (chunk == NULL) return NULL;
        scatter_rest(heap);
        heap->cut = chunk;
        heap->cut_end = chunk + CHUNK_PAGES * PAGE;
    }
    block = heap->cut;
    heap->cut += size;
    return block;
}

void *cl_heap_take(cl_heap *heap, size_t size) {
    if (size <= CLASS_MAX) return take_small(heap, class_of(size));
    return take_pages(heap, (size + PAGE - 1) / PAGE);
}

void cl_heap_give(cl_heap *heap, void *block, size_t size) {
    if (size <= CLASS_MAX) put(heap, block, class_of(size));
    else give_pages(heap, block, (size + PAGE - 1) / PAGE);
}

bool cl_heap_open(cl_heap *heap, size_t size) {
    *heap = (cl_heap){0};
    heap->pages = (size + PAGE - 1) / PAGE;
    heap->map = calloc((heap->pages + 63) / 64, sizeof(uint64_t));
    if (heap->map == NULL) return false;
    void *base = mmap(NULL, heap->pages * PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        free(heap->map);
        heap->map = NULL;
        return false;
    }
    madvise(base, heap->pages * PAGE, MADV_NOHUGEPAGE);
    heap->base = base;
    return true;
}

void cl_heap_close(cl_heap *heap) {
    if (heap->base != NULL) munmap(heap->base, heap->pages * PAGE);
    free(heap->map);
    *heap = (cl_heap){0};
}
