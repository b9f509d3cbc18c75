/* api/xmpp/xmpp_request.c - see xmpp_request.h and xmpp.h. Admits requests, finds out what is
 * asked, and writes answers. */
#include "api/xmpp/xmpp_request.h"

#include "api/xmpp/xmpp_service.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/text/xml_out.h"
#include "net/jid.h"

#define REQUESTS_MAX 1024 /* under way at once */
#define READS_MAX 4       /* of them, at the readers */

/* ---- answers --------------------------------------------------------------------------------- */

static const struct {
    const char *type, *condition;
} refusals[] = {
#define REFUSAL(id, type, condition) {type, condition},
#include "api/xmpp/answers.def"
#undef REFUSAL
};

static void begin(struct buf *out, const struct xmpp_request *req, const char *type)
{
    buf_puts(out, "<iq");
    xml_attr(out, "type", str_from(type));
    xml_attr(out, "id", req->in->id);
    xml_attr(out, "to", req->in->from);
    xml_attr(out, "from",
             str_is_null(req->in->to) ? component_name(req->service->component) : req->in->to);
    buf_putc(out, '>');
}

/* Send the answer and free the request. */
static void finish(struct xmpp_request *req, struct buf *out)
{
    struct xmpp_service *s = req->service;

    buf_puts(out, "</iq>");
    component_answer(s->component, buf_view(out));
    pthread_mutex_lock(&s->lock);
    s->n_requests--;
    pthread_mutex_unlock(&s->lock);
    component_request_free(req->in);
}

void xmpp_reply(struct xmpp_request *req, struct str content)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    begin(&out, req, "result");
    buf_str(&out, content);
    finish(req, &out);
}

void xmpp_refuse(struct xmpp_request *req, enum xmpp_refusal why, const char *pubsub,
                 struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    stats_inc(STAT_xmpp_refused_total);
    begin(&out, req, "error");
    buf_printf(&out, "<error type=\"%s\"><%s xmlns=\"urn:ietf:params:xml:ns:xmpp-stanzas\"/>",
               refusals[why].type, refusals[why].condition);
    if (!str_is_null(text)) {
        buf_puts(&out, "<text xmlns=\"urn:ietf:params:xml:ns:xmpp-stanzas\" xml:lang=\"en\">");
        xml_text(&out, text);
        buf_puts(&out, "</text>");
    }
    if (pubsub != NULL)
        buf_printf(&out, "<%s xmlns=\"" NS_PUBSUB_ERRORS "\"/>", pubsub);
    buf_puts(&out, "</error>");
    finish(req, &out);
}

static enum xmpp_refusal refusal_of(const struct problem *p)
{
    switch (problem_status(p)) {
    case 400:
    case 406:
    case 415:
        return XMPP_BAD_REQUEST;
    case 401:
    case 403:
        return XMPP_FORBIDDEN;
    case 404:
    case 410:
    case 422:
        return XMPP_NOT_FOUND;
    case 413:
        return XMPP_TOO_LARGE;
    case 429:
    case 503:
        return XMPP_BUSY;
    case 502:
        return XMPP_UPSTREAM_FAILED;
    case 504:
        return XMPP_UPSTREAM_TIMEOUT;
    default:
        return XMPP_INTERNAL;
    }
}

void xmpp_refuse_problem(struct xmpp_request *req, const struct problem *p)
{
    xmpp_refuse(req, refusal_of(p), NULL, p->detail);
}

