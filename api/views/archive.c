/* api/views/archive.c - the log in pages: /simple, /archive, /history, /pmh.
 *
 * The entry document of each shows the newest page. Its parameter is `url`, as for /feed. The other
 * documents are found by following links. The name of a settled page tells everything about it, so
 * it is answered from the cache without reading anything else. */
#include "api/http/handlers.h"

#include "api/http/task.h"
#include "api/views/documents.h"
#include "api/views/feeds_asked.h"
#include "api/views/feedset.h"
#include "api/views/filtering.h"
#include "api/views/forms.h"
#include "api/views/gather.h"
#include "api/views/history.h"
#include "api/views/log_rows.h"
#include "api/views/pull.h"
#include "api/views/queries.h"
#include "api/views/selflink.h"
#include "feed/filter/filter.h"

#define FRESH "max-age=2"
#define FRESH_PRIVATE "private, max-age=2"
#define SEALED "max-age=300" /* the page will still get its link to the next page */
#define SEALED_PRIVATE "private, max-age=300"
#define SETTLED "public, max-age=31536000, immutable"
#define SETTLED_PRIVATE "private, max-age=31536000, immutable"

struct paged { /* in the request's arena */
    struct document_spec spec;
    struct reply reply;
    struct feeds_asked asked;
    const struct filter *own; /* of the entry document's request, without those of its views */
    bool secret;              /* one of its feeds needs a password */
    bool lacks_feeds; /* this node does not know all of them: another one may, or they are gone */
};

static void refuse(struct request *req, enum problem_kind kind, const char *text)
{
    struct problem p;

    problem_set(&p, req->ask.arena, kind, "%s", text);
    reply_problem(req, &p);
}

static void no_page(struct request *req)
{
    refuse(req, PROBLEM_NOT_FOUND,
           "There is no such document. The documents of a feed are found by following links from "
           "its entry document, not by making up URLs.");
}

static void set_freshness(struct request *req, struct paged *g, const char *all, const char *own)
{
    g->reply.cache = !ask_is_private(&req->ask) && !g->secret ? all : own;
    g->reply.private_cache = own;
    g->reply.is_undated = g->asked.has_sets || !str_is_null(g->spec.view.mirror);
}

static void answer(struct request *req, struct paged *g)
{
    if (!document_unmodified(req, &g->spec, &g->reply))
        document_reply(req, &g->spec, &g->reply);
}

/* ---- where a page is ------------------------------------------------------------------------- */

struct look {
    struct paged *paged; /* in the request's arena: only the loop looks at it */
    struct page_set set;
    int64_t page;
    bool looks_at_feeds; /* this node does not know all of them */
    struct log_page found;
};

/* Without one of its feeds the set would be another log, with other documents. What a feed had that
 * became part of another one is there. */
static enum rc look_at_feeds(struct task *t, struct reader *r, const struct page_set *set)
{
    struct str url, title;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < set->n_ids && rc == RC_OK; i++)
        if (!store_is_merged(t->api->store, set->ids[i]))
            rc = reader_feed_name(r, set->ids[i], &t->arena, &url, &title, &t->err);
    return rc;
}

static enum task_step find_page(struct task *t, struct reader *r)
{
    struct look *l = t->data;

    t->rc = l->looks_at_feeds ? look_at_feeds(t, r, &l->set) : RC_OK;
    l->looks_at_feeds = t->rc == RC_NOT_FOUND;
    if (t->rc == RC_OK)
        t->rc = reader_page(r, &l->set, l->page, &l->found, &t->err);
    return t->rc == RC_TIMEOUT ? TASK_YIELDS : TASK_ENDS;
}

/* Find a page; `n` < 0: the newest. A filter may have to judge the whole log for that. */
static void find(struct request *req, struct paged *g, int64_t n, task_done_fn *done)
{
    const struct view *v = &g->spec.view;
    struct task *t = task_new(req, find_page, done);
    struct look *l = ARENA_NEW(&t->arena, struct look);
    struct view copy;

    document_copy_view(&t->arena, v, &copy);
    *l = (struct look){.paged = g,
                       .page = n,
                       .looks_at_feeds = g->lacks_feeds,
                       .set = {.ids = copy.feed_ids,
                               .n_ids = copy.n_feeds,
                               .size = g->spec.page_size,
                               .filter = copy.filter}};
    t->data = l;
    if (v->filter != NULL)
        task_start_long(t);
    else
        task_start(t);
}

