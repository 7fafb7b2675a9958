// Drives the clients of one target and measures its server meanwhile.
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client.h"
#include "process.h"

enum { EVENTS = 256, SAMPLES = 1 << 22, INVITE_BYTES = 300, ACK_EVERY = 16 };

static uint32_t samples[SAMPLES];
static size_t sample_count;
static uint64_t finished;
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

static void begin(struct target *target, struct client *client) {
    char text[INVITE_BYTES + 100];
    if (target->kind != ECHO && client->request % ACK_EVERY == 0 && client->seq > 0) {
        size_t length = (size_t)sprintf(text, "{\"ack\":%lu}", client->seq);
        client_say(client, text, length);
    }
    client->request++;
    client_say(client, text, write_invite(text, client->request));
    client->began = now_ns();
    under_way++;
    client_flush(client);
}

static void cancel(struct client *client, const char *reply, size_t length) {
    static const char name[] = "\"call_id\":\"";
    const char *id = memmem(reply, length, name, sizeof name - 1);
    if (!id) fail("an invitation is refused");
    char text[200];
    int size = sprintf(
        text, "{\"id\":%u,\"op\":\"call.cancel\",\"data\":{\"call_id\":\"%.32s\"}}",
        client->request, id + sizeof name - 1);
    client_say(client, text, (size_t)size);
}

/// Whether `text` ends the operation under way.
static int is_last(struct target *target, struct client *client, const char *text, size_t length) {
    static const char ended[] = "\"event\":\"call.ended\"";
    if (target->kind == ECHO) return 1;
    if (memcmp(text, "{\"seq\":", 7) == 0) {
        client->seq = strtoul(text + 7, NULL, 10);
        return memmem(text, length < 60 ? length : 60, ended, sizeof ended - 1) != NULL;
    }
    if (memmem(text, length, "\"error\":", 8)) fail("an invitation is refused");
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
        is_over |= is_last(target, client, text, length);
    }
    client_keep(client, place);
    if (is_over) {
        uint64_t took = now_ns() - client->began;
        if (sample_count < SAMPLES) samples[sample_count++] = (uint32_t)took;
        finished++;
        under_way--;
        if (!is_stopping) begin(target, client);
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
    target->connections = connections;
    target->clients = calloc((size_t)connections, sizeof *target->clients);
    target->events = epoll_create1(EPOLL_CLOEXEC);
    for (int index = 0; index < connections; index++) {
        struct client *client = client_open(target->port, index, target->kind != ECHO);
        target->clients[index] = client;
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = client}};
        epoll_ctl(target->events, EPOLL_CTL_ADD, client->socket, &event);
    }
}

void target_measure(struct target *target, int round, double seconds) {
    is_stopping = 0;
    for (int index = 0; index < target->connections; index++) {
        begin(target, target->clients[index]);
    }
    serve_until(target, now_ns() + 300000000u);
    sample_count = 0;
    finished = 0;
    uint64_t began = now_ns(), cpu = process_cpu(target->pid), own = process_cpu(getpid());
    uint64_t machine = machine_busy();
    serve_until(target, began + (uint64_t)(seconds * 1e9));
    double took = (double)(now_ns() - began);
    double busy = (double)(process_cpu(target->pid) - cpu);
    double others = (double)(machine_busy() - machine) - busy
        - (double)(process_cpu(getpid()) - own);
    double count = (double)finished;
    qsort(samples, sample_count, sizeof *samples, by_value);
    printf(
        "%s round=%d us=%.3f per_s=%.0f p50_us=%.1f p99_us=%.1f max_us=%.1f busy=%.2f"
        " others=%.2f\n",
        target->name, round, busy / count / 1000, count / took * 1e9, percentile(0.50),
        percentile(0.99), percentile(1), busy / took, others / took);
    fflush(stdout);
    is_stopping = 1;
    serve_until(target, now_ns() + 5000000000u);
    if (under_way) fail("operations do not end");
}
