// COpenSSL: what Swift cannot call of the library itself.
#pragma once
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include "COpenSSLTLS.h"
#include "COpenSSLCrypto.h"
