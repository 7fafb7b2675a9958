// What a process uses, read from /proc.
#pragma once
#include <stdint.h>

enum { PROCESSES = 64 };

/// Processes that are measured as one.
struct processes {
    int pids[PROCESSES];
    int count;
};

/// Nanoseconds that they ran since they began.
uint64_t processes_cpu(const struct processes *processes);

/// Nanoseconds that all threads of the process ran since they began; 0 when there is none.
uint64_t process_cpu(int pid);

/// Bytes of memory that the process holds resident.
uint64_t process_memory(int pid);

/// Nanoseconds that all processors of the machine were not idle, in steps of 10 ms.
uint64_t machine_busy(void);

/// Nanoseconds of a clock that never goes back.
uint64_t now_ns(void);
