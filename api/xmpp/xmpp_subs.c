/* api/xmpp/xmpp_subs.c - subscribe and unsubscribe (XEP-0060 section 6). A subscription belongs to
 * an address and a node: subscribing again changes nothing.
 *
 * Changes are made one after the other, because each looks first at what there is. */
#include <inttypes.h>
#include <stdio.h>

#include "api/xmpp/xmpp_feeds.h"
#include "api/xmpp/xmpp_node.h"
#include "api/xmpp/xmpp_service.h"
#include "feed/text/xml_out.h"
#include "feed/text/xmpp_settings.h"
#include "net/jid.h"

#define OWNED_MAX 1000 /* subscriptions of one bare JID */

struct xmpp_change {
    TAILQ_ENTRY(xmpp_change) link;
    struct xmpp_request *req;
    bool subscribes;
    struct query query;
    struct str node, jid;
    struct str subid; /* null: not given */
    struct str endpoint, settings;
    unsigned events;
    const struct feed_ref *feeds;
    size_t n_feeds;
    int64_t sub_id;
};

static void work(void *ctx, struct reader *r);

/* ---- one after the other --------------------------------------------------------------------- */

static void run(struct xmpp_change *c);

/* The change has been taken out; the next one begins. Its request is answered after that, as it
 * frees the change. */
static void leave(struct xmpp_change *c)
{
    struct xmpp_service *s = c->req->service;
    struct xmpp_change *next;

    pthread_mutex_lock(&s->lock);
    TAILQ_REMOVE(&s->changes, c, link);
    next = TAILQ_FIRST(&s->changes);
    pthread_mutex_unlock(&s->lock);
    if (next != NULL)
        run(next);
}

static void fail(struct xmpp_change *c, enum rc rc, const struct err *err)
{
    leave(c);
    xmpp_refuse_failure(c->req, rc, err);
}

static void refuse(struct xmpp_change *c, enum xmpp_refusal why, const char *pubsub,
                   struct str text)
{
    leave(c);
    xmpp_refuse(c->req, why, pubsub, text);
}

static void run(struct xmpp_change *c)
{
    enum rc rc = store_read(c->req->ask.api->store, work, c);

    if (rc != RC_OK)
        fail(c, rc, NULL);
}

static void enter(struct xmpp_change *c)
{
    struct xmpp_service *s = c->req->service;
    bool is_first;

    pthread_mutex_lock(&s->lock);
    is_first = TAILQ_EMPTY(&s->changes);
    TAILQ_INSERT_TAIL(&s->changes, c, link);
    pthread_mutex_unlock(&s->lock);
    if (is_first)
        run(c);
}

/* ---- the change ------------------------------------------------------------------------------ */

static void reply_subscribed(struct xmpp_change *c)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    char subid[24];

    snprintf(subid, sizeof subid, "%" PRId64, c->sub_id);
    buf_puts(&out, "<pubsub xmlns=\"" NS_PUBSUB "\"><subscription");
    xml_attr(&out, "node", c->node);
    xml_attr(&out, "jid", c->jid);
    xml_attr(&out, "subid", str_from(subid));
    buf_puts(&out, " subscription=\"subscribed\"/></pubsub>");
    leave(c);
    xmpp_reply(c->req, buf_view(&out));
}

/* On the storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct xmpp_change *c = ctx;

    if (rc != RC_OK) {
        fail(c, rc, err);
    } else if (c->subscribes) {
        if (c->sub_id == 0)
            c->sub_id = res->id;
        reply_subscribed(c);
    } else {
        leave(c);
        xmpp_reply(c->req, STR(""));
    }
}

static enum rc subscribe(struct xmpp_change *c)
{
    const struct sub_request wanted = {.endpoint = c->endpoint,
                                       .endpoint_credential = STR_NULL,
                                       .sink = STR(XMPP_SINK),
                                       .sink_settings = c->settings,
                                       .events = c->events,
                                       .filter = filter_text(c->query.lasting),
                                       .feeds = c->feeds,
                                       .n_feeds = c->n_feeds,
                                       .level = LEVEL_KEEP};

    return store_subscribe(c->req->ask.api->store, &wanted, on_stored, c);
}

/* It is there already. If it was suspended, it is wanted again. */
static void subscribe_again(struct xmpp_change *c, struct reader *r)
{
    struct subscription *sub;
    struct err err = ERR_INIT;
    enum rc rc = reader_sub(r, c->sub_id, c->req->ask.arena, &sub, &err);

    if (rc == RC_OK && sub->state == SUB_SUSPENDED) {
        rc = store_resume(c->req->ask.api->store, c->sub_id, -1, on_stored, c);
        if (rc == RC_OK)
            return;
    }
    if (rc == RC_OK)
        reply_subscribed(c);
    else
        fail(c, rc, &err);
}

