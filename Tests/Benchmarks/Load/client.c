// Opens connections, says hello, moves messages.
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"

void fail(const char *what) {
    fprintf(stderr, "load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

int connect_to(int port) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (descriptor < 0) fail("no socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) fail("cannot connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

static void upgrade(struct client *client) {
    static const char request[] =
        "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: callagent.v1.json\r\n\r\n";
    char answer[1024];
    size_t have = 0;
    if (send(client->socket, request, sizeof request - 1, 0) < 0) fail("cannot ask for an upgrade");
    while (have < 4 || memcmp(answer + have - 4, "\r\n\r\n", 4) != 0) {
        ssize_t count = recv(client->socket, answer + have, sizeof answer - have, 0);
        if (count <= 0) fail("no answer to the upgrade");
        have += (size_t)count;
    }
    if (memcmp(answer + 9, "101", 3) != 0) fail("the upgrade is refused");
}

static void say_hello(struct client *client) {
    char text[200];
    int length = snprintf(
        text, sizeof text,
        "{\"id\":0,\"op\":\"hello\",\"data\":{\"token\":\"dev:u%d\",\"device\":\"load\"}}",
        client->index);
    client_say(client, text, (size_t)length);
    client_flush(client);
    const char *reply;
    size_t size, place = 0;
    while (client_receive(client) && !client_next(client, &place, &reply, &size)) {}
    if (!memmem(reply, size, "\"ok\"", 4)) fail("hello is refused");
    client_keep(client, place);
}

struct client *client_open(int port, int index, bool says_hello) {
    struct client *client = calloc(1, sizeof *client);
    client->index = index;
    client->socket = connect_to(port);
    upgrade(client);
    if (says_hello) say_hello(client);
    fcntl(client->socket, F_SETFL, O_NONBLOCK);
    return client;
}

void client_say(struct client *client, const char *text, size_t length) {
    if (client->queued + length + FRAME_HEAD_MAX > CLIENT_OUTPUT) fail("too much to say");
    client->queued +=
        frame_write(client->output + client->queued, FRAME_TEXT, text, length);
}

void client_flush(struct client *client) {
    ssize_t count = send(client->socket, client->output, client->queued, MSG_NOSIGNAL);
    if (count != (ssize_t)client->queued) fail("the server does not read");
    client->queued = 0;
}

bool client_receive(struct client *client) {
    ssize_t count = recv(
        client->socket, client->input + client->received, CLIENT_INPUT - client->received, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) fail("the server closed a connection");
    if (count < 0) return false;
    client->received += (size_t)count;
    return true;
}

bool client_next(struct client *client, size_t *place, const char **text, size_t *length) {
    struct frame frame;
    while (frame_find(client->input + *place, client->received - *place, &frame)) {
        *place += frame.size;
        if (frame.opcode == FRAME_TEXT) {
            *text = (const char *)frame.payload;
            *length = frame.length;
            return true;
        }
        if (frame.opcode == FRAME_CLOSE) fail("the server said good-bye");
        client->queued += frame_write(
            client->output + client->queued, FRAME_PONG, frame.payload, frame.length);
    }
    return false;
}

void client_keep(struct client *client, size_t place) {
    client->received -= place;
    memmove(client->input, client->input + place, client->received);
}
