/* api/enclosure.c - GET /enclosure/SHA256/NAME: a mirrored file (mirror/). It is found and opened
 * on a reader thread, and sent from the disk by the loop. What the file is named by never changes,
 * so it may be kept for ever. */
#include "api/http/handlers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "api/http/reply.h"
#include "api/http/task.h"
#include "base/log.h"
#include "model/mirror.h"
#include "model/paths.h"
#include "net/http_fields.h"
#include "storage/mirrors.h"

#define FOR_EVER "public, max-age=31536000, immutable"
#define FOR_EVER_PRIVATE "private, max-age=31536000, immutable"
/* A page or picture with scripts can do nothing. What has a page of its own cannot be in a sandbox:
 * there no file is its own, so Chromium would not play it. */
#define NOSNIFF "X-Content-Type-Options: nosniff\r\n"
#define SHOWN                                                                                      \
    NOSNIFF "Content-Security-Policy: default-src 'none'; media-src 'self'; img-src 'self'; "      \
            "style-src 'unsafe-inline'\r\n"
#define HARMLESS NOSNIFF "Content-Security-Policy: sandbox; default-src 'none'\r\n"

struct enclosure { /* in the task's arena */
    struct str sha256, name;
    int fd;         /* -1: none */
    bool is_lost;   /* somebody has deleted it, or it comes once more */
    bool is_broken; /* nobody knows: the folder cannot be read, or is not the mirror's */
    struct mirrored row;
};

static void dispose(struct task *t)
{
    struct enclosure *e = t->data;

    if (e->fd >= 0)
        close(e->fd);
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct enclosure *e = t->data;
    enum mirror_file_state state;

    t->rc = reader_mirror_file(r, e->sha256, &t->arena, &e->row, &t->err);
    if (t->rc != RC_OK || e->row.state != MIRROR_STORED) {
        e->is_lost = t->rc == RC_OK && e->row.state == MIRROR_WAITING; /* it was stored before */
        return TASK_ENDS;
    }
    state = mirror_file_open(t->cfg->mirror_dir, e->sha256, e->row.size, &e->fd);
    e->is_lost = state == MIRROR_FILE_LOST;
    e->is_broken = state == MIRROR_FILE_BROKEN;
    if (e->is_broken && errno != ENOENT) /* the mirror tells of a folder that is not there */
        log_warn("mirror", "file_broken", "sha256=%.*s error=%s effect=not_served", STR_ARG(e->sha256),
                 log_quote(str_from(strerror(errno))));
    return TASK_ENDS;
}

/* May a browser show it in a page of its own? No browser shows a PDF that may do nothing. */
static bool is_shown(struct str type)
{
    return str_istarts(type, STR("audio/")) || str_istarts(type, STR("video/")) ||
           (str_istarts(type, STR("image/")) && !str_istarts(type, STR("image/svg")));
}

#define AGAIN_S 30 /* a file may be here again then */

static void reply_later(struct request *req, const char *why)
{
    struct problem p;

    problem_set(&p, req->ask.arena, PROBLEM_BUSY, "%s", why);
    p.retry_after_s = AGAIN_S;
    reply_problem(req, &p);
}

static void reply_missing(struct request *req, const struct task *t)
{
    const struct enclosure *e = t->data;
    struct problem p;

    if (t->rc == RC_OK && e->row.state == MIRROR_DROPPED)
        problem_set(&p, req->ask.arena, PROBLEM_GONE,
                    "The file was here, and has left: %.*s.", STR_ARG(e->row.error));
    else if (t->rc == RC_OK || t->rc == RC_NOT_FOUND)
        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND, "There is no such file.");
    else
        problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    reply_problem(req, &p);
}

/* The origin has it, and the mirror fetches it once more. Its URL may hold the secret of a private
 * feed, so only callers who may see all feeds are told it; a client that knows the digest may not be one. */
static void reply_origin(struct request *req, struct task *t)
{
    struct enclosure *e = t->data;
    struct reply r = REPLY_INIT;

    t->api->ports.mirror_used(t->api->ports.ctx, e->sha256, e->row.state == MIRROR_STORED);
    if (!caller_sees_all(&req->ask.caller)) {
        reply_later(req, "The file is fetched once more.");
        return;
    }
    r.status = 302;
    r.cache = "no-store";
    r.fields = str_printf(req->ask.arena, "Location: %.*s\r\n", STR_ARG(e->row.url));
    reply_send(req, &r);
}

/* Which bytes are wanted. */
static enum http_range range_of(struct request *req, const struct enclosure *e, struct str etag,
                                int64_t *first, int64_t *last)
{
    struct str condition = http_request_field(req->http, "if-range");
    struct str range = http_request_field(req->http, "range");

    if (str_eqz(http_request_method(req->http), "HEAD") ||
        (!str_is_null(condition) && !str_eq(str_trim(condition), etag)))
        range = STR_NULL; /* ranges are for GET; or the client has a part of something else */
    return http_range(range, e->row.size, first, last);
}

