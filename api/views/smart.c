/* api/views/smart.c - GET /smart: a Smart Feed over HTTP, with a long poll and JSON-P.
 *
 * A piece of the stream is a document like any other (documents.c), so thousands of clients that
 * wait for the same news are answered with one drawing. */
#include "api/http/handlers.h"

#include "api/http/negotiate.h"
#include "api/views/documents.h"
#include "api/views/feeds_asked.h"
#include "api/views/filtering.h"
#include "api/views/log_wait.h"
#include "api/views/pull.h"
#include "api/views/queries.h"
#include "api/views/selflink.h"
#include "api/views/shown.h"
#include "base/assert.h"
#include "base/limits.h"
#include "model/media_types.h"
#include "net/http_fields.h"

#define FRESH "max-age=2"
#define FRESH_PRIVATE "private, max-age=2"
#define NEVER_STORED "no-store"
#define MARGIN_MS 60000

struct smart { /* in the request's arena */
    struct document_spec spec;
    struct filtering what;
    struct reply reply;
    struct feeds_asked asked;
    bool type_given;
    struct cursor_spec since, until; /* of a topic or node, see smart_piece() */
    int64_t until_ms;                /* monotonic: waits until then; 0: does not wait */
    int64_t seen;                    /* end of the log before the last look */
    int64_t shown;                   /* sub_book_shown() before its sets were looked up */
    struct str lasting; /* the filter of the whole, in which ages stay ages; null: not renewed yet, or none */
};

static void look(struct request *req, struct smart *s);

/* ---- the request ----------------------------------------------------------------------------- */

static bool read_order(struct ask *ask, struct smart *s, struct problem *p)
{
    /* as the row has their names */
    static const enum view_order orders[] = {VIEW_MODIFIED, VIEW_MODIFIED_DESC, VIEW_CREATED,
                                             VIEW_CREATED_DESC};
    int order;

    if (!params_choice(&ask->params, ask->arena, PARAM_order, &order, p))
        return false;
    ASSERT(order >= 0 && (size_t)order < ARRAY_LEN(orders));
    s->spec.view.order = orders[order];
    return true;
}

/* Returns true for names joined by dots, so that a page cannot run anything else. */
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
    return s.len > 0 && s.len <= (size_t)param_max(PARAM_callback) && !start;
}

static bool read_callback(struct ask *ask, struct smart *s, struct problem *p)
{
    if (!params_one(&ask->params, ask->arena, PARAM_callback, &s->spec.callback, p))
        return false;
    if (str_is_null(s->spec.callback))
        return true;
    if (!is_callback(s->spec.callback))
        return problem_parameter(
            p, ask->arena, param_name(PARAM_callback), s->spec.callback, NULL,
            "The parameter `callback` must be names joined by dots, of letters, "
            "digits, `_` and `$`, at most %lld characters.",
            (long long)param_max(PARAM_callback));
    s->reply.media_type = MEDIA_JAVASCRIPT MEDIA_UTF8;
    s->reply.fields = STR("X-Content-Type-Options: nosniff\r\n");
    return true;
}

/* JSON, unless the client prefers Atom. */
static bool read_format(struct ask *ask, struct smart *s, struct problem *p)
{
    int json, atom, script;

    if (!params_format(&ask->params, ask->arena, PARAM_stream_type, &s->spec.view.format,
                       &s->type_given, p))
        return false;
    if (s->type_given)
        return true;
    ask->negotiated = true;
    json = negotiate_q(ask->accept, FORMAT_ACTIVITIES);
    atom = http_accept_q(ask->accept, STR(MEDIA_ATOM MEDIA_UTF8));
    script = str_is_null(s->spec.callback)
                 ? 0
                 : http_accept_q(ask->accept, STR(MEDIA_JAVASCRIPT MEDIA_UTF8));
    s->spec.view.format = atom > json ? FORMAT_ATOM : FORMAT_ACTIVITIES;
    if (json > 0 || atom > 0 || script > 0)
        return true;
    problem_set(p, ask->arena, PROBLEM_NOT_ACCEPTABLE,
                "The Accept field does not allow any of the types offered here.");
    p->allowed = negotiate_offers(ask->arena, FORMAT_IS_STREAMED);
    p->fields = STR("Vary: Accept\r\n");
    return false;
}

