/* origin.h - a publisher on the loopback for tests, a thread a connection, one request each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct origin;

/* What a path answers. A path without a page is 404. */
struct origin_page {
    int status;         /* 0: 200 */
    const char *fields; /* whole lines, each with CRLF; NULL: none */
    const char *body;   /* NULL: empty */
    const char *etag;   /* sent, and a request that has it gets 304 */
    const char *auth;   /* needed value of Authorization; NULL: none */
    int delay_ms;       /* before the answer */
    bool hangs;         /* never answers */
    bool endless;       /* a body without end */
};

struct origin *origin_new(void);
void origin_free(struct origin **op);

/* "http://127.0.0.1:PORT" and the path; lives until eight more calls. */
const char *origin_url(struct origin *o, const char *path);

/* Strings are copied. */
void origin_set(struct origin *o, const char *path, const struct origin_page *page);

/* Requests of this path so far, and the most of it that were open at once (NULL: of all paths). */
int origin_count(struct origin *o, const char *path);
int origin_most(struct origin *o, const char *path);

/* Request line and fields of the last request of this path; lives until the next call. */
const char *origin_last(struct origin *o, const char *path);
