// Makes calls live over HTTP: one connection may speak for any number of users.
#include "fill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "process.h"

enum { CONNECTIONS = 64, ANSWER = 1 << 14 };

/// One HTTP connection with one request under way.
struct line {
    int socket;
    int call;
    size_t have;
    char answer[ANSWER];
};

static struct line lines[CONNECTIONS];
static uint64_t longest;

static void post(struct line *line, const char *path, const char *user, const char *body) {
    char request[1024];
    int length = snprintf(
        request, sizeof request,
        "POST /v1/call/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev:%s\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        path, user, strlen(body), body);
    if (send(line->socket, request, (size_t)length, MSG_NOSIGNAL) != length) {
        fail("cannot send a request");
    }
}

/// Bytes of the whole answer, or 0 while it is not there.
static size_t answer_size(const struct line *line) {
    const char *end = memmem(line->answer, line->have, "\r\n\r\n", 4);
    const char *name = end ? memmem(line->answer, line->have, "Content-Length: ", 16) : NULL;
    if (!name) return 0;
    size_t size = (size_t)(end + 4 - line->answer) + strtoul(name + 16, NULL, 10);
    return size <= line->have ? size : 0;
}

static void await(struct line *line) {
    line->have = 0;
    while (!answer_size(line)) {
        ssize_t count = recv(line->socket, line->answer + line->have, ANSWER - line->have - 1, 0);
        if (count <= 0) fail("the server closed a connection");
        line->have += (size_t)count;
    }
    line->answer[line->have] = 0;
    if (memcmp(line->answer + 9, "200", 3) != 0) {
        fprintf(stderr, "%s\n", line->answer);
        errno = 0;
        fail("a request is refused");
    }
}

static void invite(struct line *line) {
    char user[32], body[200];
    snprintf(user, sizeof user, "caller-%d", line->call);
    snprintf(
        body, sizeof body,
        "{\"invitees\":[\"callee-%d\"],\"mode\":\"advanced\",\"timeout_ms\":600000}", line->call);
    post(line, "invite", user, body);
}

static void accept_call(struct line *line) {
    char user[32], body[200];
    const char *id = strstr(line->answer, "\"call_id\":\"");
    if (!id) fail("a reply without a call");
    snprintf(user, sizeof user, "callee-%d", line->call);
    snprintf(body, sizeof body, "{\"call_id\":\"%.32s\"}", id + 11);
    post(line, "accept", user, body);
}

/// Takes the answers of `count` lines, which were asked at once.
static void await_all(int count, uint64_t since) {
    for (int index = 0; index < count; index++) await(&lines[index]);
    uint64_t took = now_ns() - since;
    if (took > longest) longest = took;
}

uint64_t fill(int port, int from, int to) {
    for (int index = 0; index < CONNECTIONS; index++) lines[index].socket = connect_to(port);
    for (int call = from; call < to; call += CONNECTIONS) {
        int count = to - call < CONNECTIONS ? to - call : CONNECTIONS;
        uint64_t began = now_ns();
        for (int index = 0; index < count; index++) {
            lines[index].call = call + index;
            invite(&lines[index]);
        }
        await_all(count, began);
        began = now_ns();
        for (int index = 0; index < count; index++) accept_call(&lines[index]);
        await_all(count, began);
    }
    for (int index = 0; index < CONNECTIONS; index++) close(lines[index].socket);
    return longest;
}
