/* api/archive.c - the log in pages: /simple, /archive, /history, /pmh.
 *
 * The entry document of each shows the newest page and is named by `url`, as /feed is; the others
 * are found by following its links. What a settled page is called tells everything about it, so it
 * is answered from the cache without a look at anything else. */
#include "api/resources.h"

#include <stdlib.h>

#include "api/feedset.h"
#include "api/gather.h"
#include "api/pull.h"
#include "api/render.h"
#include "api/selflink.h"

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
    g->reply.cache = str_is_null(c->cfg->token) ? all : own;
    g->reply.private_cache = own;
}

static void answer(struct call *c, struct paged *g)
{
    if (!render_unmodified(c, &g->spec, &g->reply))
        render_reply(c, &g->spec, &g->reply);
}

/* ---- entry documents ------------------------------------------------------------------------- */

static int by_id(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

static void on_gathered(struct call *c, struct gathered *items, size_t n, void *ctx)
{
    struct paged *g = ctx;
    int64_t *ids = ARENA_ARRAY(c->arena, int64_t, n + 1);
    int64_t *link_ids = ARENA_ARRAY(c->arena, int64_t, n + 1);
    bool secret = false;
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++) {
        secret = secret || !str_is_null(items[i].want.credential);
        link_ids[i] = items[i].ready ? items[i].id : 0;
        if (items[i].ready)
            ids[n_ids++] = items[i].id;
        else if (g->n_urls > 1) {
            /* part of a set would be another log, with other documents */
            struct problem p;

            gather_problem(c, &items[i], 1, &p);
            reply_problem(c, &p);
            return;
        }
    }
    if (n_ids == 0) {
        struct problem p;

        gather_problem(c, items, n, &p);
        reply_problem(c, &p);
        return;
    }
    qsort(ids, n_ids, sizeof *ids, by_id);
    g->spec.ids = ids;
    for (size_t i = 0; i < n_ids; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            ids[g->spec.n_ids++] = ids[i];
    g->spec.merged = g->spec.n_ids > 1;
    store_touch(c->api->store, ids, g->spec.n_ids);
    g->spec.self = selflink_make(c->arena, g->spec.origin, http_request_target(c->req), NULL,
                                 g->urls, link_ids, n);
    set_freshness(c, g, secret ? FRESH_PRIVATE : FRESH, FRESH_PRIVATE);
    answer(c, g);
}

static void serve_entry(struct call *c, struct paged *g)
{
    struct gathered *items;
    struct problem p;
    struct str mode;
    bool given;

    if (!params_urls(&c->params, c->arena, true, &g->urls, &g->n_urls, &p) ||
        !params_format(&c->params, c->arena, &g->spec.format, &given, &p) ||
        !params_optional(&c->params, c->arena, "mode", &mode, &p)) {
        reply_problem(c, &p);
        return;
    }
    if (!given)
        g->spec.format = FORMAT_ATOM;
    if (g->n_urls > FEEDSET_MAX) {
        problem_set(&p, c->arena, PROBLEM_TOO_LARGE, "An archive of %zu feeds; %d can be in one.",
                    g->n_urls, FEEDSET_MAX);
        p.status = 422;
        reply_problem(c, &p);
        return;
    }
    if (g->spec.format != FORMAT_ATOM && g->spec.format != FORMAT_RSS) {
        problem_set(&p, c->arena, PROBLEM_NOT_ACCEPTABLE,
                    "Archives are Atom or RSS documents; `type` names another type.");
        p.allowed = "atom|rss";
        reply_problem(c, &p);
        return;
    }
    if (g->spec.form == FORM_RECORDS && !str_is_null(mode)) {
        if (!str_eqz(mode, "complete")) {
            problem_parameter(&p, c->arena, "mode", mode, "complete",
                              "The parameter `mode` can be `complete`, or be left out.");
            reply_problem(c, &p);
            return;
        }
        g->spec.complete = true;
    }
    g->spec.page = -1;
    g->spec.page_size = c->cfg->archive_size;
    items = ARENA_ARRAY(c->arena, struct gathered, g->n_urls);
    for (size_t i = 0; i < g->n_urls; i++)
        items[i].want = g->urls[i];
    gather_start(c, items, g->n_urls, on_gathered, g);
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
    const struct form_rules *rules = form_rules(g->spec.form);
    struct form_page page = {.n = l->found.n, .n_pages = l->found.n_pages};
    bool newest = page.n + 1 == page.n_pages;

    if (t->rc == RC_NOT_FOUND || (t->rc == RC_OK && newest && !rules->has_own_url) ||
        (t->rc == RC_OK && g->spec.page_rows > l->found.n_rows)) {
        no_page(c);
        return;
    }
    if (t->rc != RC_OK) {
        struct problem p;

        problem_of_err(&p, c->arena, t->rc, &t->err);
        reply_problem(c, &p);
        return;
    }
    g->spec.is_settled = form_page_is_settled(g->spec.form, &page);
    if (g->spec.is_settled)
        set_freshness(c, g, SETTLED, SETTLED_PRIVATE);
    else if (newest)
        set_freshness(c, g, FRESH, FRESH_PRIVATE);
    else
        set_freshness(c, g, SEALED, SEALED_PRIVATE);
    answer(c, g);
}

/* "12", "12.rss"; "12-50" for instances. */
static bool read_number(struct str s, bool is_instance, struct render_spec *spec)
{
    struct str rest = s;
    int64_t rows = 0;

    spec->format = FORMAT_ATOM;
    if (str_ends(rest, STR(".rss"))) {
        spec->format = FORMAT_RSS;
        rest.len -= 4;
    }
    if (rest.len == 0 || rest.len > 20 || rest.ptr[0] == '-' || rest.ptr[0] == '+')
        return false;
    if (is_instance) {
        struct str page = str_split(&rest, '-');

        if (str_is_null(rest) || !str_to_i64(rest, &rows) || rows <= 0)
            return false;
        rest = page;
    }
    spec->page_rows = (size_t)rows;
    return str_to_i64(rest, &spec->page) && spec->page >= 0;
}

static void serve_page(struct call *c, struct paged *g, struct str path)
{
    struct str rest = path, word = str_split(&rest, '/'), secret = store_secret(c->api->store);
    struct feedset set;
    struct task *t;
    struct look *l;

    if (str_is_null(rest) || !feedset_read(c->arena, word, secret, &set) ||
        !read_number(rest, form_rules(g->spec.form)->is_instance, &g->spec) ||
        g->spec.page_rows > set.page_size) {
        no_page(c);
        return;
    }
    g->spec.ids = set.ids;
    g->spec.n_ids = set.n;
    g->spec.merged = set.n > 1;
    g->spec.page_size = set.page_size;
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
    g->spec.form = form;
    g->spec.origin = pull_origin(c);
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (str_eqz(path, rules->entry))
        serve_entry(c, g);
    else if (path.len > strlen(rules->path))
        serve_page(c, g, str_slice(path, strlen(rules->path) + 1, path.len));
    else
        no_page(c);
}

void simple_get(struct call *c)
{
    serve(c, FORM_EVENTS);
}

void archive_get(struct call *c)
{
    serve(c, FORM_ARCHIVE);
}

void history_get(struct call *c)
{
    serve(c, FORM_HISTORY);
}

void pmh_get(struct call *c)
{
    serve(c, FORM_RECORDS);
}
