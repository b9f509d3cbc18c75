/* tests/unit/net/http_script.c - see http_script.h. */
#include "http_script.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "net/url.h"

#define OK "HTTP/1.1 200 OK\r\n"

/* ---- answers that are not of one piece ---- */

static void say_bomb(struct origin_talk *t)
{
    static unsigned char blanks[1 << 20];
    unsigned char out[1 << 16];
    z_stream z = {0};
    bool alive = origin_sayz(t, OK "Content-Encoding: gzip\r\n\r\n");

    memset(blanks, ' ', sizeof blanks);
    ASSERT(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    for (int i = 0; i < 300 && alive; i++) {
        z.next_in = blanks;
        z.avail_in = sizeof blanks;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            deflate(&z, Z_SYNC_FLUSH);
            alive = origin_say(t, out, sizeof out - z.avail_out);
        } while (alive && z.avail_out == 0);
    }
    deflateEnd(&z);
    origin_close(t);
}

static void say_endless(struct origin_talk *t)
{
    (void)origin_sayz(t, OK "\r\n");
    while (origin_sayz(t, "more and more of the same text, "))
        ;
}

static void say_headers(struct origin_talk *t)
{
    (void)origin_sayz(t, OK);
    while (origin_sayz(t, "X-Field: some value of it\r\n"))
        ;
}

static void say_folds(struct origin_talk *t)
{
    bool alive = origin_sayz(t, OK "X-Long: a\r\n");

    for (int i = 0; i < 15000 && alive; i++)
        alive = origin_sayz(t, " a\r\n");
    (void)origin_sayz(t, "Content-Length: 0\r\n\r\n");
}

static void say_short(struct origin_talk *t)
{
    (void)origin_sayz(t, OK "Content-Length: 100\r\n\r\n0123456789");
    origin_close(t);
}

static void say_drip(struct origin_talk *t)
{
    (void)origin_sayz(t, OK "\r\n");
    origin_wait_gone(t, ".");
}

static void say_chunked(struct origin_talk *t)
{
    (void)origin_sayz(t, OK "Transfer-Encoding: chunked\r\n\r\n"
                            "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
}

static void say_nothing(struct origin_talk *t)
{
    origin_close(t);
}

/* ---- pages that depend on the request ---- */

/* "hello, hello, hello" with zlib; bits 31: gzip, 15: zlib. */
static void squeeze(struct arena *a, int bits, struct origin_page *out)
{
    static const char text[] = "hello, hello, hello";
    unsigned char *packed = arena_alloc(a, 256);
    z_stream z = {0};

    ASSERT(deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = sizeof text - 1;
    z.next_out = packed;
    z.avail_out = 256;
    ASSERT(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    *out = (struct origin_page){.fields = bits == 31 ? "Content-Encoding: gzip\r\n"
                                                     : "Content-Encoding: deflate\r\n",
                                .body = (char *)packed,
                                .body_len = z.total_out};
}

static void redirect(const struct origin_request *request, int status, struct origin_page *out)
{
    struct arena *a = request->arena;
    struct str target = url_decode(a, str_from(strchr(request->path + 4, '/') + 1), false);

    *out = (struct origin_page){.status = status,
                                .fields = str_printf(a, "Location: %.*s\r\n", STR_ARG(target)).ptr,
                                .body = "go there"};
}

static void challenge(const struct origin_request *request, const char *scheme, const char *fields,
                      struct origin_page *out)
{
    const char *field = strcasestr(request->head, "\r\nAuthorization: ");

    if (field == NULL || strncasecmp(field + 17, scheme, strlen(scheme)) != 0)
        *out = (struct origin_page){.status = 401, .fields = fields, .body = "who are you?"};
    else
        *out = (struct origin_page){.body = field + 17, .body_len = strcspn(field + 17, "\r")};
}

static const struct {
    const char *path;
    struct origin_page page;
} pages[] = {
    {"/ok", {.fields = "Content-Type: text/plain\r\nX-Two: a\r\nx-two: b\r\n", .body = "hello"}},
    {"/empty", {.status = 200}},
    {"/304", {.status = 304, .fields = "ETag: \"x\"\r\n"}},
    {"/badgzip", {.fields = "Content-Encoding: gzip\r\n", .body = "this is not gzip at all"}},
    {"/bomb", {.speaks = say_bomb}},
    {"/endless", {.speaks = say_endless}},
    {"/headers", {.speaks = say_headers}},
    {"/folds", {.speaks = say_folds}},
    {"/short", {.speaks = say_short}},
    {"/close", {.speaks = say_nothing}},
    {"/slow", {.hangs = true}},
    {"/drip", {.speaks = say_drip}},
    {"/chunked", {.speaks = say_chunked}},
};

_Atomic bool http_script_wants_digest, http_script_refuses;

void http_script(void *ctx UNUSED, const struct origin_request *request, struct origin_page *out)
{
    const char *path = request->path;
    int status;

    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (strcmp(path, pages[i].path) == 0)
            *out = pages[i].page;
    if (strncmp(path, "/echo", 5) == 0)
        *out = (struct origin_page){
            .body = str_printf(request->arena, "%s\r\n%s", request->head, request->body).ptr};
    else if (sscanf(path, "/to/%d/", &status) == 1)
        redirect(request, status, out);
    else if (strcmp(path, "/gzip") == 0)
        squeeze(request->arena, 31, out);
    else if (strcmp(path, "/deflate") == 0)
        squeeze(request->arena, 15, out);
    else if (strcmp(path, "/basic") == 0)
        challenge(request, http_script_refuses ? "-" : "Basic ", "WWW-Authenticate: Basic realm=\"x\"\r\n", out);
    else if (strcmp(path, "/either") == 0 && http_script_wants_digest)
        challenge(request, "Digest ", "WWW-Authenticate: Digest realm=\"x\", nonce=\"n1\"\r\n",
                  out);
    else if (strcmp(path, "/either") == 0)
        challenge(request, "Basic ", "WWW-Authenticate: Basic realm=\"x\"\r\n", out);
    else if (strcmp(path, "/digest") == 0)
        challenge(request, "Digest ",
                  "WWW-Authenticate: Digest realm=\"x\", nonce=\"n1\", qop=\"auth\"\r\n"
                  "WWW-Authenticate: Basic realm=\"x\"\r\n",
                  out);
}
