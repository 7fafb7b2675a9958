// The echo floor: the least that a WebSocket server can do, to compare a real one with.
//
// usage: floor PORT
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

enum { BUFFER = 1 << 16, EVENTS = 256 };

struct connection {
    int socket;
    bool is_upgraded;
    size_t kept;
    uint8_t rest[2048];
};

static uint8_t input[BUFFER];
static uint8_t output[BUFFER * 2];
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

/// Writes the echo of every whole frame to `output`; `used` becomes the bytes taken.
static size_t echo(uint8_t *bytes, size_t count, size_t *used) {
    size_t written = 0;
    struct frame frame;
    while (frame_find(bytes + *used, count - *used, &frame)) {
        written += frame_head(output + written, frame.opcode, frame.length, NULL);
        frame_mask(output + written, frame.payload, frame.length, frame.mask);
        written += frame.length;
        *used += frame.size;
    }
    return written;
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
        size = echo(input, have, &used);
    }
    if (size) send(connection->socket, output, size, MSG_NOSIGNAL);
    connection->kept = have - used;
    if (connection->kept > sizeof connection->rest) abort();
    memcpy(connection->rest, input + used, connection->kept);
}

int main(int count, char **words) {
    if (count != 2) {
        fputs("usage: floor PORT\n", stderr);
        return 2;
    }
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