void xmpp_refuse_failure(struct xmpp_request *req, enum rc rc, const struct err *err)
{
    struct problem p;

    if (rc != RC_NOT_FOUND && rc != RC_FULL && rc != RC_CLOSED)
        log_warn("xmpp", "request_failed", "rc=%s error=%s", rc_name(rc),
                 log_quote(str_from(err == NULL ? NULL : err->text)));
    problem_of_err(&p, req->ask.arena, rc, err);
    xmpp_refuse_problem(req, &p);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct xmpp_read {
    TAILQ_ENTRY(xmpp_read) link;
    struct xmpp_service *service;
    struct xmpp_request *req; /* until fn has run, which answers it */
    store_read_fn *fn;
    void *ctx;
};

/* One is over: returns the next one, or NULL. */
static struct xmpp_read *next_read(struct xmpp_service *s)
{
    struct xmpp_read *next;

    pthread_mutex_lock(&s->lock);
    next = TAILQ_FIRST(&s->reads);
    if (next != NULL)
        TAILQ_REMOVE(&s->reads, next, link);
    else
        s->n_reading--;
    pthread_mutex_unlock(&s->lock);
    return next;
}

static void on_reader(void *ctx, struct reader *r);

/* Give it to a reader. If there is no room, it is refused, and so are those after it. */
static void start_read(struct xmpp_read *read)
{
    while (read != NULL) {
        struct xmpp_service *s = read->service;
        enum rc rc = store_read(s->api->store, on_reader, read);

        if (rc == RC_OK)
            return;
        xmpp_refuse_failure(read->req, rc, NULL);
        mem_free(read);
        read = next_read(s);
    }
}

static void on_reader(void *ctx, struct reader *r)
{
    struct xmpp_read *read = ctx;
    struct xmpp_service *s = read->service;

    read->fn(read->ctx, r);
    mem_free(read);
    start_read(next_read(s));
}

void xmpp_read(struct xmpp_request *req, store_read_fn *fn, void *ctx)
{
    struct xmpp_service *s = req->service;
    struct xmpp_read *read = NEW(struct xmpp_read);
    bool starts;

    *read = (struct xmpp_read){.service = s, .req = req, .fn = fn, .ctx = ctx};
    pthread_mutex_lock(&s->lock);
    starts = s->n_reading < READS_MAX;
    if (starts)
        s->n_reading++;
    else
        TAILQ_INSERT_TAIL(&s->reads, read, link);
    pthread_mutex_unlock(&s->lock);
    if (starts)
        start_read(read);
}

/* ---- callers --------------------------------------------------------------------------------- */

/* Is it the bare JID itself, or its domain? Domains are compared without regard to case; servers
 * give the rest in one form. */
static bool is_named(struct str name, struct str bare)
{
    ssize_t at = str_chr(bare, '@');

    return str_ieq(name, bare) || str_ieq(name, str_slice(bare, (size_t)(at + 1), bare.len));
}

/* Decide what this one may do. HTTP asks for a token; here the server vouches for the sender, so
 * the names of --xmpp-allow take its place. Without such names everybody is an anonymous caller. */
static enum access_role role_of(const struct xmpp_request *req)
{
    const struct api_cfg *cfg = req->ask.cfg;
    bool is_alone;

    for (size_t i = 0; i < cfg->n_xmpp_allow; i++)
        if (is_named(cfg->xmpp_allow[i], req->bare))
            return ROLE_SUBSCRIBE;
    return cfg->n_xmpp_allow == 0 ? ask_anonymous(&req->ask, &is_alone) : ROLE_NONE;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static void pong(struct xmpp_request *req)
{
    xmpp_reply(req, STR(""));
}

static const struct {
    const char *ns, *name, *child; /* child: of the payload; NULL: there is nothing to look for */
    bool is_set;
    enum access_role role; /* that the sender needs; ROLE_NONE: it is for everybody */
    void (*handle)(struct xmpp_request *req);
} kinds[] = {
    {NS_PING, "ping", NULL, false, ROLE_NONE, pong},
    {NS_DISCO_INFO, "query", NULL, false, ROLE_NONE, xmpp_disco_info},
    {NS_DISCO_ITEMS, "query", NULL, false, ROLE_NONE, xmpp_disco_items},
    {NS_PUBSUB, "pubsub", "items", false, ROLE_READ, xmpp_items},
    {NS_PUBSUB, "pubsub", "subscribe", true, ROLE_SUBSCRIBE, xmpp_subscribe},
    {NS_PUBSUB, "pubsub", "unsubscribe", true, ROLE_NONE, xmpp_unsubscribe},
};

static void dispatch(struct xmpp_request *req)
{
    const struct stanza *payload = req->payload;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (payload == NULL || !str_eqz(payload->name, kinds[i].name) ||
            !str_eqz(payload->ns, kinds[i].ns) || req->in->is_set != kinds[i].is_set ||
            (kinds[i].child != NULL && stanza_child(payload, kinds[i].child, NS_PUBSUB) == NULL))
            continue;
        req->ask.caller =
            (struct caller){.role = role_of(req), .owner = OWNER_ANONYMOUS, .source = req->bare};
        if (req->ask.caller.role >= kinds[i].role)
            kinds[i].handle(req);
        else
            xmpp_refuse(req, XMPP_FORBIDDEN, NULL,
                        STR("This service is not for your address; --xmpp-allow would open it."));
        return;
    }
    if (payload != NULL && str_starts(payload->ns, STR(NS_PUBSUB)))
        xmpp_refuse(req, XMPP_UNSUPPORTED, NULL, STR_NULL);
    else
        xmpp_refuse(req, XMPP_UNAVAILABLE, NULL, STR_NULL);
}

/* Returns false when the address is not that of the service itself. */
static bool is_for_service(const struct xmpp_request *req)
{
    return str_is_null(req->in->to) ||
           str_ieq(req->in->to, component_name(req->service->component));
}

void xmpp_service_request(struct xmpp_service *s, struct component_request *in)
{
    struct xmpp_request *req = ARENA_NEW(in->arena, struct xmpp_request);
    bool is_full;

    *req = (struct xmpp_request){.service = s,
                                 .in = in,
                                 .payload = in->payload,
                                 .bare = jid_bare(in->from),
                                 .ask = {.api = s->api,
                                         .cfg = &atomic_load(&s->api->conf)->cfg,
                                         .arena = in->arena,
                                         .accept = STR_NULL}};
    req->ask.origin = ask_origin(in->arena, req->ask.cfg, component_name(s->component));
    pthread_mutex_lock(&s->lock);
    is_full = s->n_requests++ >= REQUESTS_MAX;
    pthread_mutex_unlock(&s->lock);
    if (is_full)
        xmpp_refuse(req, XMPP_BUSY, NULL, STR("Too many requests are under way."));
    else if (!is_for_service(req))
        xmpp_refuse(req, XMPP_UNAVAILABLE, NULL, STR_NULL);
    else
        dispatch(req);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

struct xmpp_service *xmpp_service_new(struct api *api, struct component *c)
{
    struct xmpp_service *s = NEW(struct xmpp_service);

    s->api = api;
    s->component = c;
    TAILQ_INIT(&s->waiting);
    TAILQ_INIT(&s->reads);
    TAILQ_INIT(&s->changes);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void xmpp_service_free(struct xmpp_service **sp)
{
    struct xmpp_service *s = *sp;

    *sp = NULL;
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
