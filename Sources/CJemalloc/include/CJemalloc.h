// CJemalloc: the memory allocator of a release build.
#pragma once

/// The settings that jemalloc reads before `main`; the environment's `MALLOC_CONF` overrides them.
extern const char *malloc_conf;
