// The variadic options of libcurl, one function per type.
#include "CCurl.h"

#include <stddef.h>
#include <string.h>

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value)
{
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value)
{
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_reader(CURL *easy, CURLoption option, curl_write_callback function)
{
    return curl_easy_setopt(easy, option, function);
}

CURLcode ccurl_set_socket_opener(CURL *easy, curl_opensocket_callback function, void *owner)
{
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, owner);
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

CURLcode ccurl_set_socket_closer(CURL *easy, curl_closesocket_callback function, void *owner)
{
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, owner);
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}

CURLcode ccurl_set_send_check(CURL *easy, curl_prereq_callback function, void *owner)
{
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, owner);
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

CURLcode ccurl_set_tls_watcher(CURL *easy, curl_ssl_ctx_callback function, void *owner)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    if (library == NULL || strncmp(library, "OpenSSL/", 8) != 0) return CURLE_NOT_BUILT_IN;
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, owner);
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

CURLcode ccurl_set_progress(CURL *easy, curl_xferinfo_callback function, void *owner)
{
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, owner);
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
}

long ccurl_get_long(CURL *easy, CURLINFO info)
{
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_off_t ccurl_get_size(CURL *easy, CURLINFO info)
{
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_socket_t ccurl_get_socket(CURL *easy)
{
    curl_socket_t value = CURL_SOCKET_BAD;
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK
        ? value : CURL_SOCKET_BAD;
}

void *ccurl_get_owner(CURL *easy)
{
    char *owner = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner) == CURLE_OK ? owner : NULL;
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}

CURLMcode ccurl_multi_set_watcher(CURLM *multi, curl_socket_callback function, void *owner)
{
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, owner);
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}

CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback function, void *owner)
{
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, owner);
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}

CURL *ccurl_next_done(CURLM *multi, CURLcode *code)
{
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *code = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
