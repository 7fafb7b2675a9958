// Live calls, as many as wanted.
#pragma once

/// Makes the calls `from`..<`to` at the server of `port`: each between two users of its own, in
/// mode `advanced`, accepted, and so live until they are ended.
void fill(int port, int from, int to);
