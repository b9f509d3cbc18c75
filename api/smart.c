/* api/smart.c - GET /smart: a Smart Feed over HTTP, with a long poll and JSON-P.
 *
 * A piece of the stream is a document like any other (render.c): thousands who wait for the same
 * news are answered with one rendering. */
#include "api/resources.h"

#include "api/gather.h"
#include "api/log_wait.h"
#include "api/pull.h"
#include "api/render.h"
#include "api/selflink.h"
#include "api/topic.h"
#include "base/limits.h"
#include "net/http_fields.h"

#define FRESH "max-age=2"
#define FRESH_PRIVATE "private, max-age=2"
#define NEVER_STORED "no-store"
#define WAIT_DEFAULT_S 55
#define WAIT_MAX_S 300
#define MARGIN_MS 60000
#define CALLBACK_MAX 128

struct smart { /* in the call's arena */
    struct render_spec spec;
    struct reply reply;
    struct wanted_url *urls;
    size_t n_urls;
    bool type_given;
    int64_t until_ms; /* monotonic: waits so long; 0: not at all */
    int64_t seen;     /* end of the log before the last look */
};

static void look(struct call *c, struct smart *s);

/* ---- the request ----------------------------------------------------------------------------- */

static bool read_order(struct call *c, struct smart *s, struct problem *p)
{
    static const struct {
        const char *name;
        enum view_order order;
    } orders[] = {{"modified", VIEW_MODIFIED},
                  {"-modified", VIEW_MODIFIED_DESC},
                  {"created", VIEW_CREATED},
                  {"-created", VIEW_CREATED_DESC}};
    struct str order;

    if (!params_optional(&c->params, c->arena, "order", &order, p))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        if (!str_eqz(str_is_null(order) ? STR("modified") : order, orders[i].name))
            continue;
        s->spec.view.order = orders[i].order;
        return true;
    }
    return problem_parameter(p, c->arena, "order", order, "modified|-modified|created|-created",
                             "The parameter `order` is no order of this feed.");
}

