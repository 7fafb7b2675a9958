// COpenSSL: what Swift cannot call of the library itself.
#pragma once
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include "COpenSSLCrypto.h"
