/* api/http/reply.h - replies: conditional requests, content codings, problems. The request's loop
 * only. */
#pragma once

#include "api/http/problem.h"
#include "api/http/request.h"
#include "base/blob.h"

struct reply {
    int status;                /* 0: 200 */
    const char *media_type;    /* with charset; NULL: no body */
    const char *cache;         /* Cache-Control */
    const char *private_cache; /* in its place when a credential opened the feed; NULL: the same */
    struct str etag;           /* what stands between the quotes; null: none */
    int64_t modified_at;       /* Last-Modified; TIME_UNKNOWN: none */
    bool is_doubtful;          /* another state has the same date; a client may have that one */
    bool varies_encoding;      /* a gzip variant may exist: Vary says so */
    struct str fields;         /* further complete lines; null */
    struct blob *body;         /* borrowed, like gzip */
    struct blob *gzip;         /* NULL: there is none */
    bool (*on_empty)(struct request *req, struct reply *r); /* asked first when a document holds no
                                                          entries; true: taken care of */
    void *empty_ctx;
    int format; /* enum feed_format, of a document (views/documents.c) */
};

#define REPLY_INIT                                                                                 \
    {                                                                                              \
        .modified_at = TIME_UNKNOWN                                                                \
    }

/* Answer, 304 when the client's copy is good (GET and HEAD with status 200). The gzip variant has
 * its own tag: the same with "-gz" after it. Then the request is over. */
void reply_send(struct request *req, const struct reply *r);

/* Answer 304 if If-None-Match names r->etag or its gzip sibling; the body need not be known. True:
 * answered, the request is over. */
bool reply_unmodified(struct request *req, const struct reply *r);

/* Answer with a problem (never cached). The request is over. */
void reply_problem(struct request *req, const struct problem *p);

/* Answer with what is in `out`, as a document that is never stored; the buffer is emptied. */
void reply_buf(struct request *req, int status, const char *media_type, struct buf *out,
               struct str fields);

/* An entity tag (16 bytes, in hex) of these bytes, in the arena. */
struct str reply_etag(struct arena *a, struct str bytes);

/* The bytes gzipped, or NULL when that is not worth it: under 1 KB, or no gain. Any thread. */
struct blob *reply_gzip(struct str bytes);
