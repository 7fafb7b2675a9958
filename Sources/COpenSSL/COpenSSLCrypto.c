// Keys, signatures and the cipher of Web Push, over OpenSSL 3.
#include "COpenSSLCrypto.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

// Without a callback OpenSSL would ask for the passphrase on the terminal.
static int refuse_passphrase(char *buffer, int size, int writing, void *asked)
{
    (void)buffer;
    (void)size;
    (void)writing;
    *(int *)asked = 1;
    return -1;
}

EVP_PKEY *ossl_read_private_pem(const uint8_t *pem, size_t count, int *is_encrypted)
{
    *is_encrypted = 0;
    BIO *bio = BIO_new_mem_buf(pem, (int)count);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, refuse_passphrase, is_encrypted);
    BIO_free(bio);
    return key;
}

EVP_PKEY *ossl_read_public_pem(const uint8_t *pem, size_t count)
{
    int asked = 0;
    BIO *bio = BIO_new_mem_buf(pem, (int)count);
    EVP_PKEY *key = PEM_read_bio_PUBKEY(bio, NULL, refuse_passphrase, &asked);
    BIO_free(bio);
    return key;
}

EVP_PKEY *ossl_read_certificate_pem(const uint8_t *pem, size_t count)
{
    int asked = 0;
    BIO *bio = BIO_new_mem_buf(pem, (int)count);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, refuse_passphrase, &asked);
    EVP_PKEY *key = certificate ? X509_get_pubkey(certificate) : NULL;
    X509_free(certificate);
    BIO_free(bio);
    return key;
}

int ossl_is_p256(const EVP_PKEY *key)
{
    char name[64];
    size_t length = 0;
    return EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, name, sizeof name, &length)
        && strcmp(name, SN_X9_62_prime256v1) == 0;
}

int ossl_rsa_bits(const EVP_PKEY *key)
{
    return EVP_PKEY_is_a(key, "RSA") ? EVP_PKEY_get_bits(key) : 0;
}

int ossl_sign(
    EVP_PKEY *key, const uint8_t *message, size_t length, uint8_t *signature, size_t *count)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestSign(context, signature, count, message, length) == 1;
    EVP_MD_CTX_free(context);
    return ok;
}

int ossl_verify(
    EVP_PKEY *key, const uint8_t *message, size_t length, const uint8_t *signature, size_t count)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = context && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestVerify(context, signature, count, message, length) == 1;
    EVP_MD_CTX_free(context);
    return ok;
}

size_t ossl_ecdsa_to_der(const uint8_t raw[64], uint8_t der[72])
{
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, 32, NULL);
    BIGNUM *s = BN_bin2bn(raw + 32, 32, NULL);
    int length = 0;
    if (signature && r && s && ECDSA_SIG_set0(signature, r, s)) {
        r = s = NULL;
        length = i2d_ECDSA_SIG(signature, &der);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(signature);
    return length > 0 ? (size_t)length : 0;
}

int ossl_ecdsa_to_raw(const uint8_t *der, size_t count, uint8_t raw[64])
{
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &der, (long)count);
    int ok = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw + 32, 32) == 32;
    ECDSA_SIG_free(signature);
    return ok;
}

EVP_PKEY *ossl_p256_generate(void)
{
    return EVP_EC_gen(SN_X9_62_prime256v1);
}

// With a scalar a private key, without one a public key.
static EVP_PKEY *p256_key(const uint8_t *point, const BIGNUM *scalar)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    int ok = context && builder
        && OSSL_PARAM_BLD_push_utf8_string(
            builder, OSSL_PKEY_PARAM_GROUP_NAME, SN_X9_62_prime256v1, 0)
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, 65)
        && (!scalar || OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, scalar));
    if (ok) parameters = OSSL_PARAM_BLD_to_param(builder);
    ok = parameters && EVP_PKEY_fromdata_init(context) == 1
        && EVP_PKEY_fromdata(
            context, &key, scalar ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, parameters) == 1;
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    return ok ? key : NULL;
}

// fromdata does not look whether the point is on the curve.
static int is_valid(EVP_PKEY *key)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    int ok = context && EVP_PKEY_public_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return ok;
}

EVP_PKEY *ossl_p256_from_point(const uint8_t point[65])
{
    EVP_PKEY *key = p256_key(point, NULL);
    if (key && is_valid(key)) return key;
    EVP_PKEY_free(key);
    return NULL;
}

EVP_PKEY *ossl_p256_from_scalar(const uint8_t scalar[32])
{
    uint8_t bytes[65];
    EVP_PKEY *key = NULL;
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    EC_POINT *point = group ? EC_POINT_new(group) : NULL;
    BIGNUM *number = BN_bin2bn(scalar, 32, NULL);
    int is_in_range = number && group && !BN_is_zero(number)
        && BN_cmp(number, EC_GROUP_get0_order(group)) < 0;
    if (point && is_in_range && EC_POINT_mul(group, point, number, NULL, NULL, NULL)
        && EC_POINT_point2oct(
               group, point, POINT_CONVERSION_UNCOMPRESSED, bytes, sizeof bytes, NULL) == 65)
        key = p256_key(bytes, number);
    BN_clear_free(number);
    EC_POINT_free(point);
    EC_GROUP_free(group);
    return key;
}

int ossl_p256_point(const EVP_PKEY *key, uint8_t point[65])
{
    size_t length = 0;
    return EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, 65, &length) == 1
        && length == 65 && point[0] == 4;
}

int ossl_p256_agree(EVP_PKEY *key, EVP_PKEY *other, uint8_t secret[32])
{
    size_t length = 32;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    int ok = context && EVP_PKEY_derive_init(context) == 1
        && EVP_PKEY_derive_set_peer(context, other) == 1
        && EVP_PKEY_derive(context, secret, &length) == 1 && length == 32;
    EVP_PKEY_CTX_free(context);
    return ok;
}

int ossl_aes128gcm_seal(
    const uint8_t key[16], const uint8_t nonce[12], const uint8_t *plain, size_t count,
    uint8_t *out)
{
    int written = 0;
    int last = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = context && EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, nonce) == 1
        && EVP_EncryptUpdate(context, out, &written, plain, (int)count) == 1
        && EVP_EncryptFinal_ex(context, out + written, &last) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, out + count) == 1;
    EVP_CIPHER_CTX_free(context);
    return ok;
}

void ossl_forget_errors(void)
{
    ERR_clear_error();
}
