// The C target of CUV needs one source file; everything is in the headers.
#define _GNU_SOURCE
#include "CUV.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <sys/timex.h>
#include <unistd.h>

int cuv_accept(int listener, struct sockaddr_storage *peer, socklen_t *length) {
    *length = sizeof *peer;
    int descriptor =
        accept4(listener, (struct sockaddr *)peer, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int cuv_socket(int family) {
    int descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return descriptor < 0 ? -errno : descriptor;
}

size_t cuv_unix_path_limit(void) {
    struct sockaddr_un address;
    return sizeof address.sun_path - 1;
}

socklen_t cuv_unix_address(struct sockaddr_storage *address, const char *path) {
    size_t length = strlen(path);
    if (length == 0 || length > cuv_unix_path_limit()) return 0;
    struct sockaddr_un *unix_address = (struct sockaddr_un *)address;
    memset(unix_address, 0, sizeof *unix_address);
    unix_address->sun_family = AF_UNIX;
    memcpy(unix_address->sun_path, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

long cuv_send(int socket, const void *bytes, size_t count) {
    ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

long cuv_receive(int socket, void *bytes, size_t count) {
    ssize_t received = recv(socket, bytes, count, 0);
    return received < 0 ? -errno : received;
}

int cuv_await_record(int socket, int awaited) {
    enum { HEAD = 5, HANDSHAKE = 22, LONGEST = 16384 + 256 };
    unsigned char head[HEAD];
    ssize_t seen = recv(socket, head, HEAD, MSG_PEEK);
    int wanted = seen > 0 || (seen < 0 && errno == EAGAIN) ? HEAD : 0, there = 0;
    if (seen == HEAD) {
        int length = head[3] << 8 | head[4];
        wanted = head[0] == HANDSHAKE && length <= LONGEST ? HEAD + length : 0;
    }
    if (ioctl(socket, FIONREAD, &there) < 0 || there >= wanted || wanted == awaited) wanted = 0;
    int least = wanted > 0 ? wanted : 1;
    setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    return wanted;
}

int cuv_may_make_loop(void) {
    // What it opens: two pipes, an epoll and an eventfd.
    enum { WANTED = 6 };
    int opened[WANTED], count = 0, result = 0;
    while (count < WANTED && result == 0) {
        if (pipe2(opened + count, O_CLOEXEC) < 0)
            result = -errno;
        else
            count += 2;
    }
    while (count > 0) close(opened[--count]);
    return result;
}

int cuv_clock_is_kept(void) {
    struct timex state = {.modes = 0};
    return adjtimex(&state) != TIME_ERROR;
}

// There where the program is linked with jemalloc.
extern int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
    __attribute__((weak));

size_t cuv_heap_in_use(void) {
    uint64_t epoch = 1;
    size_t size = sizeof epoch, in_use, in_use_size = sizeof in_use;
    // Figures are those of the moment at which the epoch was last set.
    if (mallctl && mallctl("epoch", &epoch, &size, &epoch, size) == 0 &&
        mallctl("stats.allocated", &in_use, &in_use_size, NULL, 0) == 0)
        return in_use;
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void cuv_lower_priority(int steps) {
    // Linux counts this for the thread alone.
    int now = getpriority(PRIO_PROCESS, 0);
    setpriority(PRIO_PROCESS, 0, now + steps);
}

void cuv_name_thread(const char *name) {
    char kept[16];
    snprintf(kept, sizeof kept, "%s", name);
    pthread_setname_np(pthread_self(), kept);
}

int cuv_open_signals(const int *signals, size_t count) {
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < count; i++) sigaddset(&held, signals[i]);
    int code = pthread_sigmask(SIG_BLOCK, &held, NULL);
    if (code != 0) return -code;
    int descriptor = signalfd(-1, &held, SFD_NONBLOCK | SFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int cuv_take_signals(int descriptor) {
    struct signalfd_siginfo taken[8];
    int any = 0;
    while (read(descriptor, taken, sizeof taken) > 0) any = 1;
    return any;
}
