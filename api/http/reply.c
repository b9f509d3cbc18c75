/* api/http/reply.c - see reply.h. Every answer of the API is sent from here. */
#include "api/http/reply.h"

#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "api/http/current.h"
#include "api/http/negotiate.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/http_fields.h"

#define GZIP_LEAST 1024
#define GZIP_LEVEL 5
#define GZIP_SUFFIX "-gz"
#define GZIP_ON_LOOP (64 * 1024) /* less than a millisecond; more would hold up others on the loop */
#define FIELDS_MAX (256 * 1024)
#define FIELDS_USUAL 512 /* room for them, so that the buffer need not grow step by step */

void reply_content(struct str body, int format, char out[REPLY_CONTENT_TEXT])
{
    unsigned char hash[16];

    digest_content(body, hash);
    hash[0] = (unsigned char)(hash[0] + format);
    digest_hex(hash, (REPLY_CONTENT_TEXT - 1) / 2, out);
}

struct str reply_etag(struct arena *a, struct str bytes)
{
    unsigned char hash[16];
    char *hex = arena_alloc(a, 33);

    digest_content(bytes, hash);
    digest_hex(hash, sizeof(hash), hex);
    return str_of(hex, 32);
}

struct blob *reply_gzip(struct str bytes)
{
    z_stream z = {0};
    uLong bound;
    char *out;
    int rc;

    if (bytes.len < GZIP_LEAST || bytes.len > UINT32_MAX / 2 ||
        deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    bound = deflateBound(&z, (uLong)bytes.len);
    out = mem_alloc(bound);
    z.next_in = (unsigned char *)(uintptr_t)bytes.ptr; /* zlib's API is not const */
    z.avail_in = (uInt)bytes.len;
    z.next_out = (unsigned char *)out;
    z.avail_out = (uInt)bound;
    rc = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    if (rc != Z_STREAM_END || z.total_out >= bytes.len) {
        mem_free(out);
        return NULL;
    }
    out = mem_realloc(out, z.total_out); /* the upper bound was about the size of the input */
    return blob_new(out, z.total_out);
}

/* May pages of --cors-origin read the answer? A call of a tool is a POST, and its answer is all
 * there is to it. */
static bool is_reading(const struct request *req)
{
    struct str method = http_request_method(req->http);

    return str_eqz(method, "GET") || str_eqz(method, "HEAD") ||
           str_eqz(http_request_path(req->http), PATH_MCP);
}

static void put_field(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_puts(out, value);
    buf_puts(out, "\r\n");
}

/* What a page of another origin may read; it cannot see more than a few fields without being told. */
static void put_cors(struct buf *out, const struct request *req)
{
    buf_printf(out,
               "Access-Control-Allow-Origin: %.*s\r\n"
               "Access-Control-Expose-Headers: ETag, Feeds-Left-Out, IM, Link, Location, RateLimit-Limit, "
               "RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id\r\n",
               STR_ARG(req->ask.cfg->cors_origin));
}

/* The fields of all answers: what the caller's rate leaves; a URL with a token must not go to
 * other sites; and what a page of another origin may read. */
static void put_common(struct buf *out, const struct request *req)
{
    if (!str_is_null(req->ask.cfg->cors_origin) && is_reading(req))
        put_cors(out, req);
    if (req->has_rate)
        buf_printf(
            out, "RateLimit-Limit: %lld\r\nRateLimit-Remaining: %lld\r\nRateLimit-Reset: %lld\r\n",
            (long long)req->ask.caller.rate, (long long)req->rate_left.n,
            (long long)req->rate_left.full_s);
    if (req->has_key)
        buf_puts(out, "Referrer-Policy: no-referrer\r\n");
}

/* The fields that 200 and 304 have in common (RFC 9110 §15.4.5). */
static void put_fields(struct buf *out, struct request *req, const struct reply *r, struct str tag)
{
    char date[CLOCK_TEXT];

    if (!str_is_null(tag)) {
        buf_puts(out, "ETag: \"");
        buf_str(out, tag);
        buf_puts(out, "\"\r\n");
    }
    if (r->modified_at != TIME_UNKNOWN) {
        clock_http_date(r->modified_at, date);
        put_field(out, "Last-Modified: ", date);
    }
    if (r->cache != NULL)
        put_field(out, "Cache-Control: ", r->cache);
    if (req->ask.negotiated || r->varies_encoding)
        put_field(out, "Vary: ",
                  !req->ask.negotiated  ? "Accept-Encoding"
                  : !r->varies_encoding ? "Accept"
                                        : "Accept, Accept-Encoding");
    put_common(out, req);
    buf_str(out, r->fields);
}

static void send_unmodified(struct request *req, const struct reply *r, struct str tag)
{
    AUTO(buf_release) struct buf fields = BUF_INIT(FIELDS_MAX);

    (void)buf_reserve(&fields, FIELDS_USUAL + r->fields.len);
    put_fields(&fields, req, r, tag);
    http_reply(req->http, 304, buf_view(&fields), NULL);
}

/* The tag of the answer, or of its gzip variant. Arena. */
static struct str tag_of(struct request *req, const struct reply *r, bool gzip)
{
    char *tag, *end;

