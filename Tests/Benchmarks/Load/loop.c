// Drives the clients of one target and measures its server meanwhile.
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client.h"
#include "frame.h"

enum { EVENTS = 256, SAMPLES = 1 << 22, INVITE_BYTES = 300, ACK_EVERY = 16 };

static uint32_t samples[SAMPLES];
static size_t sample_count;
static uint64_t finished, frames, bytes;
static int under_way;
static int is_stopping;

/// Writes an invitation of `INVITE_BYTES` bytes.
static size_t write_invite(char *text, unsigned request) {
    int head = sprintf(
        text,
        "{\"id\":%u,\"op\":\"call.invite\",\"data\":{\"invitees\":[\"support\"],"
        "\"mode\":\"common\",\"kind\":\"video\",\"timeout_ms\":30000,\"extended_data\":"
        "\"{\\\"type\\\":\\\"video_call\\\",\\\"title\\\":\\\"",
        request);
    static const char tail[] = "\\\"}\"}}";
    size_t padding = INVITE_BYTES - (size_t)head - (sizeof tail - 1);
    memset(text + head, 'a', padding);
    memcpy(text + head + padding, tail, sizeof tail - 1);
    return INVITE_BYTES;
}

static void acknowledge(struct client *client) {
    char text[40];
    if (client->request % ACK_EVERY != 0 || client->seq == 0) return;
    client_say(client, text, (size_t)sprintf(text, "{\"ack\":%lu}", client->seq));
}

/// Asks for something with the call of the client.
static void ask(struct client *client, const char *operation) {
    char text[200];
    acknowledge(client);
    client->request++;
    int length = sprintf(
        text, "{\"id\":%u,\"op\":\"%s\",\"data\":{\"call_id\":\"%s\"}}", client->request, operation,
        client->call);
    client_say(client, text, (size_t)length);
    client_flush(client);
}

static void begin(struct target *target, struct client *client) {
    char text[INVITE_BYTES + 100];
    if (target->kind != ECHO && target->kind != CANNED) acknowledge(client);
    client->request++;
    size_t length = target->kind == ROUTED
        ? (size_t)sprintf(
              text,
              "{\"id\":%u,\"op\":\"call.invite\",\"data\":{\"invitees\":[\"u%d\"],"
              "\"mode\":\"direct\",\"timeout_ms\":60000}}",
              client->request, client->peer->index)
        : write_invite(text, client->request);
    client_say(client, text, length);
    client->began = now_ns();
    // Both hear of the end, and who ends it has a reply.
    client->replies = 0;
    client->awaited = 3;
    under_way++;
    client_flush(client);
}

static void take_call(struct client *client, const char *text, size_t length) {
    static const char name[] = "\"call_id\":\"";
    const char *id = memmem(text, length, name, sizeof name - 1);
    if (!id) fail("a message without a call");
    memcpy(client->call, id + sizeof name - 1, sizeof client->call - 1);
}

static void cancel(struct client *client, const char *reply, size_t length) {
    take_call(client, reply, length);
    ask(client, "call.cancel");
}

static int is_event(const char *text, size_t length, const char *name) {
    return memmem(text, length < 60 ? length : 60, name, strlen(name)) != NULL;
}

/// Who began what is under way at this client.
static struct client *beginner(struct target *target, struct client *client) {
    return target->kind == ROUTED && client->index % 2 == 1 ? client->peer : client;
}

/// Goes on with a routed call at an event; whether it is over.
static int hear_routed(
    struct client *caller, struct client *client, const char *text, size_t length) {
    if (is_event(text, length, "\"event\":\"call.ended\"")) return --caller->awaited == 0;
    if (is_event(text, length, "\"event\":\"call.incoming\"")) {
        take_call(client, text, length);
        client->replies = 0;
        ask(client, "call.ringing");
    }
    return 0;
}

/// Goes on with a routed call at a reply; whether it is over. Who is called lets it ring and
/// accepts, who calls ends it.
static int go_on_routed(struct client *caller, struct client *client) {
    client->replies++;
    if (client == caller) return client->replies == 2 && --caller->awaited == 0;
    if (client->replies == 1) {
        ask(client, "call.accept");
    } else {
        memcpy(caller->call, client->call, sizeof caller->call);
        ask(caller, "call.end");
    }
    return 0;
}

static void say_invite(struct client *client) {
    char text[INVITE_BYTES];
    client_say(client, text, write_invite(text, client->request));
}

