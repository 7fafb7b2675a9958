// TLS through OpenSSL: contexts, handshakes, reading and writing on a descriptor.
#include "COpenSSLTLS.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const unsigned char offered[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

static int choose(SSL *session, const unsigned char **chosen, unsigned char *chosen_length,
                  const unsigned char *proposed, unsigned int proposed_length, void *context) {
    (void)session;
    (void)context;
    int code = SSL_select_next_proto((unsigned char **)chosen, chosen_length, offered,
                                     sizeof offered, proposed, proposed_length);
    return code == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* OpenSSL's own callback would ask at the terminal and wait. */
static int no_pass_phrase(char *text, int size, int writing, void *context) {
    (void)text;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

static SSL_CTX *context_for(const SSL_METHOD *method) {
    SSL_CTX *context = SSL_CTX_new(method);
    if (context == NULL) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
    return context;
}

SSL_CTX *cossl_tls_server(void) {
    SSL_CTX *context = context_for(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_alpn_select_cb(context, choose, NULL);
    return context;
}

SSL_CTX *cossl_tls_client(void) {
    SSL_CTX *context = context_for(TLS_client_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_protos(context, offered, sizeof offered);
    return context;
}

static int use_chain(SSL_CTX *context, FILE *file) {
    X509 *leaf = PEM_read_X509_AUX(file, NULL, no_pass_phrase, NULL);
    if (leaf == NULL) return 0;
    int is_good = SSL_CTX_use_certificate(context, leaf) == 1;
    X509_free(leaf);
    X509 *issuer = NULL;
    while (is_good && (issuer = PEM_read_X509(file, NULL, no_pass_phrase, NULL)) != NULL) {
        is_good = SSL_CTX_add0_chain_cert(context, issuer) == 1;
        if (!is_good) X509_free(issuer);
    }
    unsigned long code = ERR_peek_last_error();
    int is_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    if (is_good && is_end) ERR_clear_error();
    return is_good && is_end;
}

/* Whether clients take the chain: OpenSSL's, as most of their libraries do, give up a handshake in
   which the other side shows more than this. */
static int is_short(SSL_CTX *context) {
    STACK_OF(X509) *issuers = NULL;
    SSL_CTX_get0_chain_certs(context, &issuers);
    long total = i2d_X509(SSL_CTX_get0_certificate(context), NULL);
    for (int at = 0; at < sk_X509_num(issuers); at += 1)
        total += i2d_X509(sk_X509_value(issuers, at), NULL) + 5; /* its length, and extensions */
    return total <= SSL_MAX_CERT_LIST_DEFAULT;
}

static int use_key(SSL_CTX *context, FILE *file) {
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, no_pass_phrase, NULL);
    if (key == NULL) return 0;
    int is_good = SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    return is_good;
}

static enum cossl_identity identify(SSL_CTX *context, FILE *chain, FILE *key) {
    ERR_clear_error();
    if (!use_chain(context, chain)) return COSSL_IDENTITY_BAD_CERTIFICATE;
    if (!is_short(context)) return COSSL_IDENTITY_LONG_CHAIN;
    if (use_key(context, key))
        return SSL_CTX_check_private_key(context) == 1 ? COSSL_IDENTITY_LOADED
                                                       : COSSL_IDENTITY_MISMATCH;
    enum cossl_identity trouble = COSSL_IDENTITY_BAD_KEY;
    for (unsigned long code = ERR_peek_error(); code != 0; code = ERR_get_error()) {
        int reason = ERR_GET_REASON(code);
        if (ERR_GET_LIB(code) == ERR_LIB_PEM && reason == PEM_R_BAD_PASSWORD_READ)
            trouble = COSSL_IDENTITY_ENCRYPTED_KEY;
        if (ERR_GET_LIB(code) == ERR_LIB_X509 &&
            (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH))
            trouble = COSSL_IDENTITY_MISMATCH;
    }
    return trouble;
}

enum cossl_identity cossl_tls_identify(SSL_CTX *context, int chain, int key) {
    enum cossl_identity result = COSSL_IDENTITY_BAD_CERTIFICATE;
    FILE *chain_file = fdopen(chain, "r");
    FILE *key_file = fdopen(key, "r");
    if (chain_file != NULL && key_file != NULL) result = identify(context, chain_file, key_file);
    if (chain_file != NULL) fclose(chain_file); else close(chain);
    if (key_file != NULL) fclose(key_file); else close(key);
    return result;
}

enum cossl_identity cossl_tls_identify_text(SSL_CTX *context, int chain, const char *key,
                                            size_t count) {
    enum cossl_identity result = COSSL_IDENTITY_BAD_CERTIFICATE;
    FILE *chain_file = fdopen(chain, "r");
    FILE *key_file = fmemopen((void *)key, count, "r");
    if (chain_file == NULL) close(chain);
    if (chain_file != NULL && key_file == NULL) result = COSSL_IDENTITY_BAD_KEY;
    if (chain_file != NULL && key_file != NULL) result = identify(context, chain_file, key_file);
    if (chain_file != NULL) fclose(chain_file);
    if (key_file != NULL) fclose(key_file);
    return result;
}

void cossl_tls_require_certificate(SSL_CTX *context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

int cossl_tls_peer_is(SSL *session, const char *name) {
    X509 *certificate = session == NULL ? NULL : SSL_get1_peer_certificate(session);
    if (certificate == NULL) return 0;
    unsigned flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;
    int is_named = X509_check_host(certificate, name, strlen(name), flags, NULL) == 1;
    X509_free(certificate);
    return is_named;
}

static int fingerprint(const X509 *certificate, unsigned char digest[32]) {
    unsigned count = 0;
    return certificate != NULL && X509_digest(certificate, EVP_sha256(), digest, &count) == 1 &&
           count == 32;
}

int cossl_tls_own_fingerprint(const SSL_CTX *context, unsigned char digest[32]) {
    return fingerprint(SSL_CTX_get0_certificate(context), digest);
}

int cossl_tls_peer_fingerprint(SSL *session, unsigned char digest[32]) {
    X509 *certificate = session == NULL ? NULL : SSL_get1_peer_certificate(session);
    int is_made = fingerprint(certificate, digest);
    X509_free(certificate);
    return is_made;
}

static SSL *session_over(SSL_CTX *context, int socket) {
    SSL *session = SSL_new(context);
    if (session == NULL) return NULL;
    if (SSL_set_fd(session, socket) == 1) return session;
    SSL_free(session);
    return NULL;
}

SSL *cossl_tls_accept(SSL_CTX *context, int socket) {
    SSL *session = session_over(context, socket);
    if (session != NULL) SSL_set_accept_state(session);
    return session;
}

SSL *cossl_tls_connect(SSL_CTX *context, int socket, const char *name) {
    SSL *session = session_over(context, socket);
    if (session == NULL) return NULL;
    int is_bound = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name) == 1;
    if (!is_bound)
        is_bound = SSL_set_tlsext_host_name(session, name) == 1 && SSL_set1_host(session, name);
    if (!is_bound) {
        SSL_free(session);
        return NULL;
    }
    SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set_connect_state(session);
    return session;
}

static long step(SSL *session, int result) {
    if (result > 0) return result;
    switch (SSL_get_error(session, result)) {
    case SSL_ERROR_ZERO_RETURN: return COSSL_END;
    case SSL_ERROR_WANT_READ: return COSSL_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return COSSL_WANTS_WRITE;
    default: return COSSL_FAILED;
    }
}

long cossl_tls_handshake(SSL *session) {
    ERR_clear_error();
    errno = 0;
    return step(session, SSL_do_handshake(session));
}

static int bounded(size_t count) {
    return count > 1 << 30 ? 1 << 30 : (int)count;
}

long cossl_tls_read(SSL *session, void *bytes, size_t count) {
    ERR_clear_error();
    errno = 0;
    return step(session, SSL_read(session, bytes, bounded(count)));
}

long cossl_tls_write(SSL *session, const void *bytes, size_t count) {
    ERR_clear_error();
    errno = 0;
    return step(session, SSL_write(session, bytes, bounded(count)));
}

void cossl_tls_shutdown(SSL *session) {
    ERR_clear_error();
    SSL_shutdown(session);
    ERR_clear_error();
}

void cossl_tls_reason(SSL *session, char *text, size_t size) {
    int number = errno;
    long verdict = session == NULL ? X509_V_OK : SSL_get_verify_result(session);
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);
    if (verdict != X509_V_OK)
        snprintf(text, size, "certificate not accepted: %s",
                 X509_verify_cert_error_string(verdict));
    else if (reason != NULL)
        snprintf(text, size, "%s", reason);
    else
        snprintf(text, size, "%s", number != 0 ? strerror(number) : "the peer broke off");
    ERR_clear_error();
}

static long microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

/* Called for the head of each record: its type, its version, and the length of the rest. */
static void count_record(int is_written, int version, int type, const void *bytes, size_t count,
                         SSL *session, void *owner) {
    (void)version;
    cossl_tls_gate *gate = owner;
    if (is_written) gate->written = 1;
    if (is_written || type != SSL3_RT_HEADER || count < SSL3_RT_HEADER_LENGTH) return;
    const unsigned char *head = bytes;
    if (gate->reading != session) {
        gate->reading = session;
        gate->bytes = 0;
        gate->since = microseconds();
    }
    gate->bytes += SSL3_RT_HEADER_LENGTH + ((size_t)head[3] << 8 | head[4]);
    if (gate->bytes <= gate->bytes_max || microseconds() - gate->since <= gate->microseconds_max)
        return;
    gate->cut = 1;
    SSL_set_shutdown(session, SSL_get_shutdown(session) | SSL_RECEIVED_SHUTDOWN);
}

void cossl_tls_watch(SSL_CTX *context, cossl_tls_gate *gate) {
    SSL_CTX_set_msg_callback(context, count_record);
    SSL_CTX_set_msg_callback_arg(context, gate);
}
