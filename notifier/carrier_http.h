/* notifier/carrier_http.h - what a sink that delivers by HTTP gives its carrier. */
#pragma once

#include "net/http_client.h"

#define HTTP_LOAD_FIELDS_MAX 12 /* 4 of a webhook and HOOK_FIELDS_MAX of its subscriber */

struct http_load {
    struct str method;
    struct http_field fields[HTTP_LOAD_FIELDS_MAX]; /* including the content type */
    size_t n_fields;
};

struct carrier_answer;

/* Returns why this answer does not mean delivered, as a sentence in `a`. `who`: what the sink calls
 * its endpoint. Pure. */
struct str carrier_http_why(struct arena *a, const char *who, const struct carrier_answer *answer);
