/* feed/lists/changes.c - weblogUpdates documents. They are read tag by tag, for the same reasons as
 * OPML (opml.c). */
#include "feed/lists/changes.h"

#include "base/clock.h"
#include "base/mem.h"
#include "feed/read/encoding.h"
#include "feed/text/date.h"
#include "feed/text/html.h"
#include "feed/text/xml_out.h"

static struct str attr(struct arena *a, const struct html_token *t, const char *name)
{
    struct str value = str_trim(html_decode(a, html_attr_get(t, name)));

    return value.len == 0 ? STR_NULL : value;
}

/* Read the row of a weblog element. False: it does not name a site. */
static bool read_row(struct arena *a, const struct html_token *t, int64_t updated,
                     struct change_row *row)
{
    int64_t ago;

    row->url = attr(a, t, "url");
    row->rss_url = attr(a, t, "rssurl");
    row->name = attr(a, t, "name");
    if (str_is_null(row->name))
        row->name = STR("");
    if (!str_to_i64(attr(a, t, "when"), &ago) || ago < 0)
        ago = 0;
    row->when_at = updated - (ago < updated ? ago : 0);
    if (str_is_null(row->url))
        row->url = row->rss_url;
    return !str_is_null(row->url);
}

enum rc changes_read(struct arena *a, struct str body, int64_t now, struct change_row **out,
                     size_t *n_out, struct err *err)
{
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct change_row *rows = NULL, row;
    size_t n = 0, cap = 0;
    struct html_token t;
    struct decoded d;
    bool found = false;

    decode_document(a, body, STR_NULL, &d);
    html_lexer_init(lx, a, str_dup(a, d.text));
    decoded_release(&d);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind != HTML_START_TAG)
            continue;
        if (str_eqz(t.name, "weblogupdates")) {
            int64_t at;
            found = true;
            if (date_parse(attr(a, &t, "updated"), &at) && at <= now)
                now = at;
        } else if (found && str_eqz(t.name, "weblog") && read_row(a, &t, now, &row)) {
            rows = mem_grow(rows, &cap, n + 1, sizeof *rows);
            rows[n++] = row;
        }
    }
    if (!found) {
        mem_free(rows);
        return err_set(err, RC_INPUT, "not a change log: no weblogUpdates element");
    }
    *out = ARENA_ARRAY(a, struct change_row, n + 1);
    if (n > 0)
        memcpy(*out, rows, n * sizeof *rows);
    *n_out = n;
    mem_free(rows);
    return RC_OK;
}

void changes_write(struct buf *out, const struct change_row *rows, size_t n, int64_t updated_at)
{
    char text[CLOCK_TEXT];

    clock_rfc822(updated_at, text);
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<weblogUpdates version=\"2\"");
    xml_attr(out, "updated", str_from(text));
    buf_printf(out, " count=\"%zu\">\n", n);
    for (size_t i = 0; i < n; i++) {
        int64_t ago = updated_at - rows[i].when_at;
        buf_puts(out, "<weblog");
        xml_attr(out, "name", rows[i].name);
        xml_attr(out, "url", rows[i].url);
        xml_attr(out, "rssUrl", rows[i].rss_url);
        buf_printf(out, " when=\"%lld\"/>\n", (long long)(ago < 0 ? 0 : ago));
    }
    buf_puts(out, "</weblogUpdates>\n");
}