static bool read_max(struct ask *ask, struct smart *s, struct problem *p)
{
    int64_t max;

    if (!params_count(&ask->params, ask->arena, PARAM_stream_max, &max, p))
        return false;
    s->spec.view.len = (size_t)max;
    return true;
}

bool smart_range(struct ask *ask, const char *since_name, struct str since, const char *until_name,
                 struct str until, struct document_spec *spec, struct problem *p)
{
    struct cursor_log log = {store_log_id(ask->api->store), store_last_seq(ask->api->store),
                             spec->edition};

    if (!cursor_spec_read(ask->arena, since_name, since, CURSOR_TAKES_ITEMS, &log, &spec->since,
                          p) ||
        !cursor_spec_read(ask->arena, until_name, until, CURSOR_TAKES_ITEMS, &log, &spec->until, p))
        return false;
    if (order_descends(spec->view.order) && spec->since.kind == CURSOR_SEQ &&
        spec->since.token.len == 0)
        /* the order begins with the newest item, so this means from the beginning */
        spec->since.kind = CURSOR_NONE;
    return true;
}

static bool read_request(struct ask *ask, struct smart *s, struct problem *p)
{
    struct str since, until;
    int64_t timeout_s;

    s->shown = sub_book_shown(ask->api->subs);
    if (!feeds_asked_read(ask, PARAM_urls, true, &s->asked, p))
        return false;
    s->spec.edition = s->asked.edition;
    if (!read_order(ask, s, p) || !read_callback(ask, s, p) || !read_format(ask, s, p) ||
        !read_max(ask, s, p) || !filtering_read(ask, &s->what, p) ||
        !shown_read(ask, &s->spec.view, p) ||
        !params_one(&ask->params, ask->arena, PARAM_range_since, &since, p) ||
        !params_one(&ask->params, ask->arena, PARAM_range_until, &until, p) ||
        !smart_range(ask, "since", since, "until", until, &s->spec, p) ||
        !params_count(&ask->params, ask->arena, PARAM_stream_timeout, &timeout_s, p))
        return false;
    s->spec.view.filter = s->what.filter;
    if (s->spec.since.kind != CURSOR_NONE && s->spec.until.kind == CURSOR_NONE && /* D28 */
        !order_descends(s->spec.view.order))
        s->until_ms = clock_mono_ms() + timeout_s * 1000;
    return true;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The feeds of now: a folder may have got one, and one of a view may be protected since the request
 * came. `keep`: for what has changed. */
static bool renew_feeds(struct ask *ask, struct arena *keep, struct smart *s, struct problem *p)
{
    struct view now = s->spec.view, *had = &s->spec.view;
    struct filtering what;
    struct feeds_asked asked;
    struct gathered *items;
    struct str lasting;
    int64_t *ids;
    size_t n, n_ids = 0;

    s->shown = sub_book_shown(ask->api->subs);
    if (!feeds_asked_read(ask, PARAM_urls, true, &asked, p) || !filtering_read(ask, &what, p))
        return false;
    items = feeds_asked_items(ask, &asked, &n);
    ids = ARENA_ARRAY(ask->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        (void)gather_find(ask->api, &items[i]);
        if (items[i].id != 0)
            ids[n_ids++] = items[i].id;
    }
    feeds_asked_narrow(ask, &asked, items, n, &what);
    lasting = filter_text(feeds_asked_lasting(ask, &asked, items, n, what.lasting));
    now.filter = what.filter;
    now.feed_ids = ids;
    now.n_feeds = view_ids_sort(ids, n_ids);
    if (now.n_feeds != had->n_feeds || !str_eq(lasting, s->lasting) ||
        (had->n_feeds > 0 && memcmp(ids, had->feed_ids, had->n_feeds * sizeof *ids) != 0)) {
        document_copy_view(keep, &now, had);
        s->lasting = str_dup(keep, lasting);
    }
    return true;
}

/* Its views are what they were when the request came, or it is at its end. */
static void look_again(struct request *req, void *ctx)
{
    AUTO(arena_release) struct arena a = ARENA_INIT; /* it may wake often */
    struct smart *s = ctx;
    struct ask ask = req->ask;
    struct problem p;

    ask.arena = &a;
    if (!feeds_asked_is_edition(&ask, s->asked.edition)) {
        cursor_view_changed(&a, &p);
    } else if (renew_feeds(&ask, req->ask.arena, s, &p)) {
        look(req, s);
        return;
    }
    reply_problem(req, &p);
}

static void on_wake(struct request *req, bool timed_out, void *ctx)
{
    struct smart *s = ctx;

    if (timed_out)
        s->until_ms = 0; /* one last look will give the empty answer */
    if (s->asked.has_sets)
        sub_book_renew(req, look_again, s);
    else
        look(req, s);
}

static bool wait_for_news(struct request *req, struct smart *s)
{
    int64_t ms = s->until_ms - clock_mono_ms();

    if (s->until_ms == 0 || ms <= 0)
        return false;
    log_wait_start(req, s->spec.view.feed_ids, s->spec.view.n_feeds, false,
                   s->asked.has_sets ? s->shown : LOG_WAIT_NO_SETS, s->seen, ms, on_wake, s);
    return true;
}

/* What was committed up to the last look does not match, so the next look begins there. Else each
 * commit would have everything since the request read again. */
static void pass_what_was_seen(struct smart *s)
{
    if (s->spec.view.filter == NULL || s->until_ms == 0)
        return;
    if (s->spec.since.kind != CURSOR_SEQ || s->spec.since.seq < s->seen)
        s->spec.since = (struct cursor_spec){.kind = CURSOR_SEQ, .seq = s->seen};
}

static bool on_empty(struct request *req, struct reply *r)
{
    pass_what_was_seen(r->empty_ctx);
    return wait_for_news(req, r->empty_ctx);
}

static void look(struct request *req, struct smart *s)
{
    s->seen = store_last_seq(req->ask.api->store);
    /* no query is needed to know that nothing has come */
    if (s->spec.since.kind == CURSOR_SEQ && s->until_ms != 0 &&
        store_seq_of(req->ask.api->store, s->spec.view.feed_ids, s->spec.view.n_feeds) <=
            s->spec.since.seq &&
        wait_for_news(req, s))
        return;
    if (!document_unmodified(req, &s->spec, &s->reply))
        document_reply(req, &s->spec, &s->reply);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Returns the base URL with a slash at the end of its path, if the request had one there
 * (SMART-04). */
static struct str with_slash(struct arena *a, struct str self, struct str target)
{
    ssize_t query = str_chr(target, '?'), at = str_chr(self, '?');
    struct str path = query < 0 ? target : str_slice(target, 0, (size_t)query);

    if (at < 0 || !str_ends(path, STR("/")))
        return self;
    return str_printf(a, "%.*s/%.*s", (int)at, self.ptr,
                      STR_ARG(str_slice(self, (size_t)at, self.len)));
}

/* Returns the text that the stream's id is made of: its URL, but a filter counts in whatever way it
 * was written. */
static struct str id_seed(struct arena *a, struct str self, const struct filter *lasting)
{
    if (lasting == NULL)
        return self;
    return str_printf(a, "%.*s\n\n%.*s", STR_ARG(filtering_unset(a, self)), STR_ARG(lasting->text));
}

static void describe(struct ask *ask, void *own, const struct gathered *items, size_t n,
                     struct document_spec *out)
{
    static const char *const of_a_piece[] = {"since", "until", "max", "timeout", "callback"};
    struct smart *s = own;
    struct document_spec *spec = &s->spec;
    int64_t *link_ids = query_feeds(ask->arena, items, n, spec);

    feeds_asked_narrow(ask, &s->asked, items, n, &s->what);
    spec->view.filter = s->what.filter;
    spec->merged = s->asked.n_urls > 1 || s->asked.has_sets;
    spec->self = selflink_make(ask->arena, ask->origin, ask->target, NULL, s->asked.urls, link_ids,
                               s->asked.n_urls);
    for (size_t i = 0; i < ARRAY_LEN(of_a_piece); i++)
        spec->self = selflink_unset(ask->arena, spec->self, of_a_piece[i]);
    if (spec->merged || s->what.lasting != NULL)
        spec->id = pull_merged_id(
            ask->arena, str_concat(ask->arena, id_seed(ask->arena, spec->self, s->what.lasting),
                                   s->asked.seed));
    if (spec->merged)
        spec->title = feeds_asked_title(ask->arena, &s->asked);
    spec->self = with_slash(ask->arena, spec->self, ask->target);
    spec->hub = query_hub(ask);
    spec->cloud = query_cloud(ask);
    *out = *spec;
}

/* Returns the URL of the stream in this type only, for the Link field. */
static struct str typed_self(struct ask *ask, const struct smart *s)
{
    return s->type_given ? s->spec.self
                         : selflink_set(ask->arena, s->spec.self, "type",
                                        str_from(format_name(s->spec.view.format)));
}

static void on_gathered(struct request *req, struct gathered *items, size_t n, void *ctx)
{
    struct smart *s = ctx;
    bool secret = ask_is_private(&req->ask) || s->asked.has_sets;
    bool waits = s->until_ms != 0;
    struct document_spec spec;
    struct str links;

    for (size_t i = 0; i < n; i++)
        secret = secret || !str_is_null(items[i].want.credential);
    describe(&req->ask, s, items, n, &spec);
    if (feeds_asked_failed(&s->asked, spec.view.n_feeds)) {
        struct problem p;

        gather_problem(req, items, n, &p);
        reply_problem(req, &p);
        return;
    }
    store_touch(req->ask.api->store, spec.view.feed_ids, spec.view.n_feeds);
    links = query_link_field(&req->ask, typed_self(&req->ask, s), true, STR_NULL);
    if (!str_is_null(links))
        s->reply.fields = str_concat(req->ask.arena, links, s->reply.fields);
    s->reply.cache = waits ? NEVER_STORED : secret ? FRESH_PRIVATE : FRESH;
    s->reply.private_cache = waits ? NEVER_STORED : FRESH_PRIVATE;
    s->reply.varies_encoding = true;
    s->reply.is_undated =
        s->asked.has_sets || s->what.has_age || !str_is_null(s->spec.view.mirror);
    s->reply.on_empty = on_empty;
    s->reply.empty_ctx = s;
    if (waits)
        request_hold(req, s->until_ms - clock_mono_ms() + MARGIN_MS);
    look(req, s);
}

/* A topic of the hub, or a node: a subscriber gets what comes, so parameters for positions and
 * pieces have no meaning for it. */
bool smart_query(struct ask *ask, struct query *q, struct problem *p)
{
    struct smart *s = ARENA_NEW(ask->arena, struct smart);

    *s = (struct smart){.reply = REPLY_INIT};
    s->spec.view.form = FORM_STREAM;
    if (!read_request(ask, s, p))
        return false;
    s->since = s->spec.since;
    s->until = s->spec.until;
    s->spec.since.kind = s->spec.until.kind = CURSOR_NONE;
    s->spec.callback = STR_NULL;
    *q = (struct query){.asked = &s->asked,
                        .urls = s->asked.urls,
                        .n_urls = s->asked.n_urls,
                        .lasting = s->what.lasting,
                        .describe = describe,
                        .own = s};
    return true;
}

void smart_piece(const struct query *q, struct document_spec *spec)
{
    const struct smart *s = q->own;

    ASSERT(q->describe == describe);
    spec->since = s->since;
    spec->until = s->until;
    spec->view.len = s->spec.view.len;
}

void smart_get(struct request *req)
{
    struct smart *s = ARENA_NEW(req->ask.arena, struct smart);
    struct problem p;

    *s = (struct smart){.reply = REPLY_INIT};
    s->spec.view.form = FORM_STREAM;
    if (!read_request(&req->ask, s, &p)) {
        reply_problem(req, &p);
        return;
    }
    /* a browser does not say to a plain http server whose page it is */
    if (!str_is_null(s->spec.callback) && (req->has_cookie || request_is_foreign(req))) {
        request_refuse_foreign(req, "read an answer through `callback`");
        return;
    }
    feeds_asked_gather(req, &s->asked, on_gathered, s);
}
