/* api/views/left_out.c - see left_out.h. */
#include "api/views/left_out.h"

#include "base/buf.h"
#include "net/url.h"

#define FIELD_MAX 4096 /* bytes; servers between take about 8 KB of fields */

/* A String of RFC 9651: printable ASCII. */
static void put_string(struct buf *out, struct str s)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
            buf_printf(out, "%%%02X", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

/* The kind of problem that a request for this feed alone would be answered. */
static enum problem_kind why(struct request *req, const struct gathered *item)
{
    struct problem p;

    if (item->is_refused)
        return PROBLEM_ROLE;
    if (item->wait_s > 0)
        return PROBLEM_TOO_MANY;
    gather_failure(req, item->rc, item->status, item->rest_s, item->text, item->want.url, &p);
    return p.kind;
}

/* Members of sets have no URL here, and come and go by themselves. */
static bool is_left_out(const struct gathered *item)
{
    return !item->is_member && !item->ready;
}

struct str left_out_field(struct request *req, const struct gathered *items, size_t n)
{
    AUTO(buf_release) struct buf urls = BUF_INIT(BUF_ANY);
    struct arena *a = req->ask.arena;
    size_t n_out = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_left_out(&items[i]))
            continue;
        n_out++;
        if (urls.len + 3 * items[i].want.url.len > FIELD_MAX)
            continue;
        buf_puts(&urls, ", ");
        put_string(&urls, url_public(a, items[i].want.url));
        buf_printf(&urls, ";why=%s", problem_name(why(req, &items[i])));
    }
    if (n_out == 0)
        return STR_NULL;
    return str_printf(a, FEEDS_LEFT_OUT ": %zu%.*s\r\n", n_out, STR_ARG(buf_view(&urls)));
}
