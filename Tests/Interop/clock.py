"""A server whose wall clock is wrong."""

import mmap
import struct

from preload import preload

# The wall clock is off by what stands in a file, in seconds.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile long long *shift;

__attribute__((constructor)) static void begin(void) {
  int file = open(getenv("CLOCK_SHIFT"), O_RDONLY);
  if (file >= 0) shift = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, now);
  if (!failed && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += *shift;
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}
"""


class WrongClock:
    """Has a server start with a wall clock that is `seconds` ahead, and sets it while it runs."""

    def __init__(self, agent, seconds=0):
        self.path = agent.folder / "shift"
        self.path.write_bytes(struct.pack("q", seconds))
        agent.environment["CLOCK_SHIFT"] = str(self.path)
        preload(agent, SHIM)

    def set(self, seconds):
        with open(self.path, "r+b") as file, mmap.mmap(file.fileno(), 8) as shift:
            shift[:] = struct.pack("q", seconds)