static void refuse_find(struct request *req, const struct task *t)
{
    struct problem p;

    problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    if (t->rc == RC_GONE)
        history_tell(&req->ask, &((const struct look *)t->data)->paged->spec.view, STR_NULL, &p);
    reply_problem(req, &p);
}

/* ---- entry documents ------------------------------------------------------------------------- */

static bool is_topic(const struct paged *g)
{
    return g->spec.part != PART_ALL;
}

/* The filter is a part of URLs. */
static bool filter_fits(struct ask *ask, const struct filter *f, struct problem *p)
{
    if (f == NULL || f->text.len <= FEEDSET_FILTER_MAX)
        return true;
    problem_set(p, ask->arena, PROBLEM_TOO_LARGE,
                "The filter has %zu bytes, with the feeds of each view for which it is another "
                "one; that of an "
                "archive can have %d.",
                f->text.len, FEEDSET_FILTER_MAX);
    p->status = 422;
    return false;
}

static void describe(struct ask *ask, void *own, const struct gathered *items, size_t n,
                     struct document_spec *out)
{
    struct paged *g = own;
    int64_t *link_ids = query_feeds(ask->arena, items, n, &g->spec);

    g->spec.view.filter = feeds_asked_lasting(ask, &g->asked, items, n, g->own);
    g->spec.merged = g->spec.view.n_feeds != 1;
    g->spec.origin = ask->origin;
    g->spec.self = selflink_make(ask->arena, g->spec.origin, ask->target, NULL, g->asked.urls,
                                 link_ids, g->asked.n_urls);
    /* the head of a complete document has only a link to itself (ARCH-12) */
    g->spec.hub = is_topic(g) ? query_hub(ask) : STR_NULL;
    g->spec.cloud = is_topic(g) ? query_cloud(ask) : STR_NULL;
    *out = g->spec;
}

/* All revisions have been judged, so the document can be drawn at once. */
static void on_counted(struct task *t, struct request *req)
{
    const struct look *l = t->data;

    if (t->rc == RC_OK || t->rc == RC_NOT_FOUND)
        answer(req, l->paged);
    else
        refuse_find(req, t);
}

static void on_gathered(struct request *req, struct gathered *items, size_t n, void *ctx)
{
    struct paged *g = ctx;
    struct document_spec spec;
    struct problem p;

    for (size_t i = 0; i < n; i++) {
        g->secret = g->secret || !str_is_null(items[i].want.credential);
        if (!items[i].ready && !items[i].is_member) {
            /* only some of the feeds would be another log, with other documents */
            gather_problem(req, &items[i], 1, &p);
            reply_problem(req, &p);
            return;
        }
    }
    describe(&req->ask, g, items, n, &spec);
    if (!filter_fits(&req->ask, spec.view.filter, &p)) {
        reply_problem(req, &p);
        return;
    }
    store_touch(req->ask.api->store, spec.view.feed_ids, spec.view.n_feeds);
    g->reply.fields = query_link_field(&req->ask, spec.self, true, STR_NULL);
    set_freshness(req, g, g->asked.is_own ? FRESH_PRIVATE : FRESH, FRESH_PRIVATE);
    if (document_unmodified(req, &g->spec, &g->reply))
        return;
    if (g->spec.view.filter == NULL)
        document_reply(req, &g->spec, &g->reply);
    else if (!document_from_cache(req, &g->spec, &g->reply))
        find(req, g, -1, on_counted);
}

/* Archives are offered in few formats. Accept does not choose among them, because their links each
 * name one document. */
static bool read_format(struct ask *ask, enum feed_format *out, struct problem *p)
{
    bool given;

    if (!params_format(&ask->params, ask->arena, PARAM_archive_type, out, &given, p))
        return false;
    if (!given)
        *out = FORMAT_ATOM;
    return true;
}

/* Read `mode`, which only /pmh has: all current metadata records in one document. */
static bool read_part(struct ask *ask, enum form form, enum log_part *out, struct problem *p)
{
    int mode = -1;

    if (form == FORM_METADATA && !params_choice(&ask->params, ask->arena, PARAM_mode, &mode, p))
        return false;
    *out = mode < 0 ? PART_NEWEST : PART_ALL;
    return true;
}

/* Only the entry document names mirrored files: documents that stay for ever cannot name what leaves.
 * Metadata records name no files. */