static bool has_subid(const struct xmpp_change *c)
{
    int64_t n;

    return str_is_null(c->subid) || (str_to_i64(c->subid, &n) && n == c->sub_id);
}

/* On a reader thread. */
static void work(void *ctx, struct reader *r)
{
    struct xmpp_change *c = ctx;
    struct arena *a = c->req->ask.arena;
    struct err err = ERR_INIT;
    int64_t n_owned;
    enum rc rc = reader_find_sub(r, STR(XMPP_SINK), c->endpoint, c->settings,
                                 jid_to_url(a, c->req->bare), &c->sub_id, &n_owned, &err);

    if (rc != RC_OK) {
        fail(c, rc, &err);
    } else if (c->subscribes && c->sub_id != 0) {
        subscribe_again(c, r);
    } else if (c->subscribes && n_owned >= OWNED_MAX) {
        refuse(c, XMPP_BUSY, "too-many-subscriptions", STR("You have too many subscriptions."));
    } else if (c->subscribes) {
        rc = subscribe(c);
        if (rc != RC_OK)
            fail(c, rc, NULL);
    } else if (c->sub_id == 0) {
        refuse(c, XMPP_UNEXPECTED, "not-subscribed", STR_NULL);
    } else if (!has_subid(c)) {
        refuse(c, XMPP_TOO_LARGE, "invalid-subid", STR_NULL);
    } else {
        rc = store_unsubscribe(c->req->ask.api->store, c->sub_id, NULL, 0, on_stored, c);
        if (rc != RC_OK)
            fail(c, rc, NULL);
    }
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Read node and address. NULL: the request has been refused. */
static struct xmpp_change *read_change(struct xmpp_request *req, const char *verb)
{
    const struct stanza *wanted = stanza_child(req->payload, verb, NS_PUBSUB);
    struct xmpp_change *c = ARENA_NEW(req->ask.arena, struct xmpp_change);
    struct arena *a = req->ask.arena;
    struct url_parts address;

    *c = (struct xmpp_change){.req = req,
                              .node = stanza_attribute(wanted, "node"),
                              .jid = stanza_attribute(wanted, "jid"),
                              .subid = stanza_attribute(wanted, "subid")};
    if (str_is_null(c->jid) || !jid_same_bare(c->jid, req->bare) ||
        jid_url_parse(a, jid_to_url(a, c->jid), &address, NULL) != RC_OK) {
        xmpp_refuse(req, XMPP_BAD_REQUEST, str_is_null(c->jid) ? "jid-required" : "invalid-jid",
                    STR("The subscription must be for your own address."));
        return NULL;
    }
    if (!xmpp_node_read(req, c->node, &c->query))
        return NULL;
    c->endpoint = address.url;
    c->settings = xmpp_settings_write(a, c->node);
    return c;
}

/* All feeds of the node are known, or could not be had. */
static void on_feeds(struct xmpp_request *req, struct gathered *items, size_t n, void *ctx)
{
    struct xmpp_change *c = ctx;
    struct document_spec spec;
    struct feed_ref *feeds = ARENA_ARRAY(req->ask.arena, struct feed_ref, n + 1);

    c->query.describe(&req->ask, c->query.own, items, n, &spec);
    if (spec.view.n_feeds == 0) {
        xmpp_feeds_refuse(req, items, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (items[i].id != 0)
            feeds[c->n_feeds++] = (struct feed_ref){.url = items[i].want.url,
                                                    .credential = items[i].want.credential,
                                                    .shown_url = items[i].want.shown};
    c->feeds = feeds;
    /* a node in the order of creation tells of new items only */
    c->events = SUB_NEW;
    if (!order_is_by_creation(spec.view.order))
        c->events |= SUB_CHANGED | SUB_DELETED | (c->query.lasting == NULL ? 0 : SUB_LEFT);
    enter(c);
}

void xmpp_subscribe(struct xmpp_request *req)
{
    struct xmpp_change *c = read_change(req, "subscribe");

    if (c == NULL)
        return;
    c->subscribes = true;
    xmpp_feeds_find(req, &c->query, on_feeds, c);
}

void xmpp_unsubscribe(struct xmpp_request *req)
{
    struct xmpp_change *c = read_change(req, "unsubscribe");

    if (c != NULL)
        enter(c);
}