/// Whether `text` ends the operation under way.
static int is_last(struct target *target, struct client *client, const char *text, size_t length) {
    if (target->kind == ECHO) return 1;
    struct client *caller = beginner(target, client);
    if (memcmp(text, "{\"seq\":", 7) == 0) {
        client->seq = strtoul(text + 7, NULL, 10);
        if (target->kind == ROUTED) return hear_routed(caller, client, text, length);
        if (target->kind == CANNED && is_event(text, length, LAST_OF_GROUP)) say_invite(client);
        return is_event(text, length, "\"event\":\"call.ended\"");
    }
    if (target->kind == CANNED) return 0;
    if (memmem(text, length, "\"error\":", 8)) fail("a request is refused");
    if (target->kind == ROUTED) return go_on_routed(caller, client);
    if (target->kind == CANCEL && memmem(text, length, "\"ringing\"", 9)) {
        cancel(client, text, length);
    }
    return 0;
}

static void serve(struct target *target, struct client *client) {
    if (!client_receive(client)) return;
    const char *text;
    size_t length, place = 0;
    int is_over = 0;
    while (client_next(client, &place, &text, &length)) {
        frames++;
        bytes += length;
        is_over |= is_last(target, client, text, length);
    }
    client_keep(client, place);
    if (is_over) {
        struct client *caller = beginner(target, client);
        uint64_t took = now_ns() - caller->began;
        if (sample_count < SAMPLES) samples[sample_count++] = (uint32_t)took;
        finished++;
        under_way--;
        if (!is_stopping) begin(target, caller);
    }
    if (client->queued) client_flush(client);
}

/// Serves until `moment`. It never sleeps, so that the server never pays for waking the generator.
static void serve_until(struct target *target, uint64_t moment) {
    struct epoll_event ready[EVENTS];
    while (now_ns() < moment && !(is_stopping && under_way == 0)) {
        int count = epoll_wait(target->events, ready, EVENTS, 0);
        for (int index = 0; index < count; index++) serve(target, ready[index].data.ptr);
    }
}

static int by_value(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double percentile(double part) {
    if (!sample_count) return 0;
    return samples[(size_t)((double)(sample_count - 1) * part)] / 1000.0;
}

void target_open(struct target *target, int connections) {
    target->step = target->kind == ROUTED ? 2 : 1;
    connections *= target->step;
    target->connections = connections;
    target->clients = calloc((size_t)connections, sizeof *target->clients);
    target->events = epoll_create1(EPOLL_CLOEXEC);
    for (int index = 0; index < connections; index++) {
        bool says_hello = target->kind != ECHO && target->kind != CANNED;
        struct client *client = client_open(target->port, index, says_hello);
        target->clients[index] = client;
        if (target->kind == ROUTED && index % 2 == 1) {
            client->peer = target->clients[index - 1];
            client->peer->peer = client;
        }
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = client}};
        epoll_ctl(target->events, EPOLL_CTL_ADD, client->socket, &event);
    }
}

void target_measure(struct target *target, int round, double seconds) {
    is_stopping = 0;
    for (int index = 0; index < target->connections; index += target->step) {
        begin(target, target->clients[index]);
    }
    serve_until(target, now_ns() + 300000000u);
    sample_count = 0;
    finished = frames = bytes = 0;
    uint64_t began = now_ns(), cpu = processes_cpu(&target->server);
    uint64_t own = process_cpu(getpid()), machine = machine_busy();
    serve_until(target, began + (uint64_t)(seconds * 1e9));
    double took = (double)(now_ns() - began);
    double busy = (double)(processes_cpu(&target->server) - cpu);
    double others = (double)(machine_busy() - machine) - busy
        - (double)(process_cpu(getpid()) - own);
    double count = (double)finished;
    qsort(samples, sample_count, sizeof *samples, by_value);
    printf(
        "%s round=%d us=%.3f per_s=%.0f p50_us=%.1f p99_us=%.1f max_us=%.1f busy=%.2f"
        " others=%.2f frames=%.2f bytes=%.0f\n",
        target->name, round, busy / count / 1000, count / took * 1e9, percentile(0.50),
        percentile(0.99), percentile(1), busy / took, others / took, (double)frames / count,
        (double)bytes / count);
    fflush(stdout);
    is_stopping = 1;
    serve_until(target, now_ns() + 5000000000u);
    if (under_way) fail("operations do not end");
}