static bool read_mirror(struct ask *ask, struct view *view, struct problem *p)
{
    bool is_mirrored;

    if (view->form == FORM_METADATA)
        return true;
    if (!params_flag(&ask->params, ask->arena, PARAM_of_mirror, &is_mirrored, p))
        return false;
    view->mirror = is_mirrored ? ask->origin : STR_NULL;
    return true;
}

/* Read the filter. It is part of the names of documents that stay for ever, and an age would make
 * other documents with time. So ages count from the time of each revision, as in pushes. */
static bool read_filter(struct ask *ask, const struct filter **out, struct problem *p)
{
    struct filtering what;

    if (!filtering_read(ask, &what, p))
        return false;
    *out = what.lasting;
    return filter_fits(ask, what.lasting, p);
}

/* Read the parameters of the entry document of a form. */
static bool entry_query(struct ask *ask, enum form form, struct query *q, struct problem *p)
{
    struct paged *g = ARENA_NEW(ask->arena, struct paged);

    *g = (struct paged){.reply = REPLY_INIT};
    g->reply.varies_encoding = true;
    g->spec.view.form = form;
    if (!feeds_asked_read(ask, PARAM_urls, true, &g->asked, p) ||
        !read_format(ask, &g->spec.view.format, p) || !read_part(ask, form, &g->spec.part, p) ||
        !read_mirror(ask, &g->spec.view, p) || !read_filter(ask, &g->own, p))
        return false;
    if (g->asked.n_urls + g->asked.n_of_views + g->asked.n_members > FEEDSET_MAX) {
        problem_set(p, ask->arena, PROBLEM_TOO_LARGE, "An archive of %zu feeds; %d can be in one.",
                    g->asked.n_urls + g->asked.n_of_views + g->asked.n_members, FEEDSET_MAX);
        p->status = 422;
        return false;
    }
    g->spec.page_size = ask->cfg->archive_size;
    *q = (struct query){.asked = &g->asked,
                        .urls = g->asked.urls,
                        .n_urls = g->asked.n_urls,
                        .needs_all = true,
                        .lasting = g->own,
                        .describe = describe,
                        .own = g};
    return true;
}

static void serve_entry(struct request *req, enum form form)
{
    struct query q;
    struct problem p;

    if (!entry_query(&req->ask, form, &q, &p)) {
        reply_problem(req, &p);
        return;
    }
    feeds_asked_gather(req, &((const struct paged *)q.own)->asked, on_gathered, q.own);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* The page was not in the cache as a settled page: find its position in the log. */
static void on_found(struct task *t, struct request *req)
{
    struct look *l = t->data;
    struct paged *g = l->paged;
    enum form form = g->spec.view.form;
    bool has_own_url = form_has(form, FORM_HAS_OWN_URL);
    struct form_page page = {.n = l->found.n, .n_pages = l->found.n_pages};
    bool newest = page.n + 1 >= page.n_pages;

    if (l->looks_at_feeds) {
        refuse(req, PROBLEM_HISTORY_GONE,
               "A feed of this document was removed, with all that it had. The entry document of "
               "the other feeds leads to documents without it.");
        return;
    }
    if (t->rc == RC_NOT_FOUND && l->page == 0 &&
        (g->spec.part == PART_STATE ? g->spec.log_rows == 0 : has_own_url))
        t->rc = RC_OK; /* the newest page of a log that has no entries yet */
    if (t->rc == RC_NOT_FOUND || (t->rc == RC_OK && newest && !has_own_url) ||
        (t->rc == RC_OK && g->spec.part == PART_STATE && g->spec.log_rows > l->found.n_rows)) {
        no_page(req);
        return;
    }
    if (t->rc != RC_OK) {
        refuse_find(req, t);
        return;
    }
    g->spec.is_settled = form_page_is_settled(form, &page);
    if (g->spec.is_settled)
        set_freshness(req, g, SETTLED, SETTLED_PRIVATE);
    else if (newest)
        set_freshness(req, g, FRESH, FRESH_PRIVATE);
    else
        set_freshness(req, g, SEALED, SEALED_PRIVATE);
    answer(req, g);
}

/* Returns true for a number as we write it. A document that is kept for ever must have only one
 * name. */
static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0 && (s.ptr[0] != '0' || s.len == 1);
}

