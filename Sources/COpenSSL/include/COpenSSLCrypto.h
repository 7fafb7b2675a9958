// COpenSSL, keys and ciphers: what would be macros, variadics or a page of pointers in Swift.
#pragma once
#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>

// A key read from PEM without ever asking for a passphrase. NULL when it cannot be read, then
// *is_encrypted tells whether a passphrase would have been needed.
EVP_PKEY *ossl_read_private_pem(const uint8_t *pem, size_t count, int *is_encrypted);
EVP_PKEY *ossl_read_public_pem(const uint8_t *pem, size_t count);
// The public key inside a certificate.
EVP_PKEY *ossl_read_certificate_pem(const uint8_t *pem, size_t count);

// Whether the key is an elliptic one on P-256, and the bits of an RSA key (0 for another one).
int ossl_is_p256(const EVP_PKEY *key);
int ossl_rsa_bits(const EVP_PKEY *key);

// SHA-256 with ECDSA or RSASSA-PKCS1-v1_5, by the kind of key. *count is the room in signature and
// then its length. 1 on success.
int ossl_sign(
    EVP_PKEY *key, const uint8_t *message, size_t length, uint8_t *signature, size_t *count);
int ossl_verify(
    EVP_PKEY *key, const uint8_t *message, size_t length, const uint8_t *signature, size_t count);

// ECDSA signatures between DER and the 64 bytes of RFC 7518 section 3.4. ossl_ecdsa_to_der returns
// the length written to der (at most 72), 0 on failure; ossl_ecdsa_to_raw returns 1 on success.
size_t ossl_ecdsa_to_der(const uint8_t raw[64], uint8_t der[72]);
int ossl_ecdsa_to_raw(const uint8_t *der, size_t count, uint8_t raw[64]);

// P-256 keys as a fresh pair, from a 65-byte uncompressed point, and from a 32-byte scalar with its
// point. NULL on failure, also when the point is not on the curve.
EVP_PKEY *ossl_p256_generate(void);
EVP_PKEY *ossl_p256_from_point(const uint8_t point[65]);
EVP_PKEY *ossl_p256_from_scalar(const uint8_t scalar[32]);
// The uncompressed point of a P-256 key. 1 on success.
int ossl_p256_point(const EVP_PKEY *key, uint8_t point[65]);
// The shared secret of a P-256 pair and another's public key. 1 on success.
int ossl_p256_agree(EVP_PKEY *key, EVP_PKEY *other, uint8_t secret[32]);

// AES-128-GCM without additional data: out gets count + 16 bytes, the tag at its end. 1 on success.
int ossl_aes128gcm_seal(
    const uint8_t key[16], const uint8_t nonce[12], const uint8_t *plain, size_t count,
    uint8_t *out);

// Empties the thread's queue of errors: TLS code of the same thread looks at it.
void ossl_forget_errors(void);
