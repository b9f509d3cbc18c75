/* notifier/sink_xmpp.c - Smart Feeds over XMPP: messages of type headline with an event of
 * publish-subscribe (XEP-0060), and the cursors in headers (XEP-0131).
 *
 * What the server of the receiver has counts as delivered: servers drop a headline when its
 * receiver is not online, and tell nobody. The receiver sees it from PreviousCursor (docs/
 * delivery.md). The id of a message is the same in each try. */
#include <inttypes.h>
#include <stdio.h>

#include "base/digest.h"
#include "feed/text/xml_out.h"
#include "feed/text/xmpp_settings.h"
#include "model/cursor.h"
#include "net/component.h"
#include "net/jid.h"
#include "notifier/carrier_xmpp.h"
#include "notifier/sink.h"

#define FRAME_MAX ((size_t)48 * 1024) /* what an item's message may have beside it */

/* The node that is named: the one that was subscribed to, or that of the feed. */
static struct str node_of(struct arena *a, const struct sink_push *push)
{
    struct err ignored = ERR_INIT;
    struct str node;

    if (xmpp_settings_read(a, push->settings, &node, &ignored) == RC_OK && !str_is_null(node))
        return node;
    return str_concat(a, STR("smart?url="), url_encode(a, push->url));
}

/* Returns the id of the message. It follows from what is delivered to whom. */
static struct str id_of(struct arena *a, const struct sink_push *push)
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

static void write_header(struct buf *body, const char *name, const char *value)
{
    buf_printf(body, "<header name=\"%s\">%s</header>", name, value);
}

static void write_headers(struct buf *body, const struct sink_push *push)
{
    char total[24], prev[CURSOR_TEXT], last[CURSOR_TEXT];

    snprintf(total, sizeof total, "%" PRId64, push->drawn.total);
    cursor_write(prev, push->log_id, push->prev.seq, push->prev.at_us);
    cursor_write(last, push->log_id, push->last.seq, push->last.at_us);
    buf_puts(body, "<headers xmlns=\"http://jabber.org/protocol/shim\">");
    write_header(body, "TotalItems", total);
    write_header(body, "PreviousCursor", prev);
    write_header(body, "LastCursor", last);
    buf_puts(body, "</headers>");
}

static enum rc xmpp_body(struct arena *a, const struct sink_push *push, struct buf *body,
                         struct err *err)
{
    buf_puts(body, "<message type=\"headline\"");
    xml_attr(body, "id", id_of(a, push));
    xml_attr(body, "from", push->sender);
    xml_attr(body, "to", jid_of_url(a, push->endpoint));
    buf_puts(body, ">");
    if (push->n == 0)
        buf_puts(body, "<body>This is a test of a subscription. Nothing is new.</body>");
    buf_puts(body, "<event xmlns=\"http://jabber.org/protocol/pubsub#event\"><items");
    xml_attr(body, "node", node_of(a, push));
    buf_putc(body, '>');
    for (size_t i = 0; i < push->n; i++) {
        buf_puts(body, "<item");
        xml_attr(body, "id", push->drawn.items[i].id);
        buf_putc(body, '>');
        buf_str(body, push->drawn.items[i].xml);
        buf_puts(body, "</item>");
    }
    buf_puts(body, "</items></event>");
    write_headers(body, push);
    buf_puts(body, "</message>");
    if (buf_ok(body) && (push->n <= 1 || body->len <= COMPONENT_STANZA_MAX))
        return RC_OK;
    return err_set(err, RC_LIMIT, "it makes a message of more than %zu bytes",
                   COMPONENT_STANZA_MAX);
}

static enum rc xmpp_seal(struct arena *a, const struct sink_push *push, struct carrier_load *load,
                         struct err *err)
{
    struct xmpp_load *own = ARENA_NEW(a, struct xmpp_load);
    struct url_parts parts;
    enum rc rc = jid_url_parse(a, push->endpoint, &parts, err);

    if (rc == RC_OK)
        *own = (struct xmpp_load){.id = id_of(a, push), .host = parts.host};
    load->own = own;
    return rc;
}

/* What the condition of an error means (RFC 6120 section 8.3.3). */
static const struct {
    const char *condition;
    enum sink_verdict verdict;
} verdicts[] = {
    {"gone", SINK_GONE}, /* nobody has this address any more, or ever had */
    {"item-not-found", SINK_GONE},
    {"jid-malformed", SINK_GONE},
    {"not-acceptable", SINK_REFUSED}, /* this message will never be taken */
    {"bad-request", SINK_REFUSED},
    {"policy-violation", SINK_REFUSED},
};

static enum sink_verdict xmpp_judge(struct arena *a, const struct carrier_answer *answer,
                                    struct str *why)
{
    struct str condition = answer->body;

    if (answer->rc != RC_OK) {
        *why = str_dup(a, str_from(answer->err));
        return SINK_FAILED;
    }
    if (answer->body.len == 0)
        return SINK_DELIVERED;
    *why = str_printf(a, "the message was answered by an error: %.*s", STR_ARG(answer->body));
    condition = str_split(&condition, ':');
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        if (str_eqz(condition, verdicts[i].condition))
            return verdicts[i].verdict;
    return SINK_FAILED;
}

const struct sink sink_xmpp = {.in_snapshot = true,
                               .draw = entries_draw,
                               .draw_test = entries_draw_test,
                               .entries = {.has_settings = true,
                                           .item_max = COMPONENT_STANZA_MAX - FRAME_MAX,
                                           .body = xmpp_body,
                                           .seal = xmpp_seal},
                               .judge = xmpp_judge};