static void reply_no_range(struct request *req, const struct enclosure *e)
{
    struct problem p;

    problem_set(&p, req->ask.arena, PROBLEM_RANGE, "The file has %" PRId64 " bytes.", e->row.size);
    p.fields = str_printf(req->ask.arena, "Content-Range: bytes */%" PRId64 "\r\n", e->row.size);
    reply_problem(req, &p);
}

/* Does the client want another file only? (RFC 9110, 13.1.1. The tag names the bytes, so a weak form of it
 * means the same.) */
static bool is_refused(struct request *req, const struct enclosure *e, struct str etag)
{
    struct str wanted = http_request_field(req->http, "if-match");
    struct problem p;

    if (str_is_null(wanted) || http_etag_matches(wanted, etag))
        return false;
    problem_set(&p, req->ask.arena, PROBLEM_PRECONDITION, "The file has the entity tag \"%.*s\".",
                STR_ARG(e->sha256));
    reply_problem(req, &p);
    return true;
}

/* The parameters of Content-Disposition (RFC 6266): a name that is not ASCII stands in both forms. */
static struct str filename(struct arena *a, struct str name)
{
    char *plain = arena_alloc(a, name.len + 1);
    bool is_ascii = true;
    size_t n = 0;

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        is_ascii &= c < 0x80;
        if (c < 0x80 || c >= 0xc0) /* one for each character */
            plain[n++] = c < 0x80 ? (char)c : '_';
    }
    return is_ascii ? str_printf(a, "filename=\"%.*s\"", STR_ARG(name))
                    : str_printf(a, "filename=\"%.*s\"; filename*=UTF-8''%.*s", (int)n, plain,
                                 STR_ARG(mirror_name_encoded(a, name)));
}

static void done(struct task *t, struct request *req)
{
    struct enclosure *e = t->data;
    struct arena *a = req->ask.arena;
    struct reply r = REPLY_INIT;
    int64_t first, last;
    enum http_range range;
    struct str fields, etag;
    bool shown = is_shown(e->row.type);
    int fd = e->fd;

    if (t->rc == RC_OK && e->is_lost) {
        reply_origin(req, t);
        return;
    }
    if (t->rc == RC_OK && e->is_broken) {
        reply_later(req, "The folder of mirrored files cannot be read.");
        return;
    }
    if (t->rc != RC_OK || fd < 0) {
        reply_missing(req, t);
        return;
    }
    etag = str_printf(a, "\"%.*s\"", STR_ARG(e->sha256));
    if (is_refused(req, e, etag))
        return;
    range = range_of(req, e, etag, &first, &last);
    r.etag = e->sha256;
    if (range == RANGE_NONE) {
        if (!reply_unmodified(req, &r))
            reply_no_range(req, e);
        return;
    }
    r.media_type = str_z(a, e->row.type);
    r.cache = ask_is_private(&req->ask) ? FOR_EVER_PRIVATE : FOR_EVER;
    fields = str_printf(a, "Accept-Ranges: bytes\r\nContent-Disposition: %s; %.*s\r\n%s",
                        shown ? "inline" : "attachment", STR_ARG(filename(a, e->name)),
                        shown ? SHOWN : HARMLESS);
    r.fields = fields;
    t->api->ports.mirror_used(t->api->ports.ctx, e->sha256, false);
    if (range == RANGE_PART && reply_unmodified(req, &r)) /* it has no Content-Range (RFC 9110, 14.4) */
        return;
    r.status = range == RANGE_PART ? 206 : 200;
    if (range == RANGE_PART)
        r.fields = str_printf(a, "Content-Range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n%.*s", first, last,
                              e->row.size, STR_ARG(fields));
    e->fd = -1;
    reply_file(req, &r, fd, first, last - first + 1);
}

void enclosure_get(struct request *req)
{
    struct str rest = http_request_path(req->http), sha256;
    struct enclosure *e;
    struct task *t;

    rest = str_slice(rest, sizeof PATH_ENCLOSURE - 1, rest.len);
    if (str_starts(rest, STR("/")))
        rest = str_slice(rest, 1, rest.len);
    sha256 = str_split(&rest, '/');
    if (req->ask.cfg->mirror_dir.len == 0 || !mirror_is_digest(sha256)) {
        struct problem p;

        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND, "There is no such file.");
        reply_problem(req, &p);
        return;
    }
    t = task_new(req, work, done);
    e = ARENA_NEW(&t->arena, struct enclosure);
    e->fd = -1;
    e->sha256 = str_dup(&t->arena, sha256);
    while (str_chr(rest, '/') >= 0)
        (void)str_split(&rest, '/');
    e->name = mirror_name_safe(&t->arena, rest);
    t->data = e;
    t->dispose = dispose;
    task_start(t);
}
