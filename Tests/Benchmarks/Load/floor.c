// The floor: the least that a WebSocket server can do, to compare a real one with.
//
// usage: floor PORT [COUNTxSIZE,COUNTxSIZE…]
//
// It sends every message back. With groups of frames it answers the first message of a connection
// with the first group, the next one with the next, and after the last group with the first again:
// the frames that a real server sends, without its reasons. The last frame of a group says so.
//
// One thread, epoll, one receive and one send for what came in. It does not check UTF-8, knows no
// fragments, no pings and no time, and its handshake proves nothing: it is a measure, not a server.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"

enum { BUFFER = 1 << 16, EVENTS = 256, GROUPS = 8, GROUP_BYTES = 1 << 14 };

/// Frames as they are sent.
struct group {
    uint8_t bytes[GROUP_BYTES];
    size_t size;
};

static struct group groups[GROUPS];
static int group_count;

struct connection {
    int socket;
    /// The next group.
    int group;
    bool is_upgraded;
    size_t kept;
    uint8_t rest[2048];
};

static uint8_t input[BUFFER];
static uint8_t output[BUFFER * 8];
static int events;

static const char upgrade[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

static void watch(int socket, void *owner) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = owner}};
    epoll_ctl(events, EPOLL_CTL_ADD, socket, &event);
}

static int listen_at(int port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
        perror("floor");
        exit(1);
    }
    return listener;
}

static void accept_all(int listener) {
    for (int socket, on = 1; (socket = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0;) {
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = calloc(1, sizeof *connection);
        connection->socket = socket;
        watch(socket, connection);
    }
}

/// Writes the answer to a frame to `to`; returns its size. What was said is looked at all the same.
static size_t answer(struct connection *connection, struct frame *frame, uint8_t *to) {
    size_t head = frame_head(to, frame->opcode, frame->length, NULL);
    frame_mask(to + head, frame->payload, frame->length, frame->mask);
    if (group_count == 0) return head + frame->length;
    const struct group *group = &groups[connection->group];
    connection->group = (connection->group + 1) % group_count;
    memcpy(to, group->bytes, group->size);
    return group->size;
}

/// Writes the answers to all whole frames to `output`; `used` becomes the bytes taken.
static size_t answer_all(
    struct connection *connection, uint8_t *bytes, size_t count, size_t *used) {
    size_t written = 0;
    struct frame frame;
    while (frame_find(bytes + *used, count - *used, &frame)) {
        written += answer(connection, &frame, output + written);
        *used += frame.size;
        if (written > sizeof output - GROUP_BYTES) abort();
    }
    return written;
}

/// Reads `COUNTxSIZE,…`.
static void make_groups(char *text) {
    int counts[GROUPS], sizes[GROUPS];
    for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
        if (group_count == GROUPS
            || sscanf(one, "%dx%d", &counts[group_count], &sizes[group_count]) != 2
            || sizes[group_count] < 60
            || counts[group_count] * (sizes[group_count] + FRAME_HEAD_MAX) > GROUP_BYTES) {
            fprintf(stderr, "floor: no group of frames: %s\n", one);
            exit(2);
        }
        group_count++;
    }
    for (int index = 0; index < group_count; index++) {
        struct group *group = &groups[index];
        for (int frame = 1; frame <= counts[index]; frame++) {
            size_t length = (size_t)sizes[index];
            group->size += frame_head(group->bytes + group->size, FRAME_TEXT, length, NULL);
            uint8_t *payload = group->bytes + group->size;
            memset(payload, 'a', length);
            const char *event = index == group_count - 1 ? LAST_OF_ALL : LAST_OF_GROUP;
            if (frame == counts[index]) memcpy(payload, event, strlen(event));
            group->size += length;
        }
    }
}

static void serve(struct connection *connection) {
    memcpy(input, connection->rest, connection->kept);
    ssize_t count = recv(
        connection->socket, input + connection->kept, BUFFER - connection->kept, 0);
    if (count <= 0) {
        if (count < 0 && errno == EAGAIN) return;
        close(connection->socket);
        free(connection);
        return;
    }
    size_t have = connection->kept + (size_t)count, used = 0, size = 0;
    if (!connection->is_upgraded) {
        size = sizeof upgrade - 1;
        memcpy(output, upgrade, size);
        used = have;
        connection->is_upgraded = true;
    } else {
        size = answer_all(connection, input, have, &used);
    }
    if (size) send(connection->socket, output, size, MSG_NOSIGNAL);
    connection->kept = have - used;
    if (connection->kept > sizeof connection->rest) abort();
    memcpy(connection->rest, input + used, connection->kept);
}

int main(int count, char **words) {
    if (count != 2 && count != 3) {
        fputs("usage: floor PORT [COUNTxSIZE,COUNTxSIZE...]\n", stderr);
        return 2;
    }
    if (count == 3) make_groups(words[2]);
    events = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_at(atoi(words[1]));
    watch(listener, NULL);
    struct epoll_event ready[EVENTS];
    for (;;) {
        int number = epoll_wait(events, ready, EVENTS, -1);
        for (int index = 0; index < number; index++) {
            struct connection *connection = ready[index].data.ptr;
            if (connection) serve(connection);
            else accept_all(listener);
        }
    }
}
