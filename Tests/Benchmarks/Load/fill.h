// Live calls, as many as wanted.
#pragma once
#include <stdint.h>

/// Makes the calls `from`..<`to` at the server of `port`: each between two users of its own, in
/// mode `advanced`, accepted, and so live until they are ended. Returns how long the slowest batch
/// of requests took, in nanoseconds: what a growing table would show in.
uint64_t fill(int port, int from, int to);