/* Cut the suffix of a format off the name of a page. Atom has no suffix. */
static enum feed_format take_suffix(struct str *name)
{
    for (int i = 0; i < FORMAT_COUNT_; i++) {
        struct str suffix = str_from(format_suffix((enum feed_format)i));

        if (suffix.len == 0 || !str_ends(*name, suffix))
            continue;
        name->len -= suffix.len;
        return (enum feed_format)i;
    }
    return FORMAT_ATOM;
}

/* Read "12" or "12.rss"; for instances "12-50". */
static bool read_number(struct str s, bool is_instance, struct document_spec *spec)
{
    struct str rest = s, number;
    int64_t rows = 0;

    spec->view.format = take_suffix(&rest);
    spec->part = is_instance ? PART_STATE : PART_PAGE;
    number = is_instance ? str_split(&rest, '-') : rest;
    if (number.len > 19 || !is_number(number) || !str_to_i64(number, &spec->log_page))
        return false;
    if (!is_instance)
        return true;
    if (str_is_null(rest) || rest.len > 19 || !is_number(rest) || !str_to_i64(rest, &rows))
        return false;
    spec->log_rows = (size_t)rows;
    return rows > 0 || spec->log_page == 0; /* without rows: the page of a log without entries */
}

/* The filter of a word. False: another version of the program had it. */
static bool take_filter(struct arena *a, struct str text, const struct filter **out)
{
    *out = str_is_null(text) ? NULL : filter_read(a, text);
    return str_is_null(text) || *out != NULL;
}

static void serve_page(struct request *req, struct paged *g, struct str path)
{
    struct str rest = path, word = str_split(&rest, '/'),
               secret = store_secret(req->ask.api->store);
    struct feedset set;

    if (str_is_null(rest) || !feedset_read(req->ask.arena, word, secret, &set) ||
        !take_filter(req->ask.arena, set.filter, &g->spec.view.filter) ||
        !read_number(rest, form_has(g->spec.view.form, FORM_IS_INSTANCE), &g->spec) ||
        g->spec.log_rows > set.page_size) {
        no_page(req);
        return;
    }
    g->spec.view.feed_ids = set.ids;
    g->spec.view.n_feeds = set.n;
    g->spec.merged = set.n > 1;
    g->spec.page_size = set.page_size;
    /* also before a 304, which has the same Cache-Control */
    for (size_t i = 0; i < set.n && !g->secret; i++)
        g->secret = !log_feed_is_public(req->ask.api->store, set.ids[i]);
    for (size_t i = 0; i < set.n; i++) {
        struct feed_brief brief;

        g->lacks_feeds |= !store_brief(req->ask.api->store, set.ids[i], &brief) &&
                          !store_is_merged(req->ask.api->store, set.ids[i]);
    }
    if (g->lacks_feeds || store_horizon(req->ask.api->store, set.ids, set.n, false) > 0) {
        find(req, g, g->spec.log_page, on_found);
        return;
    }
    g->spec.is_settled = true; /* a settled page would have this name in the cache */
    set_freshness(req, g, SETTLED, SETTLED_PRIVATE);
    if (document_unmodified(req, &g->spec, &g->reply) ||
        document_from_cache(req, &g->spec, &g->reply))
        return;
    find(req, g, g->spec.log_page, on_found);
}

static void serve(struct request *req, enum form form)
{
    const struct form_ops *rules = form_ops(form);
    struct paged *g = ARENA_NEW(req->ask.arena, struct paged);
    struct str path = http_request_path(req->http);

    *g = (struct paged){.reply = REPLY_INIT};
    g->reply.varies_encoding = true;
    g->spec.view.form = form;
    g->spec.origin = req->ask.origin;
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (str_eqz(path, rules->entry_path))
        serve_entry(req, form);
    else if (path.len > strlen(rules->path))
        serve_page(req, g, str_slice(path, strlen(rules->path) + 1, path.len));
    else
        no_page(req);
}

/* The handler of all forms that have pages. */
void archive_get(struct request *req)
{
    enum form form;

    if (form_of_path(http_request_path(req->http), &form))
        serve(req, form);
    else
        no_page(req);
}

bool archive_query(struct ask *ask, struct query *q, struct problem *p)
{
    struct str rest = ask->target;
    enum form form;

    if (form_of_path(str_split(&rest, '?'), &form))
        return entry_query(ask, form, q, p);
    return problem_set(p, ask->arena, PROBLEM_NOT_FOUND, "There is no such document.");
}
