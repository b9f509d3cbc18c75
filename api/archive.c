/* api/archive.c - the log in pages: /simple, /archive, /history, /pmh.
 *
 * The entry document of each shows the newest page and is named by `url`, as /feed is; the others
 * are found by following its links. What a settled page is called tells everything about it, so it
 * is answered from the cache without a look at anything else. */
#include "api/resources.h"

#include "api/feedset.h"
#include "api/gather.h"
#include "api/pull.h"
#include "api/render.h"
#include "api/selflink.h"
#include "api/topic.h"

#define FRESH "max-age=2"
#define FRESH_PRIVATE "private, max-age=2"
#define SEALED "max-age=300" /* its link to the next page is to come */
#define SEALED_PRIVATE "private, max-age=300"
#define SETTLED "public, max-age=31536000, immutable"
#define SETTLED_PRIVATE "private, max-age=31536000, immutable"

struct paged { /* in the call's arena */
    struct render_spec spec;
    struct reply reply;
    struct wanted_url *urls;
    size_t n_urls;
    bool secret; /* a feed of it is behind a password */
};

static void refuse(struct call *c, enum problem_kind kind, const char *text)
{
    struct problem p;

    problem_set(&p, c->arena, kind, "%s", text);
    reply_problem(c, &p);
}

static void no_page(struct call *c)
{
    refuse(c, PROBLEM_NOT_FOUND,
           "There is no such document. The documents of a feed are found by following links from "
           "its entry document, not by making up URLs.");
}

static void set_freshness(struct call *c, struct paged *g, const char *all, const char *own)
{
    g->reply.cache = str_is_null(c->cfg->token) && !g->secret ? all : own;
    g->reply.private_cache = own;
}

static void answer(struct call *c, struct paged *g)
{
    if (!render_unmodified(c, &g->spec, &g->reply))
        render_reply(c, &g->spec, &g->reply);
}

/* ---- entry documents ------------------------------------------------------------------------- */

static void describe(struct call *c, void *own, const struct gathered *items, size_t n,
                     struct render_spec *out)
{
    struct paged *g = own;
    int64_t *link_ids = topic_ids(c->arena, items, n, &g->spec);

    g->spec.merged = g->spec.view.n_feeds > 1;
    g->spec.origin = pull_origin(c);
    g->spec.self = selflink_make(c->arena, g->spec.origin, c->target, NULL, g->urls, link_ids, n);
    g->spec.hub = g->spec.complete ? STR_NULL : topic_hub(c); /* it names itself alone (ARCH-12) */
    *out = g->spec;
}

static void on_gathered(struct call *c, struct gathered *items, size_t n, void *ctx)
{
    struct paged *g = ctx;
    struct render_spec spec;

    for (size_t i = 0; i < n; i++) {
        g->secret = g->secret || !str_is_null(items[i].want.credential);
        if (!items[i].ready) {
            /* part of a set would be another log, with other documents */
            struct problem p;

            gather_problem(c, &items[i], 1, &p);
            reply_problem(c, &p);
            return;
        }
    }
    describe(c, g, items, n, &spec);
    store_touch(c->api->store, spec.view.feed_ids, spec.view.n_feeds);
    g->reply.fields = topic_link_field(c, spec.self, true, STR_NULL);
    set_freshness(c, g, FRESH, FRESH_PRIVATE);
    answer(c, g);
}