    if (str_is_null(r->etag))
        return STR_NULL;
    tag = arena_alloc(req->ask.arena, r->etag.len + REPLY_CONTENT_TEXT + sizeof GZIP_SUFFIX);
    end = mempcpy(tag, r->etag.ptr, r->etag.len);
    if (r->content[0] != '\0') {
        *end++ = '-';
        end = mempcpy(end, r->content, REPLY_CONTENT_TEXT - 1);
    }
    if (gzip)
        end = mempcpy(end, GZIP_SUFFIX, sizeof GZIP_SUFFIX - 1);
    return str_of(tag, (size_t)(end - tag));
}

/* Is it written as our tags are? It is sent back. */
static bool is_ours(struct str tag)
{
    for (size_t i = 0; i < tag.len; i++) {
        char c = tag.ptr[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'))
            return false;
    }
    return true;
}

/* Is it the tag of a copy that is still good? What comes after our tag is the hash of the same bytes. If it is the tag
 * of an older state, it must end with the hash of what would be sent now. */
static bool is_good(const struct reply *r, struct str tag)
{
    struct str content = str_from(r->content);

    if (str_ends(tag, STR(GZIP_SUFFIX)))
        tag.len -= strlen(GZIP_SUFFIX);
    if (str_eq(tag, r->etag))
        return true;
    if (!r->tags_content || tag.len <= REPLY_CONTENT_TEXT || tag.ptr[tag.len - REPLY_CONTENT_TEXT] != '-' ||
        !is_ours(tag))
        return false;
    if (tag.len == r->etag.len + REPLY_CONTENT_TEXT && str_starts(tag, r->etag))
        return true;
    return content.len > 0 && str_ends(tag, content);
}

bool reply_unmodified(struct request *req, const struct reply *r)
{
    struct str list = http_request_field(req->http, "if-none-match"), tag;

    if (str_is_null(list) || str_is_null(r->etag) || !is_reading(req))
        return false;
    if (str_eqz(str_trim(list), "*")) {
        if (r->tags_content && r->content[0] == '\0')
            return false; /* the tag of the answer is not known yet */
        send_unmodified(req, r, tag_of(req, r, negotiate_gzip(http_request_field(req->http, "accept-encoding"))));
        return true;
    }
    while (http_etag_next(&list, &tag))
        if (is_good(r, tag)) { /* caches renew the copy with the tag of the answer */
            send_unmodified(req, r, tag);
            return true;
        }
    return false;
}

/* If-Modified-Since counts only without If-None-Match. A date that cannot be read counts as missing
 * (RFC 9110 §13.1.3). */
static bool is_unmodified_since(struct request *req, const struct reply *r)
{
    struct str value = http_request_field(req->http, "if-modified-since");
    int64_t since;

    if (str_is_null(value) || r->modified_at == TIME_UNKNOWN ||
        !str_is_null(http_request_field(req->http, "if-none-match")))
        return false;
    since = http_date(value);
    return since != TIME_UNKNOWN && r->modified_at + (r->is_doubtful ? 1 : 0) <= since;
}

static bool is_taken(struct request *req, const struct reply *r, const struct problem *p)
{
    request_taker_fn *taker = req->taker;

    req->taker = NULL;
    if (taker != NULL)
        taker(req, r, p);
    return taker != NULL;
}

void reply_send(struct request *req, const struct reply *r)
{
    bool gzip = r->gzip != NULL && negotiate_gzip(http_request_field(req->http, "accept-encoding"));
    int status = r->status == 0 ? 200 : r->status;
    AUTO(buf_release) struct buf fields = BUF_INIT(FIELDS_MAX);

    if (is_taken(req, r, NULL))
        return;
    (void)buf_reserve(&fields, FIELDS_USUAL + r->fields.len);
    if (status == 200 && is_reading(req)) {
        if (reply_unmodified(req, r))
            return;
        if (is_unmodified_since(req, r)) {
            send_unmodified(req, r, tag_of(req, r, gzip));
            return;
        }
    }
    if (r->media_type != NULL)
        put_field(&fields, "Content-Type: ", r->media_type);
    if (gzip)
        buf_puts(&fields, "Content-Encoding: gzip\r\n");
    put_fields(&fields, req, r, tag_of(req, r, gzip));
    http_reply(req->http, status, buf_view(&fields), blob_ref(gzip ? r->gzip : r->body));
}

void reply_file(struct request *req, const struct reply *r, int fd, int64_t at, int64_t len)
{
    AUTO(buf_release) struct buf fields = BUF_INIT(FIELDS_MAX);

    if (reply_unmodified(req, r)) {
        close(fd);
        return;
    }
    put_field(&fields, "Content-Type: ", r->media_type);
    put_fields(&fields, req, r, r->etag);
    http_reply_file(req->http, r->status == 0 ? 200 : r->status, buf_view(&fields), fd, at, len);
}

void reply_problem(struct request *req, const struct problem *p)
{
    AUTO(buf_release) struct buf fields = BUF_INIT(FIELDS_MAX);
    struct buf body = BUF_INIT(BUF_ANY);
    struct problem told = *p;
    size_t len;
    char *bytes;

    if (current_again(req, p) || is_taken(req, NULL, p))
        return;
    told.request = http_request_id(req->http);
    problem_write(&body, &told);
    buf_puts(&fields, "Content-Type: " MEDIA_PROBLEM "\r\nCache-Control: no-store\r\n");
    if (p->retry_after_s > 0)
        buf_printf(&fields, "Retry-After: %d\r\n", p->retry_after_s);
    put_common(&fields, req);
    buf_str(&fields, p->fields);
    log_debug("api", "problem", "status=%d problem=%s detail=%s", problem_status(p),
              problem_name(p->kind), log_quote(p->detail));
    bytes = buf_detach(&body, &len);
    http_reply(req->http, problem_status(p), buf_view(&fields), blob_new(bytes, len));
}

void reply_buf(struct request *req, int status, const char *media_type, struct buf *out,
               struct str fields)
{
    struct reply r = REPLY_INIT;
    size_t len;
    char *bytes = buf_detach(out, &len);

    r.status = status;
    r.media_type = media_type;
    r.cache = "no-store";
    r.fields = fields;
    r.body = blob_new(bytes, len);
    r.varies_encoding = len >= GZIP_LEAST && len <= GZIP_ON_LOOP;
    if (r.varies_encoding && negotiate_gzip(http_request_field(req->http, "accept-encoding")))
        r.gzip = reply_gzip(blob_bytes(r.body));
    reply_send(req, &r);
    blob_unref(&r.gzip);
    blob_unref(&r.body);
}

struct http_stream *reply_stream(struct request *req, const struct reply *r, http_stream_fn *room,
                                 http_stream_fn *gone, void *ctx)
{
    AUTO(buf_release) struct buf fields = BUF_INIT(FIELDS_MAX);

    put_field(&fields, "Content-Type: ", r->media_type);
    put_fields(&fields, req, r, r->etag);
    return http_reply_stream(req->http, 200, buf_view(&fields), room, gone, ctx);
}
