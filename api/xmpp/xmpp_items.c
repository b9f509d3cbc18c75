/* api/xmpp/xmpp_items.c - pull: the items of a node, in pages (XEP-0060 section 6.5, XEP-0059).
 *
 * `after` is `since`, `before` is `until`, and `max` is `max` of GET /smart; an empty `before`
 * means the last page (D39). Without them, the parameters of the node's name count. */
#include <inttypes.h>

#include "api/views/draw_items.h"
#include "api/xmpp/xmpp_feeds.h"
#include "api/xmpp/xmpp_node.h"
#include "base/limits.h"
#include "feed/text/xml_out.h"

struct page {
    struct xmpp_request *req;
    struct query query;
    struct str node;
    struct str after, before; /* null: not given */
    bool is_last_page;
    bool is_count; /* max is 0: only the number of items is wanted (XEP-0059 section 2.6) */
    size_t max; /* 0: not given */
    struct document_spec spec;
};

/* ---- the question ---------------------------------------------------------------------------- */

/* Read a number of items. A large one counts as the limit. */
static bool read_max(struct str text, size_t *out)
{
    int64_t n;

    if (!str_to_i64(str_trim(text), &n) || n < 0)
        return false;
    *out = n > LIMIT_LEN ? LIMIT_LEN : (size_t)n;
    return true;
}

/* Returns the text of a child; null: it is missing. */
static struct str text_of(const struct stanza *set, const char *name)
{
    const struct stanza *child = stanza_child(set, name, NS_RSM);

    return child == NULL ? STR_NULL : str_trim(child->text);
}

/* Read how much of the node is wanted. */
static bool read_page(struct page *page, const struct stanza *items)
{
    const struct stanza *set = stanza_child(page->req->payload, "set", NS_RSM);
    struct str max = text_of(set, "max"), newest = stanza_attribute(items, "max_items");

    page->after = text_of(set, "after");
    page->before = text_of(set, "before");
    if (page->after.len == 0)
        page->after = STR_NULL; /* the first page */
    if (set == NULL && !str_is_null(newest))
        page->is_last_page = true; /* XEP-0060 section 6.5.7 */
    if (!str_is_null(page->before) && page->before.len == 0) {
        page->is_last_page = true;
        page->before = STR_NULL;
    }
    if (str_is_null(max))
        max = set == NULL ? newest : STR_NULL;
    if (!str_is_null(max) && !read_max(max, &page->max))
        return false;
    page->is_count = !str_is_null(max) && page->max == 0;
    if (page->is_count)
        page->max = 1;
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_set(struct buf *out, const struct drawn_items *drawn)
{
    buf_puts(out, "<set xmlns=\"" NS_RSM "\">");
    if (drawn->n > 0) {
        buf_puts(out, "<first");
        if (drawn->index >= 0)
            buf_printf(out, " index=\"%" PRId64 "\"", drawn->index);
        buf_printf(out, ">cursor:%.*s</first><last>cursor:%.*s</last>",
                   STR_ARG(drawn->items[0].cursor), STR_ARG(drawn->items[drawn->n - 1].cursor));
    }
    if (drawn->total >= 0)
        buf_printf(out, "<count>%" PRId64 "</count>", drawn->total);
    buf_puts(out, "</set>");
}

/* Write up to the items, and return the bytes that are left for them. */
static size_t write_begin(struct buf *out, const struct page *page)
{
    const struct component_request *in = page->req->in;

    buf_puts(out, "<pubsub xmlns=\"" NS_PUBSUB "\"><items");
    xml_attr(out, "node", page->node);
    buf_putc(out, '>');
    /* a character may take six bytes as an attribute; 1 KiB is more than the rest needs */
    return COMPONENT_STANZA_MAX - out->len - 6 * (in->id.len + in->from.len + in->to.len) - 1024;
}

static void write_items(struct buf *out, const struct drawn_items *drawn)
{
    for (size_t i = 0; i < drawn->n; i++) {
        buf_puts(out, "<item");
        xml_attr(out, "id", drawn->items[i].text.id);
        buf_putc(out, '>');
        buf_str(out, drawn->items[i].text.xml);
        buf_puts(out, "</item>");
    }
}

/* On a reader thread. */
static void draw(void *ctx, struct reader *r)
{
    struct page *page = ctx;
    struct xmpp_request *req = page->req;
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct drawn_items drawn;
    struct err err = ERR_INIT;
    size_t room = write_begin(&out, page);
    enum rc rc = draw_items(&page->spec, req->ask.api->store, r, !page->is_count, room,
                            req->ask.arena, &drawn, &err);

    if (rc != RC_OK) {
        xmpp_refuse_failure(req, rc, &err);
        return;
    }
    write_items(&out, &drawn);
    buf_puts(&out, "</items>");
    write_set(&out, &drawn);
    buf_puts(&out, "</pubsub>");
    xmpp_reply(req, buf_view(&out));
}

/* Find out where the page begins and ends. */
static bool find_range(struct page *page, struct problem *p)
{
    struct document_spec asked = page->spec;

    if (!smart_range(&page->req->ask, "after", page->after, "before", page->before, &asked, p))
        return false;
    smart_piece(&page->query, &page->spec);
    if (!str_is_null(page->after))
        page->spec.since = asked.since;
    if (!str_is_null(page->before))
        page->spec.until = asked.until;
    if (page->max > 0)
        page->spec.view.len = page->max;
    return true;
}

static void on_feeds(struct xmpp_request *req, struct gathered *items, size_t n, void *ctx)
{
    struct page *page = ctx;
    struct problem p;

    page->query.describe(&req->ask, page->query.own, items, n, &page->spec);
    if (page->spec.view.n_feeds == 0) {
        xmpp_feeds_refuse(req, items, n);
        return;
    }
    page->spec.view.format = FORMAT_ATOM;
    page->spec.is_last_page = page->is_last_page;
    if (!find_range(page, &p)) {
        /* XEP-0059 section 2.2: a position that does not exist */
        xmpp_refuse(req, XMPP_NOT_FOUND, NULL, p.detail);
        return;
    }
    store_touch(req->ask.api->store, page->spec.view.feed_ids, page->spec.view.n_feeds);
    xmpp_read(req, draw, page);
}

void xmpp_items(struct xmpp_request *req)
{
    const struct stanza *items = stanza_child(req->payload, "items", NS_PUBSUB);
    struct page *page = ARENA_NEW(req->ask.arena, struct page);

    *page = (struct page){.req = req, .node = stanza_attribute(items, "node")};
    if (stanza_child(items, "item", NULL) != NULL) {
        xmpp_refuse(req, XMPP_UNSUPPORTED, NULL,
                    STR("Single items cannot be asked for; ask for a page."));
        return;
    }
    if (!xmpp_node_read(req, page->node, &page->query))
        return;
    if (!read_page(page, items)) {
        xmpp_refuse(req, XMPP_BAD_REQUEST, NULL, STR("The number of items cannot be read."));
        return;
    }
    xmpp_feeds_find(req, &page->query, on_feeds, page);
}