/* The entry document of a form, by its parameters. */
static bool entry_topic(struct call *c, enum form form, struct topic *t, struct problem *p)
{
    struct paged *g = ARENA_NEW(c->arena, struct paged);
    struct str mode;
    bool given;

    *g = (struct paged){.reply = REPLY_INIT};
    g->reply.varies_encoding = true;
    g->spec.view.form = form;
    if (!params_urls(&c->params, c->arena, true, &g->urls, &g->n_urls, p) ||
        !params_format(&c->params, c->arena, &g->spec.view.format, &given, p) ||
        !params_optional(&c->params, c->arena, "mode", &mode, p))
        return false;
    if (!given)
        g->spec.view.format = FORMAT_ATOM;
    if (g->n_urls > FEEDSET_MAX) {
        problem_set(p, c->arena, PROBLEM_TOO_LARGE, "An archive of %zu feeds; %d can be in one.",
                    g->n_urls, FEEDSET_MAX);
        p->status = 422;
        return false;
    }
    if (g->spec.view.format != FORMAT_ATOM && g->spec.view.format != FORMAT_RSS) {
        problem_set(p, c->arena, PROBLEM_NOT_ACCEPTABLE,
                    "Archives are Atom or RSS documents; `type` names another type.");
        p->allowed = "atom|rss";
        return false;
    }
    if (g->spec.view.form == FORM_RECORDS && !str_is_null(mode)) {
        if (!str_eqz(mode, "complete"))
            return problem_parameter(p, c->arena, "mode", mode, "complete",
                                     "The parameter `mode` can be `complete`, or be left out.");
        g->spec.complete = true;
    }
    g->spec.page = -1;
    g->spec.page_size = c->cfg->archive_size;
    *t = (struct topic){
        .urls = g->urls, .n_urls = g->n_urls, .needs_all = true, .describe = describe, .own = g};
    return true;
}

static void serve_entry(struct call *c, enum form form)
{
    struct gathered *items;
    struct topic t = {.urls = NULL};
    struct problem p;

    if (!entry_topic(c, form, &t, &p)) {
        reply_problem(c, &p);
        return;
    }
    items = ARENA_ARRAY(c->arena, struct gathered, t.n_urls);
    for (size_t i = 0; i < t.n_urls; i++)
        items[i].want = t.urls[i];
    gather_start(c, items, t.n_urls, on_gathered, t.own);
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct look {
    struct paged *paged; /* in the call's arena: only the loop looks at it */
    struct feedset set;
    int64_t page;
    struct log_page found;
};

static bool find_page(struct task *t, struct reader *r)
{
    struct look *l = t->data;

    t->rc = reader_page(r, l->set.ids, l->set.n, l->set.page_size, l->page, &l->found, &t->err);
    return true;
}

/* The page was not in the cache as a settled one: where does it stand? */
static void on_found(struct task *t, struct call *c)
{
    struct look *l = t->data;
    struct paged *g = l->paged;
    const struct form_rules *rules = form_rules(g->spec.view.form);
    struct form_page page = {.n = l->found.n, .n_pages = l->found.n_pages};
    bool newest = page.n + 1 >= page.n_pages;

    if (t->rc == RC_NOT_FOUND && l->page == 0 &&
        (rules->is_instance ? g->spec.page_rows == PAGE_NO_ROWS : rules->has_own_url))
        t->rc = RC_OK; /* the growing page of a log that has no entries yet */
    if (t->rc == RC_NOT_FOUND || (t->rc == RC_OK && newest && !rules->has_own_url) ||
        (t->rc == RC_OK && g->spec.page_rows != PAGE_NO_ROWS &&
         g->spec.page_rows > l->found.n_rows)) {
        no_page(c);
        return;
    }
    if (t->rc != RC_OK) {
        struct problem p;

        problem_of_err(&p, c->arena, t->rc, &t->err);
        reply_problem(c, &p);
        return;
    }
    g->spec.is_settled = form_page_is_settled(g->spec.view.form, &page);
    if (g->spec.is_settled)
        set_freshness(c, g, SETTLED, SETTLED_PRIVATE);
    else if (newest)
        set_freshness(c, g, FRESH, FRESH_PRIVATE);
    else
        set_freshness(c, g, SEALED, SEALED_PRIVATE);
    answer(c, g);
}

/* In the one way in which we write it: what is to be kept for ever has one name. */
static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0 && (s.ptr[0] != '0' || s.len == 1);
}

static size_t hyphen(struct str s)
{
    ssize_t at = str_chr(s, '-');

    return at < 0 ? s.len : (size_t)at;
}

