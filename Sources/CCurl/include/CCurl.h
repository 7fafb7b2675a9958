// CCurl: the variadic options of libcurl, one function per type, and the system calls to wait with.
#pragma once
#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
// For texts, which libcurl copies, and for pointers, which it keeps.
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value);
CURLcode ccurl_set_reader(CURL *easy, CURLoption option, curl_write_callback function);
CURLcode ccurl_set_socket_opener(CURL *easy, curl_opensocket_callback function, void *owner);
CURLcode ccurl_set_socket_closer(CURL *easy, curl_closesocket_callback function, void *owner);
CURLcode ccurl_set_send_check(CURL *easy, curl_prereq_callback function, void *owner);
// Only where libcurl uses OpenSSL: there the callback gets an SSL_CTX.
CURLcode ccurl_set_tls_watcher(CURL *easy, curl_ssl_ctx_callback function, void *owner);
CURLcode ccurl_set_progress(CURL *easy, curl_xferinfo_callback function, void *owner);

// What libcurl knows about a transfer; 0 or NULL when it does not know.
long ccurl_get_long(CURL *easy, CURLINFO info);
curl_off_t ccurl_get_size(CURL *easy, CURLINFO info);
// The socket of its connection; CURL_SOCKET_BAD: that is closed.
curl_socket_t ccurl_get_socket(CURL *easy);
void *ccurl_get_owner(CURL *easy);

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_set_watcher(CURLM *multi, curl_socket_callback function, void *owner);
CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback function, void *owner);

// The transfer that ended next and its code; NULL when there is none.
CURL *ccurl_next_done(CURLM *multi, CURLcode *code);
