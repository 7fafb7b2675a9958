// The load generator: what to do, from the command line.
//
// usage: load loop [-r ROUNDS] [-d SECONDS] [-c CONNECTIONS] NAME:KIND:PORT:PID[+PID…]…
//        load fill FROM TO PORT PID
//        load idle CONNECTIONS PORT PID
//
// `loop` measures its targets in turns, so that a machine that grows slow or fast meanwhile does so
// for all of them; KIND is echo, invite, cancel, canned or routed (see loop.h); several processes
// count as one server. It prints one line for each window: processor time of the server per
// operation (all threads, /proc/PID/task/*/schedstat), operations in a second, latencies, how many
// processors the server and others than us used, and the frames and bytes that an operation
// brought.
// `fill` makes calls live and prints what each took of the server's memory and time.
// `idle` opens sessions and prints what each takes of the server's memory.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client.h"
#include "fill.h"
#include "loop.h"
#include "process.h"

enum { TARGETS = 8 };

static const char usage[] =
    "usage: load loop [-r ROUNDS] [-d SECONDS] [-c CONNECTIONS] NAME:KIND:PORT:PID[+PID...]...\n"
    "       load fill FROM TO PORT PID\n"
    "       load idle CONNECTIONS PORT PID\n";

_Noreturn static void misuse(void) {
    fputs(usage, stderr);
    exit(2);
}

static struct target parse_target(char *text) {
    static const char *const kinds[KINDS] = {"echo", "invite", "cancel", "canned", "routed"};
    struct target target = {.name = strtok(text, ":")};
    const char *kind = strtok(NULL, ":"), *port = strtok(NULL, ":");
    char *pids = strtok(NULL, ":");
    if (!pids) misuse();
    int found = -1;
    for (int index = 0; index < KINDS; index++) {
        if (strcmp(kind, kinds[index]) == 0) found = index;
    }
    if (found < 0) misuse();
    target.kind = (enum kind)found;
    target.port = atoi(port);
    for (char *one = strtok(pids, "+"); one; one = strtok(NULL, "+")) {
        if (target.server.count == PROCESSES) misuse();
        target.server.pids[target.server.count++] = atoi(one);
    }
    return target;
}

static int run_loop(int count, char **words) {
    int rounds = 5, connections = 64, option;
    double seconds = 2;
    while ((option = getopt(count, words, "r:d:c:")) > 0) {
        switch (option) {
        case 'r': rounds = atoi(optarg); break;
        case 'd': seconds = atof(optarg); break;
        case 'c': connections = atoi(optarg); break;
        default: misuse();
        }
    }
    struct target targets[TARGETS];
    int number = count - optind;
    if (number < 1 || number > TARGETS) misuse();
    for (int index = 0; index < number; index++) {
        targets[index] = parse_target(words[optind + index]);
        target_open(&targets[index], connections);
    }
    for (int round = 1; round <= rounds; round++) {
        for (int index = 0; index < number; index++) {
            target_measure(&targets[index], round, seconds);
        }
    }
    return 0;
}

static int run_fill(int from, int to, int port, int pid) {
    uint64_t memory = process_memory(pid), cpu = process_cpu(pid);
    uint64_t longest = fill(port, from, to);
    double calls = to - from;
    printf(
        "fill calls=%d bytes=%.0f us=%.3f longest_ms=%.1f resident_kb=%llu\n", to - from,
        (double)(int64_t)(process_memory(pid) - memory) / calls,
        (double)(process_cpu(pid) - cpu) / calls / 1000, (double)longest / 1e6,
        (unsigned long long)process_memory(pid) / 1024);
    return 0;
}

static int run_idle(int connections, int port, int pid) {
    uint64_t memory = process_memory(pid), cpu = process_cpu(pid);
    for (int index = 0; index < connections; index++) client_open(port, index, true);
    double number = connections;
    printf(
        "idle connections=%d bytes=%.0f us=%.3f resident_kb=%llu\n", connections,
        (double)(int64_t)(process_memory(pid) - memory) / number,
        (double)(process_cpu(pid) - cpu) / number / 1000,
        (unsigned long long)process_memory(pid) / 1024);
    return 0;
}

/// As many descriptors as the system lets us have.
static void raise_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    errno = 0;
}

int main(int count, char **words) {
    raise_limit();
    if (count < 2) misuse();
    if (strcmp(words[1], "loop") == 0) return run_loop(count - 1, words + 1);
    if (strcmp(words[1], "fill") == 0 && count == 6) {
        return run_fill(atoi(words[2]), atoi(words[3]), atoi(words[4]), atoi(words[5]));
    }
    if (strcmp(words[1], "idle") == 0 && count == 5) {
        return run_idle(atoi(words[2]), atoi(words[3]), atoi(words[4]));
    }
    misuse();
}