/* "12", "12.rss"; "12-50" for instances. */
static bool read_number(struct str s, bool is_instance, struct render_spec *spec)
{
    struct str rest = s;
    int64_t rows = 0;

    spec->view.format = FORMAT_ATOM;
    if (str_ends(rest, STR(".rss"))) {
        spec->view.format = FORMAT_RSS;
        rest.len -= 4;
    }
    if (rest.len > 41 || !is_number(is_instance ? str_slice(rest, 0, hyphen(rest)) : rest) ||
        (is_instance && hyphen(rest) < rest.len &&
         !is_number(str_slice(rest, hyphen(rest) + 1, rest.len))))
        return false;
    if (is_instance) {
        struct str page = str_split(&rest, '-');

        if (str_is_null(rest) || !str_to_i64(rest, &rows) || rows < 0)
            return false;
        rest = page;
    }
    if (!str_to_i64(rest, &spec->page) || spec->page < 0)
        return false;
    spec->page_rows = is_instance && rows == 0 ? PAGE_NO_ROWS : (size_t)rows;
    return spec->page_rows != PAGE_NO_ROWS || spec->page == 0; /* of the log without entries */
}

static void serve_page(struct call *c, struct paged *g, struct str path)
{
    struct str rest = path, word = str_split(&rest, '/'), secret = store_secret(c->api->store);
    struct feedset set;
    struct task *t;
    struct look *l;

    if (str_is_null(rest) || !feedset_read(c->arena, word, secret, &set) ||
        !read_number(rest, form_rules(g->spec.view.form)->is_instance, &g->spec) ||
        (g->spec.page_rows != PAGE_NO_ROWS && g->spec.page_rows > set.page_size)) {
        no_page(c);
        return;
    }
    g->spec.view.feed_ids = set.ids;
    g->spec.view.n_feeds = set.n;
    g->spec.merged = set.n > 1;
    g->spec.page_size = set.page_size;
    for (size_t i = 0; i < set.n && !g->secret; i++) /* a 304 tells it as a 200 does */
        g->secret = !str_is_null(store_access_key(c->api->store, set.ids[i], c->arena));
    g->spec.is_settled = true; /* if it is one, this is its name */
    set_freshness(c, g, SETTLED, SETTLED_PRIVATE);
    if (render_unmodified(c, &g->spec, &g->reply) || render_from_cache(c, &g->spec, &g->reply))
        return;
    t = task_new(c, find_page, on_found);
    l = ARENA_NEW(&t->arena, struct look);
    l->paged = g;
    l->page = g->spec.page;
    l->set = set;
    l->set.ids = (int64_t *)(uintptr_t)arena_copy(&t->arena, set.ids, set.n * sizeof *set.ids);
    t->data = l;
    task_start(t);
}

static void serve(struct call *c, enum form form)
{
    const struct form_rules *rules = form_rules(form);
    struct paged *g = ARENA_NEW(c->arena, struct paged);
    struct str path = http_request_path(c->req);

    *g = (struct paged){.reply = REPLY_INIT};
    g->reply.varies_encoding = true;
    g->spec.view.form = form;
    g->spec.origin = pull_origin(c);
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (str_eqz(path, rules->entry))
        serve_entry(c, form);
    else if (path.len > strlen(rules->path))
        serve_page(c, g, str_slice(path, strlen(rules->path) + 1, path.len));
    else
        no_page(c);
}

void simple_get(struct call *c)
{
    serve(c, FORM_EVENTS);
}

bool simple_topic(struct call *c, struct topic *t, struct problem *p)
{
    return entry_topic(c, FORM_EVENTS, t, p);
}

void archive_get(struct call *c)
{
    serve(c, FORM_ARCHIVE);
}

bool archive_topic(struct call *c, struct topic *t, struct problem *p)
{
    return entry_topic(c, FORM_ARCHIVE, t, p);
}

void history_get(struct call *c)
{
    serve(c, FORM_HISTORY);
}

bool history_topic(struct call *c, struct topic *t, struct problem *p)
{
    return entry_topic(c, FORM_HISTORY, t, p);
}

void pmh_get(struct call *c)
{
    serve(c, FORM_RECORDS);
}

bool pmh_topic(struct call *c, struct topic *t, struct problem *p)
{
    return entry_topic(c, FORM_RECORDS, t, p);
}
