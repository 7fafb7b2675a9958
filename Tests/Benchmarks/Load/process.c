// Reads processor time to the nanosecond (schedstat) and memory of a process.
#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t thread_cpu(const char *folder, const char *thread) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s/schedstat", folder, thread);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    unsigned long long ran = 0;
    if (fscanf(file, "%llu", &ran) != 1) ran = 0;
    fclose(file);
    return ran;
}

uint64_t process_cpu(int pid) {
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%d/task", pid);
    DIR *threads = opendir(folder);
    if (!threads) return 0;
    uint64_t sum = 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        if (entry->d_name[0] != '.') sum += thread_cpu(folder, entry->d_name);
    }
    closedir(threads);
    return sum;
}

uint64_t processes_cpu(const struct processes *processes) {
    uint64_t sum = 0;
    for (int index = 0; index < processes->count; index++) {
        sum += process_cpu(processes->pids[index]);
    }
    return sum;
}

uint64_t process_memory(int pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    unsigned long long size = 0, resident = 0;
    if (fscanf(file, "%llu %llu", &size, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t machine_busy(void) {
    FILE *file = fopen("/proc/stat", "r");
    if (!file) return 0;
    unsigned long long ticks[8] = {0};
    int found = fscanf(
        file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2],
        &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    fclose(file);
    if (found != 8) return 0;
    uint64_t busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
    return busy * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}