/* A dotted identifier: nothing that could be more than a name in a page. */
static bool is_callback(struct str s)
{
    bool start = true;

    for (size_t i = 0; i < s.len; i++) {
        char ch = s.ptr[i];
        bool letter =
            (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || ch == '$';

        if (ch == '.' ? start : !letter && (start || ch < '0' || ch > '9'))
            return false;
        start = ch == '.';
    }
    return s.len > 0 && s.len <= CALLBACK_MAX && !start;
}

static bool read_callback(struct call *c, struct smart *s, struct problem *p)
{
    if (!params_one(&c->params, c->arena, "callback", &s->spec.callback, p))
        return false;
    if (str_is_null(s->spec.callback))
        return true;
    if (!is_callback(s->spec.callback))
        return problem_parameter(
            p, c->arena, "callback", s->spec.callback, NULL,
            "The parameter `callback` must be names joined by dots, of letters, "
            "digits, `_` and `$`, at most %d characters.",
            CALLBACK_MAX);
    s->reply.media_type = "application/javascript; charset=utf-8";
    s->reply.fields = STR("X-Content-Type-Options: nosniff\r\n");
    return true;
}

/* JSON unless Atom is liked better. */
static bool read_format(struct call *c, struct smart *s, struct problem *p)
{
    struct str accept = c->accept;
    int json, atom, script;
    bool given;

    if (!params_format(&c->params, c->arena, &s->spec.view.format, &given, p))
        return false;
    s->type_given = given;
    if (given) {
        if (s->spec.view.format == FORMAT_JSON)
            s->spec.view.format = FORMAT_ACTIVITIES;
        if (s->spec.view.format == FORMAT_ACTIVITIES || s->spec.view.format == FORMAT_ATOM)
            return true;
        problem_set(p, c->arena, PROBLEM_NOT_ACCEPTABLE,
                    "A stream is Atom or JSON; `type` names another type.");
        p->allowed = "json|atom";
        return false;
    }
    c->negotiated = true;
    json = http_accept_q(accept, STR("application/json; charset=utf-8"));
    atom = http_accept_q(accept, STR("application/atom+xml; charset=utf-8"));
    script = str_is_null(s->spec.callback)
                 ? 0
                 : http_accept_q(accept, STR("application/javascript; charset=utf-8"));
    s->spec.view.format = atom > json ? FORMAT_ATOM : FORMAT_ACTIVITIES;
    if (json > 0 || atom > 0 || script > 0)
        return true;
    problem_set(p, c->arena, PROBLEM_NOT_ACCEPTABLE,
                "The Accept field permits neither application/json nor application/atom+xml.");
    p->allowed = "application/json|application/atom+xml";
    p->fields = STR("Vary: Accept\r\n");
    return false;
}

static bool read_max(struct call *c, struct smart *s, struct problem *p)
{
    struct str text;
    int64_t max;

    if (!params_one(&c->params, c->arena, "max", &text, p) ||
        !params_count(&c->params, c->arena, "max", DEFAULT_LEN, LIMIT_LEN, &max, p))
        return false;
    if (max == 0)
        return problem_parameter(p, c->arena, "max", text, NULL,
                                 "The parameter `max` must be at least 1.");
    s->spec.view.len = (size_t)max;
    return true;
}

static bool read_request(struct call *c, struct smart *s, struct problem *p)
{
    struct str log_id = store_log_id(c->api->store), since, until;
    int64_t last = store_last_seq(c->api->store), timeout_s;

    if (!params_urls(&c->params, c->arena, true, &s->urls, &s->n_urls, p) || !read_order(c, s, p) ||
        !read_callback(c, s, p) || !read_format(c, s, p) || !read_max(c, s, p) ||
        !params_one(&c->params, c->arena, "since", &since, p) ||
        !params_one(&c->params, c->arena, "until", &until, p) ||
        !place_read(c->arena, "since", since, log_id, last, &s->spec.since, p) ||
        !place_read(c->arena, "until", until, log_id, last, &s->spec.until, p) ||
        !params_count(&c->params, c->arena, "timeout", WAIT_DEFAULT_S, WAIT_MAX_S, &timeout_s, p))
        return false;
    if (order_descends(s->spec.view.order) && s->spec.since.kind == PLACE_SEQ &&
        s->spec.since.text.len == 0)
        s->spec.since.kind = PLACE_NONE; /* before the first item, which here is the newest */
    if (s->spec.since.kind != PLACE_NONE && s->spec.until.kind == PLACE_NONE && /* D28 */
        !order_descends(s->spec.view.order))
        s->until_ms = clock_mono_ms() + timeout_s * 1000;
    return true;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void on_wake(struct call *c, bool timed_out, void *ctx)
{
    struct smart *s = ctx;

    if (timed_out)
        s->until_ms = 0; /* one last look makes the empty answer */
    look(c, s);
}

static bool wait_for_news(struct call *c, struct smart *s)
{
    int64_t ms = s->until_ms - clock_mono_ms();

    if (s->until_ms == 0 || ms <= 0)
        return false;
    log_wait_start(c, s->spec.view.feed_ids, s->spec.view.n_feeds, false, s->seen, ms, on_wake, s);
    return true;
}

static bool on_empty(struct call *c, struct reply *r)
{
    return wait_for_news(c, r->empty_ctx);
}

static void look(struct call *c, struct smart *s)
{
    s->seen = store_last_seq(c->api->store);
    /* that nothing has come is known without a query */
    if (s->spec.since.kind == PLACE_SEQ && s->until_ms != 0 &&
        store_seq_of(c->api->store, s->spec.view.feed_ids, s->spec.view.n_feeds) <=
            s->spec.since.seq &&
        wait_for_news(c, s))
        return;
    if (!render_unmodified(c, &s->spec, &s->reply))
        render_reply(c, &s->spec, &s->reply);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The base URL with the slash at the end of its path, where it was asked for so (SMART-04). */
static struct str with_slash(struct arena *a, struct str self, struct str target)
{
    ssize_t query = str_chr(target, '?'), at = str_chr(self, '?');
    struct str path = query < 0 ? target : str_slice(target, 0, (size_t)query);

    if (at < 0 || !str_ends(path, STR("/")))
        return self;
    return str_printf(a, "%.*s/%.*s", (int)at, self.ptr,
                      STR_ARG(str_slice(self, (size_t)at, self.len)));
}

static void describe(struct call *c, void *own, const struct gathered *items, size_t n,
                     struct render_spec *out)
{
    static const char *const of_a_piece[] = {"since", "until", "max", "timeout", "callback"};
    struct smart *s = own;
    struct render_spec *spec = &s->spec;
    int64_t *link_ids = topic_ids(c->arena, items, n, spec);

    spec->merged = s->n_urls > 1;
    spec->self = selflink_make(c->arena, pull_origin(c), c->target, NULL, s->urls, link_ids, n);
    for (size_t i = 0; i < ARRAY_LEN(of_a_piece); i++)
        spec->self = selflink_unset(c->arena, spec->self, of_a_piece[i]);
    if (spec->merged) {
        spec->id = pull_merged_id(c->arena, spec->self);
        spec->title = str_printf(c->arena, "%zu feeds merged", s->n_urls);
    }
    spec->self = with_slash(c->arena, spec->self, c->target);
    spec->hub = topic_hub(c);
    *out = *spec;
}

/* The URL of the stream in this type alone, for the Link field. */
static struct str typed_self(struct call *c, const struct smart *s)
{
    return s->type_given
               ? s->spec.self
               : selflink_set(c->arena, s->spec.self, "type",
                              s->spec.view.format == FORMAT_ATOM ? STR("atom") : STR("json"));
}

static void on_gathered(struct call *c, struct gathered *items, size_t n, void *ctx)
{
    struct smart *s = ctx;
    bool secret = !str_is_null(c->cfg->token);
    bool waits = s->until_ms != 0;
    struct render_spec spec;
    struct str links;

    for (size_t i = 0; i < n; i++)
        secret = secret || !str_is_null(items[i].want.credential);
    describe(c, s, items, n, &spec);
    if (spec.view.n_feeds == 0) {
        struct problem p;

        gather_problem(c, items, n, &p);
        reply_problem(c, &p);
        return;
    }
    store_touch(c->api->store, spec.view.feed_ids, spec.view.n_feeds);
    links = topic_link_field(c, typed_self(c, s), true, STR_NULL);
    if (!str_is_null(links))
        s->reply.fields = str_concat(c->arena, links, s->reply.fields);
    s->reply.cache = waits ? NEVER_STORED : secret ? FRESH_PRIVATE : FRESH;
    s->reply.private_cache = waits ? NEVER_STORED : FRESH_PRIVATE;
    s->reply.varies_encoding = true;
    s->reply.on_empty = on_empty;
    s->reply.empty_ctx = s;
    if (waits)
        call_hold(c, s->until_ms - clock_mono_ms() + MARGIN_MS);
    look(c, s);
}

/* A subscriber gets what comes: positions and pieces are none of its business. */
bool smart_topic(struct call *c, struct topic *t, struct problem *p)
{
    struct smart *s = ARENA_NEW(c->arena, struct smart);

    *s = (struct smart){.reply = REPLY_INIT};
    s->spec.view.form = FORM_STREAM;
    if (!read_request(c, s, p))
        return false;
    s->spec.since.kind = s->spec.until.kind = PLACE_NONE;
    s->spec.callback = STR_NULL;
    *t = (struct topic){.urls = s->urls, .n_urls = s->n_urls, .describe = describe, .own = s};
    return true;
}

void smart_get(struct call *c)
{
    struct smart *s = ARENA_NEW(c->arena, struct smart);
    struct gathered *items;
    struct problem p;

    *s = (struct smart){.reply = REPLY_INIT};
    s->spec.view.form = FORM_STREAM;
    if (!read_request(c, s, &p)) {
        reply_problem(c, &p);
        return;
    }
    items = ARENA_ARRAY(c->arena, struct gathered, s->n_urls);
    for (size_t i = 0; i < s->n_urls; i++)
        items[i].want = s->urls[i];
    gather_start(c, items, s->n_urls, on_gathered, s);
}
