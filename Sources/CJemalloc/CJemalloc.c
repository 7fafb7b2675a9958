// jemalloc instead of the C library's allocator: requests are made on one thread and freed on
// another all the time, in batches that overflow the C library's small per-thread caches. That is a
// tenth of what a request costs. Debug builds do without, so that sanitizers see every allocation.
#include "CJemalloc.h"

// One arena, because few threads allocate. What is free for a second goes back to the system, and
// the tables that were outgrown, a megabyte and more, at once.
const char *malloc_conf =
    "narenas:1,oversize_threshold:1048576,dirty_decay_ms:1000,muzzy_decay_ms:0";
