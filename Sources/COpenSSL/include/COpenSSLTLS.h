// TLS over a socket: contexts, sessions, and what OpenSSL offers as macros only.
#pragma once
#include <openssl/ssl.h>
#include <stddef.h>

/// What came of loading a certificate and its key.
enum cossl_identity {
    COSSL_IDENTITY_LOADED,
    COSSL_IDENTITY_BAD_CERTIFICATE,
    COSSL_IDENTITY_BAD_KEY,
    COSSL_IDENTITY_ENCRYPTED_KEY,
    COSSL_IDENTITY_MISMATCH,
    COSSL_IDENTITY_LONG_CHAIN,
};

/// What came of one step of a session, when it is not a count of bytes.
enum cossl_step {
    COSSL_END = 0,
    COSSL_WANTS_READ = -1,
    COSSL_WANTS_WRITE = -2,
    COSSL_FAILED = -3,
};

/// A context for TLS 1.2 and 1.3 that speaks http/1.1 only and keeps no buffers in idle sessions.
/// NULL if OpenSSL has no memory. Free it with SSL_CTX_free.
SSL_CTX *cossl_tls_server(void);

/// As the server's, for the other side: peers must prove their name.
SSL_CTX *cossl_tls_client(void);

/// Loads a chain (leaf first) and its private key from open PEM files, and closes both. Never asks
/// for a pass phrase.
enum cossl_identity cossl_tls_identify(SSL_CTX *context, int chain, int key);

/// The same with the key as text in PEM.
enum cossl_identity cossl_tls_identify_text(SSL_CTX *context, int chain, const char *key,
                                            size_t count);

/// Peers must show a certificate that an authority of the context has signed.
void cossl_tls_require_certificate(SSL_CTX *context);

/// Whether the peer has shown a certificate with exactly this DNS name.
int cossl_tls_peer_is(SSL *session, const char *name);

/// The SHA-256 digest of the certificate that a context shows, or that the peer of a session has
/// shown. Returns 1, or 0 if there is none.
int cossl_tls_own_fingerprint(const SSL_CTX *context, unsigned char digest[32]);
int cossl_tls_peer_fingerprint(SSL *session, unsigned char digest[32]);

/// A server's session over a non-blocking socket, which it does not own. NULL if out of memory.
SSL *cossl_tls_accept(SSL_CTX *context, int socket);

/// A client's session. `name` is what the peer's certificate must be for: a host name, which is
/// also sent as SNI, or an IP address. NULL if out of memory or if the name is none.
SSL *cossl_tls_connect(SSL_CTX *context, int socket, const char *name);

/// One step of the handshake. Returns 1 when it is done.
long cossl_tls_handshake(SSL *session);

/// Decrypts up to `count` bytes. Returns how many, or a step.
long cossl_tls_read(SSL *session, void *bytes, size_t count);

/// Encrypts and sends up to `count` bytes. Returns how many, or a step.
long cossl_tls_write(SSL *session, const void *bytes, size_t count);

/// Tells the peer that nothing more comes.
void cossl_tls_shutdown(SSL *session);

/// Why the last step of this thread failed, in words; empties OpenSSL's queue of errors.
void cossl_tls_reason(SSL *session, char *text, size_t size);

/// How much a library may read of one connection at a time, whose code waits for an end that the
/// peer decides. Zero `reading` and `written` before each call of the library.
typedef struct {
    size_t bytes_max;
    long microseconds_max;
    const SSL *reading;
    size_t bytes;
    long since;
    int cut;
    int written; /* whether a record was written */
} cossl_tls_gate;

/// From now on connections of `context` are cut off that give more bytes in a longer time: they
/// count as closed by the peer, and `cut` is 1. The gate must outlive them.
void cossl_tls_watch(SSL_CTX *context, cossl_tls_gate *gate);
