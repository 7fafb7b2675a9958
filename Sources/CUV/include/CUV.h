// CUV: libuv, and the socket calls that Swift cannot reach (feature macros, unions of addresses).
#pragma once
#include <sys/socket.h>
#include <uv.h>

/// Accepts one connection, non-blocking and closed on exec. Returns the descriptor or -errno.
int cuv_accept(int listener, struct sockaddr_storage *peer, socklen_t *length);

/// Opens a stream socket, non-blocking and closed on exec. Returns the descriptor or -errno.
int cuv_socket(int family);

/// Puts a path into a Unix address. Returns its length, or 0 if the path is too long or empty.
socklen_t cuv_unix_address(struct sockaddr_storage *address, const char *path);

/// The longest path of a Unix socket in bytes.
size_t cuv_unix_path_limit(void);

/// Sends what the socket takes now. Returns the count or -errno; never raises SIGPIPE.
long cuv_send(int socket, const void *bytes, size_t count);

/// Receives what is there, up to `count` bytes. Returns the count, 0 at the end, or -errno.
long cuv_receive(int socket, void *bytes, size_t count);

/// How many bytes of a first TLS record are waited for; the socket is announced when they, or the
/// end, are there. 0: the TLS code has to read, and the socket is announced as usual. `awaited` is
/// what the last call returned, 0 before the first: who is announced with less is at its end.
int cuv_await_record(int socket, int awaited);

/// Whether the kernel says that somebody keeps its clock in step (adjtimex).
int cuv_clock_is_kept(void);

/// The bytes that malloc has handed out and that were not freed, by jemalloc's count or mallinfo2.
size_t cuv_heap_in_use(void);

/// Whether libuv can make a loop now: where a first loop gets no pipe, libuv ends the process.
/// Returns 0 or -errno.
int cuv_may_make_loop(void);

/// Opens a descriptor that is readable while one of `count` signals waits for the process or for
/// the thread that reads; the calling thread holds them back from now on. Returns it or -errno.
int cuv_open_signals(const int *signals, size_t count);

/// Takes the signals that wait at a descriptor of `cuv_open_signals`. Returns whether any did.
int cuv_take_signals(int descriptor);

/// Names the calling thread; the kernel keeps 15 bytes.
void cuv_name_thread(const char *name);

/// Lets the other threads go before the calling one where there are more of them than cores: its
/// nice value grows by so many steps.
void cuv_lower_priority(int steps);
