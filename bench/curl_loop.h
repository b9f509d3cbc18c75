/* bench/curl_loop.h - the limit of the fetch and push rows: libcurl's multi interface in a plain
 * perform-and-poll loop that does nothing with what it gets. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct curl_loop {
    size_t at_once;
    size_t connections;                 /* kept open at most */
    struct str body;                    /* to POST as text/xml; null: GET */
    const char *(*next_url)(void *ctx); /* NULL ends it; the text is copied */
    void *ctx;
    size_t bytes; /* received, for the caller */
};

/* Run transfers until next_url() has no more; how many there were. Ends the program when one fails.
 */
size_t curl_loop_run(struct curl_loop *l);
