/* api/http/reply.h - replies: conditional requests, content codings, problems. Only the request's
 * loop may call these, unless noted. */
#pragma once

#include "api/http/problem.h"
#include "api/http/request.h"
#include "base/blob.h"

#define REPLY_CONTENT_TEXT 17

struct reply {
    int status;                /* 0: 200 */
    const char *media_type;    /* with charset; NULL: no body */
    const char *cache;         /* value of Cache-Control */
    const char *private_cache; /* the same for feeds with a credential; NULL: `cache` */
    struct str etag;           /* without its quotes; null: none */
    bool tags_content; /* the tag goes on with a hash of the body. So a copy of an older state is still good when it has the
                          same bytes */
    char content[REPLY_CONTENT_TEXT]; /* that hash, reply_content(); empty: it is not known yet */
    int64_t modified_at;       /* Last-Modified; TIME_UNKNOWN: none */
    bool is_doubtful; /* another state of the document has the same date, and the client may have
                         that one */
    bool is_undated;  /* the document changes without a change of what it shows: no Last-Modified */
    bool varies_encoding; /* there may be a gzip variant, so Vary names the encoding */
    struct str fields;    /* other fields, as complete lines; or null */
    struct blob *body;    /* borrowed, like gzip */
    struct blob *gzip;    /* NULL: there is none */
    bool (*on_empty)(struct request *req, struct reply *r); /* called first when a document has no
                                                          entries; true: it has answered */
    void *empty_ctx;
    bool is_part; /* what was to end goes on without some of it */
    int format;   /* enum feed_format, of a document (views/documents.c) */
};

#define REPLY_INIT                                                                                 \
    {                                                                                              \
        .modified_at = TIME_UNKNOWN                                                                \
    }

/* Answer the request. The answer is 304 when the client's copy is still good (GET and HEAD with
 * status 200). The tag of the gzip variant is the tag with "-gz" after it. The request is over. */
void reply_send(struct request *req, const struct reply *r);

/* Answer with `len` bytes of the file `fd` from `at` on, which is closed; or with 304. r->body is not
 * used. The request is over. */
void reply_file(struct request *req, const struct reply *r, int fd, int64_t at, int64_t len);

/* Answer 304 if If-None-Match has r->etag or the tag of its gzip variant, or, with tags_content, the tag of the same
 * bytes; the body need not be set, but is not known to be the same then. Returns true when it has answered; then the
 * request is over. */
bool reply_unmodified(struct request *req, const struct reply *r);

/* Answer with a problem, which is never cached. The request is over. */
void reply_problem(struct request *req, const struct problem *p);

/* Answer with the bytes in `out`, as a document that must not be stored, compressed when the client
 * takes that and it is neither very small nor large. `out` is emptied. */
void reply_buf(struct request *req, int status, const char *media_type, struct buf *out,
               struct str fields);

/* Write the hash of a body for tags_content. `format`: others of the same URL with these bytes have other tags. Any
 * thread. */
void reply_content(struct str body, int format, char out[REPLY_CONTENT_TEXT]);

/* Returns an entity tag of these bytes: 16 bytes in hex, in the arena. */
struct str reply_etag(struct arena *a, struct str bytes);

/* Returns the bytes compressed by gzip, or NULL when that is not worth it: they are under 1 KB, or
 * do not become smaller. Any thread. */
struct blob *reply_gzip(struct str bytes);

/* Answer with a stream of this media type and these fields (status, tag, date and body do not
 * count), as http_reply_stream(). Then the request is over. */
struct http_stream *reply_stream(struct request *req, const struct reply *r, http_stream_fn *room,
                                 http_stream_fn *gone, void *ctx) NODISCARD;
