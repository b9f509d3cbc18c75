/* net/http_tls.h - why TLS with a server failed, in words. Any thread. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

/* Is this error of libcurl one of TLS? */
bool http_tls_is(CURLcode code);

/* What went wrong: a static text, or `detail` (libcurl's own text, borrowed) when nothing better is
 * known. `easy`: the handle whose transfer ended with `code`. */
const char *http_tls_why(CURL *easy, CURLcode code, const char *detail);

/* The same of a connection that broke after the handshake: with TLS 1.3 a server that asks for a
 * certificate refuses only then. */
const char *http_tls_broke(const char *detail);
