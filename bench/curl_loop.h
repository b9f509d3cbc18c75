/* bench/curl_loop.h - the limit of the rows `fetch` and `push`: libcurl's multi interface in a
 * plain perform-and-poll loop that drops what it gets. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct curl_loop {
    size_t at_once;
    size_t connections;                 /* at most so many are kept open */
    struct str body;                    /* to POST; null: GET */
    const char *const *lines;           /* of the header; the last one is NULL */
    long status;                        /* that each answer must have; 0: 200 */
    const char *(*next_url)(void *ctx); /* NULL ends the loop; the text is copied */
    void *ctx;
    size_t bytes; /* result: bytes received */
};

/* Run transfers until next_url() has no more. Returns how many there were. Ends the program when
 * one fails. */
size_t curl_loop_run(struct curl_loop *l);
