// One client: a WebSocket connection that may have said hello.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLIENT_INPUT = 1 << 14, CLIENT_OUTPUT = 1 << 12 };

/// A connection to 127.0.0.1 that is ready for messages.
struct client {
    int socket;
    int index;
    /// Number of the request under way.
    unsigned request;
    /// Number of the newest event.
    unsigned long seq;
    /// When the operation under way began, in nanoseconds; 0: none is.
    uint64_t began;
    /// Of a routed call: the other side, the call, replies so far, and what is to come before it is
    /// over.
    struct client *peer;
    char call[33];
    int replies, awaited;
    size_t received, queued;
    uint8_t input[CLIENT_INPUT];
    uint8_t output[CLIENT_OUTPUT];
};

/// Opens the connection, with `hello` as user `uINDEX` if asked. Ends the program on failure.
struct client *client_open(int port, int index, bool says_hello);

/// Queues a message.
void client_say(struct client *client, const char *text, size_t length);

/// Sends what is queued.
void client_flush(struct client *client);

/// Receives what is there; false: nothing was. Ends the program when the server closes.
bool client_receive(struct client *client);

/// The next whole text message, valid until `client_receive`; false: there is none. Answers pings.
/// `*place` begins at 0; the rest is kept by `client_keep`.
bool client_next(struct client *client, size_t *place, const char **text, size_t *length);

/// Keeps what stands behind `place`.
void client_keep(struct client *client, size_t place);

/// A blocking connection to 127.0.0.1.
int connect_to(int port);

/// Ends the program with one line.
_Noreturn void fail(const char *what);
