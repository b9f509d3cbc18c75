/* api/console.c - GET / for browsers, and GET /console: the files of the console.
 *
 * They are part of the program. Their addresses have the hash of all of them, so a browser may keep
 * them for ever; the page itself is asked for each time. */
#include "api/console.h"

#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/routes.h"
#include "base/mem.h"
#include "model/paths.h"
#include "net/http_fields.h"

/* Nothing but our own files: no script in the page, no frame around it, no other origin.
 * To others no address is told; to this server it is, or a form would have the Origin "null". */
#define FIELDS                                                                                     \
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'self'; "           \
    "frame-ancestors 'none'; object-src 'none'\r\n"                                                \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Referrer-Policy: same-origin\r\n"

static struct blob *copy(const unsigned char *bytes, size_t len)
{
    return blob_new(mem_strndup((const char *)bytes, len), len);
}

static void send_file(struct request *req, const struct console_file *f, const char *cache)
{
    struct reply r = REPLY_INIT;

    r.media_type = f->media_type;
    r.cache = cache;
    r.etag = reply_etag(req->ask.arena, str_of((const char *)f->bytes, f->len));
    r.varies_encoding = true;
    r.fields = STR(FIELDS);
    r.body = copy(f->bytes, f->len);
    r.gzip = f->gzip_len > 0 ? copy(f->gzip, f->gzip_len) : NULL;
    reply_send(req, &r);
    blob_unref(&r.body);
    blob_unref(&r.gzip);
}

/* Programs that accept anything get the list of resources, as before there was a page. */
static bool wants_page(struct request *req)
{
    struct str accept = req->ask.accept;
    int html = str_ifind(accept, STR("text/html")) < 0 ? 0 : http_accept_q(accept, STR("text/html"));

    return html > 0 && (str_ifind(accept, STR("text/plain")) < 0 ||
                        html >= http_accept_q(accept, STR("text/plain")));
}

bool console_serve(struct request *req)
{
    if (n_console_files == 0 || req->route->handle != index_get)
        return false;
    req->ask.negotiated = true;
    if (!wants_page(req))
        return false;
    send_file(req, &console_files[0], "no-cache");
    return true;
}

/* A browser may have the page of another node, which has another version: it gets ours, but must not
 * keep it. */
void console_get(struct request *req)
{
    struct str path = http_request_path(req->http), hash;
    struct problem p;

    path = str_slice(path, sizeof(PATH_CONSOLE) - 1, path.len);
    str_split(&path, '/');
    hash = str_split(&path, '/');
    for (size_t i = 1; i < n_console_files; i++)
        if (str_eqz(path, console_files[i].path)) {
            send_file(req, &console_files[i],
                      str_eqz(hash, console_hash) ? "public, max-age=31536000, immutable"
                                                  : "no-cache");
            return;
        }
    problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND, "The console has no such file.");
    reply_problem(req, &p);
}
