/* notifier/xmpp_message.c - see xmpp_message.h. */
#include "notifier/xmpp_message.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/digest.h"
#include "feed/text/xml_out.h"
#include "feed/text/xmpp_settings.h"
#include "model/cursor.h"
#include "net/component.h"
#include "net/url.h"

/* The node that is named: the one that was subscribed to, or that of the feed. */
static struct str node_of(struct arena *a, const struct sink_push *push)
{
    struct err ignored = ERR_INIT;
    struct str node;

    if (xmpp_settings_read(a, push->settings, &node, &ignored) == RC_OK && !str_is_null(node))
        return node;
    return str_concat(a, STR("smart?url="), url_encode(a, push->url));
}

struct str xmpp_message_id(struct arena *a, const struct sink_push *push)
{
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[DIGEST_SHA256_LEN];
    char hex[2 * DIGEST_SHA256_LEN + 1];

    buf_printf(&all, "%.*s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
               STR_ARG(push->log_id), push->sub_id, push->generation, push->dead_id, push->prev.seq,
               push->last.seq);
    for (size_t i = 0; i < push->n; i++)
        buf_printf(&all, " %" PRId64, push->revisions[i].seq);
    digest_sha256(buf_view(&all), digest);
    digest_hex(digest, 16, hex);
    return str_printf(a, "fm-%s", hex);
}

size_t xmpp_items_write(struct buf *out, const struct item_text *items, size_t n, size_t max)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = out->len;

        buf_puts(out, "<item");
        xml_attr(out, "id", items[i].id);
        buf_putc(out, '>');
        buf_str(out, items[i].xml);
        buf_puts(out, "</item>");
        if (i > 0 && out->len > max) {
            out->len = len;
            return i;
        }
    }
    return n;
}

static void write_header(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "<header name=\"%s\">%s</header>", name, value);
}

static void write_headers(struct buf *out, const struct sink_push *push, int64_t n_total)
{
    char total[24], prev[CURSOR_TEXT], last[CURSOR_TEXT];

    snprintf(total, sizeof total, "%" PRId64, n_total);
    cursor_write(prev, push->log_id, push->prev.seq, push->prev.at_us);
    cursor_write(last, push->log_id, push->last.seq, push->last.at_us);
    buf_puts(out, "<headers xmlns=\"http://jabber.org/protocol/shim\">");
    if (n_total >= 0)
        write_header(out, "TotalItems", total);
    write_header(out, "PreviousCursor", prev);
    write_header(out, "LastCursor", last);
    buf_puts(out, "</headers>");
}

enum rc xmpp_message_write(struct arena *a, const struct xmpp_message *m, struct buf *out,
                           struct err *err)
{
    buf_puts(out, "<message type=\"headline\"");
    xml_attr(out, "id", xmpp_message_id(a, m->push));
    xml_attr(out, "from", m->from);
    xml_attr(out, "to", m->to);
    buf_puts(out, ">");
    if (m->push->n == 0)
        buf_puts(out, "<body>This is a test of a subscription. Nothing is new.</body>");
    buf_puts(out, "<event xmlns=\"http://jabber.org/protocol/pubsub#event\"><items");
    xml_attr(out, "node", node_of(a, m->push));
    buf_putc(out, '>');
    buf_str(out, m->items);
    buf_puts(out, "</items></event>");
    write_headers(out, m->push, m->total);
    buf_puts(out, "</message>");
    if (buf_ok(out) && out->len <= COMPONENT_STANZA_MAX)
        return RC_OK;
    return err_set(err, RC_LIMIT, "it makes a message of more than %zu bytes",
                   COMPONENT_STANZA_MAX);
}
