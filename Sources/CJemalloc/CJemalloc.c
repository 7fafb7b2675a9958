// jemalloc instead of the C library's allocator: requests are made on one thread and freed on
// another all the time, in batches that overflow the C library's small per-thread caches. That is a
// tenth of what a request costs. Debug builds do without, so that sanitizers see every allocation.
#include "CJemalloc.h"

// One arena, because few threads allocate; what is free for 20 ms goes back to the system, so that
// a burst is not remembered in memory.
const char *malloc_conf = "narenas:1,dirty_decay_ms:20,muzzy_decay_ms:0";
