// The closed loop: every client has one operation under way, and begins the next when it is over.
#pragma once
#include "process.h"

/// What the clients of a target do.
enum kind {
    /// Send the invitation's bytes and wait for a message.
    ECHO,
    /// Invite, and wait for the end of the call.
    INVITE,
    /// Invite, cancel at the reply, and wait for the end of the call.
    CANCEL,
    /// Send the invitation's bytes to the floor as often as it has groups of frames.
    CANNED,
    /// Two clients: invite, let it ring, accept, end, and wait until both know of the end.
    ROUTED,
    KINDS
};

/// A server under measurement.
struct target {
    const char *name;
    enum kind kind;
    int port;
    struct processes server;
    int connections;
    /// Clients for each operation under way.
    int step;
    /// Of `ROUTED` a caller and whom it calls, in turns.
    struct client **clients;
    int events;
};

/// Connects the clients of `target`.
void target_open(struct target *target, int connections);

/// Loads `target` for `seconds`, after a short warm-up, and prints one line.
void target_measure(struct target *target, int round, double seconds);
