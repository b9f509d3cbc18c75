/* api/views/feeds_asked.c - see feeds_asked.h. */
#include "api/views/feeds_asked.h"

#include "api/http/routes.h"
#include "api/views/log_rows.h"
#include "api/views/sub_book.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "feed/filter/compound.h"

#define PARTS_MAX 64       /* with different filters */
#define VIEW_VISITS_MAX 256 /* views that name views, each as often as it is named */

static const enum param_id sets[] = {PARAM_of_folder, PARAM_of_sub, PARAM_of_all, PARAM_of_view};

struct reading {
    struct ask *ask;
    struct feeds_asked *out;
    struct buf seed, name; /* a piece for each set that was given */
    struct buf editions;
    struct view_shelf *views; /* NULL: none were named */
    size_t n_visits, cap_parts;
    struct problem *p;
};

bool feeds_asked_has_sets(const struct ask *ask)
{
    const enum param_id *listed = ask->params.listed;

    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        if (listed != NULL && param_is_in(listed, sets[i]) && params_has(&ask->params, sets[i]))
            return true;
    return false;
}

/* Does it show what the caller may see of all feeds, which may be its own (seen.h)? */
static bool sees_own(struct request *req)
{
    const struct ask *ask = &req->ask;

    return ask->caller.role == ROLE_SUBSCRIBE && ask->params.listed != NULL &&
           param_is_in(ask->params.listed, PARAM_only_urls) && !params_has(&ask->params, PARAM_only_urls);
}

void feeds_asked_handle(struct request *req)
{
    bool asks = feeds_asked_has_sets(&req->ask) || sees_own(req);

    if (!asks || !sub_book_prepare(req, feeds_asked_handle))
        req->route->handle(req);
}

static void note(struct reading *r, const char *kind, struct str value, struct str name)
{
    buf_printf(&r->seed, "\n%s %.*s", kind, STR_ARG(value));
    buf_printf(&r->name, "%s%.*s", r->name.len > 0 ? ", " : "", STR_ARG(name));
    r->out->has_sets = true;
}

/* Returns "News/World/" for " News / World": the form that sub_book_folder() takes. */
static struct str path_of(struct arena *a, struct str folder)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (struct str rest = folder; !str_is_null(rest);) {
        struct str name = str_trim(str_split(&rest, '/'));

        if (name.len > 0)
            buf_printf(&out, "%.*s/", STR_ARG(name));
    }
    return str_dup(a, buf_view(&out));
}

static bool read_folders(struct reading *r)
{
    struct ask *ask = r->ask;
    const struct param *one;
    size_t at = 0;

    while ((one = params_next(&ask->params, PARAM_of_folder, &at)) != NULL) {
        struct str path = path_of(ask->arena, one->value);

        if (path.len == 0)
            continue;
        if (one->value.len > (size_t)param_max(PARAM_of_folder) ||
            str_utf8_valid(one->value) != one->value.len)
            return problem_parameter(r->p, ask->arena, "folder", one->value, NULL,
                                     "The parameter `folder` must be a path in UTF-8: names, "
                                     "separated by /, of at most %lld bytes in all.",
                                     (long long)param_max(PARAM_of_folder));
        sub_book_folder(ask->api->subs, &ask->caller, path, !ask->is_lasting, &r->out->parts->members);
        note(r, "folder", path, str_slice(path, 0, path.len - 1));
        r->out->is_own = true;
    }
    return true;
}

static bool read_subs(struct reading *r)
{
    struct ask *ask = r->ask;
    const struct param *one;
    size_t at = 0;

    while ((one = params_next(&ask->params, PARAM_of_sub, &at)) != NULL) {
        struct str value = str_trim(one->value);
        int64_t id;

        if (value.len == 0)
            continue;
        if (!str_to_i64(value, &id) || id <= 0)
            return problem_parameter(r->p, ask->arena, "sub", value, NULL,
                                     "The parameter `sub` must be the number of a subscription, "
                                     "as POST /sub answered it.");
        if (!sub_book_sub(ask->api->subs, &ask->caller, id, !ask->is_lasting,
                          &r->out->parts->members) && !ask->was_checked) {
            problem_parameter(r->p, ask->arena, "sub", value, NULL,
                              "There is no subscription %lld of yours.", (long long)id);
            r->p->kind = PROBLEM_NOT_FOUND;
            return false;
        }
        note(r, "sub", value, str_printf(ask->arena, "Subscription %lld", (long long)id));
        r->out->is_own = true;
    }
    return true;
}

static void add_own_protected(struct ask *ask, struct feed_ids *out)
{
    struct feed_ids own = {.a = ask->arena};
    struct feed_brief brief;

    sub_book_folder(ask->api->subs, &ask->caller, STR(""), !ask->is_lasting, &own);
    for (size_t i = 0; i < own.n; i++)
        if (store_brief(ask->api->store, own.list[i], &brief) && brief.fetched && brief.is_private)
            feed_ids_add(out, own.list[i]);
}

/* Add what the caller may see of all feeds that there are, subscribed or not. */
static void add_seen(struct ask *ask, struct feed_ids *out)
{
    struct store *s = ask->api->store;
    int64_t *ids;
    size_t n = store_feed_ids(s, ask->arena, &ids);
    struct feed_brief *briefs = ARENA_ARRAY(ask->arena, struct feed_brief, n + 1);

    n = store_briefs(s, ids, n, briefs);
    for (size_t i = 0; i < n; i++)
        if (briefs[i].fetched && (!briefs[i].is_private || ask->caller.role == ROLE_ADMIN))
            feed_ids_add(out, briefs[i].id);
    if (ask->caller.role != ROLE_ADMIN)
        add_own_protected(ask, out);
}

static bool read_all(struct reading *r)
{
    struct ask *ask = r->ask;
    bool all;

    if (!params_flag(&ask->params, ask->arena, PARAM_of_all, &all, r->p))
        return false;
    if (!all)
        return true;
    if (ask->all_is_seen)
        add_seen(ask, &r->out->parts->members);
    else
        sub_book_folder(ask->api->subs, &ask->caller, STR(""), !ask->is_lasting, &r->out->parts->members);
    note(r, "all", STR("1"), ask->all_is_seen ? STR("All feeds") : STR("All subscribed feeds"));
    r->out->is_own = true;
    return true;
}

/* ---- named views ----------------------------------------------------------------------------- */

/* The part with this filter. The first part is not used: its feeds are the caller's. */
static struct asked_part *part_of(struct reading *r, struct str filter)
{
    struct feeds_asked *out = r->out;
    struct asked_part *grown;

    for (size_t i = 1; i < out->n_parts; i++)
        if (str_eq(out->parts[i].filter, filter))
            return &out->parts[i];
    if (out->n_parts == PARTS_MAX)
        return NULL;
    if (out->n_parts == r->cap_parts) {
        r->cap_parts *= 2;
        grown = ARENA_ARRAY(r->ask->arena, struct asked_part, r->cap_parts);
        memcpy(grown, out->parts, out->n_parts * sizeof *grown);
        out->parts = grown;
    }
    grown = &out->parts[out->n_parts++];
    *grown = (struct asked_part){.filter = filter, .members = {.a = r->ask->arena}};
    return grown;
}

static void add_unknown(struct reading *r, struct asked_part *part, const struct wanted_url *url)
{
    struct arena *a = r->ask->arena;

    if (part->n_unknown == part->cap_unknown) {
        size_t cap = part->cap_unknown == 0 ? 8 : 2 * part->cap_unknown;
        struct wanted_url *grown = ARENA_ARRAY(a, struct wanted_url, cap);

        if (part->n_unknown > 0)
            memcpy(grown, part->unknown, part->n_unknown * sizeof *grown);
        part->unknown = grown;
        part->cap_unknown = cap;
    }
    part->unknown[part->n_unknown++] = (struct wanted_url){
        .url = str_dup(a, url->url), .credential = STR_NULL, .shown = str_dup(a, url->shown)};
}

/* A feed may have got secrets after the view named it: then it is for those who know its URL. */
static void add_urls(struct reading *r, const struct known_view *v, struct asked_part *part)
{
    struct feed_brief brief;

    for (size_t i = 0; i < v->n_urls; i++) {
        if (!store_find_feed(r->ask->api->store, v->urls[i].url, STR_NULL, &brief))
            add_unknown(r, part, &v->urls[i]);
        else if (!brief.is_private)
            feed_ids_add(&part->members, brief.id);
    }
}

/* The sets of the view's maker, without feeds that are behind a password: all may read the view. */
static void add_sets(struct reading *r, const struct known_view *v, struct asked_part *part)
{
    struct sub_book *book = r->ask->api->subs;
    struct caller maker = view_maker(&v->row);
    struct arena *a = r->ask->arena;
    struct feed_ids found = {.a = a};
    int64_t id;

    for (size_t i = 0; i < v->params.n; i++) {
        const struct param *one = &v->params.items[i];

        if (str_eqz(one->name, "folder"))
            sub_book_folder(book, &maker, path_of(a, one->value), !r->ask->is_lasting, &found);
        else if (str_eqz(one->name, "all") && !str_eqz(one->value, "0"))
            sub_book_folder(book, &maker, STR(""), !r->ask->is_lasting, &found);
        else if (str_eqz(one->name, "sub") && str_to_i64(str_trim(one->value), &id))
            (void)sub_book_sub(book, &maker, id, !r->ask->is_lasting, &found); /* one that has ended has no feeds */
    }
    for (size_t i = 0; i < found.n; i++)
        if (log_feed_is_public(r->ask->api->store, found.list[i]))
            feed_ids_add(&part->members, found.list[i]);
}

static bool too_much(struct reading *r, struct str name)
{
    return problem_parameter(r->p, r->ask->arena, "view", name, NULL,
                             "This view names too many views, or views with too many different "
                             "filters.");
}

static bool is_refused(struct reading *r, const struct known_view *v)
{
    return problem_parameter(r->p, r->ask->arena, "view", v->row.name, NULL,
                             "The definition of the view `%.*s` is not valid any more, and must "
                             "be changed: %.*s",
                             STR_ARG(v->row.name), STR_ARG(v->refused));
}

/* Add the view, and those that it names, as far as `filter` lets them through. */
static bool add_view(struct reading *r, struct str name, struct str filter, int depth)
{
    const struct known_view *v = view_find(r->views, name);
    struct arena *a = r->ask->arena;
    struct asked_part *part;

    if (v == NULL) {
        problem_parameter(r->p, a, "view", name, NULL, "There is no view with this name.");
        r->p->kind = PROBLEM_NOT_FOUND;
        return false;
    }
    if (!str_is_null(v->refused)) /* for those who follow it, it has no feeds until it is mended */
        return r->ask->is_lasting || is_refused(r, v);
    if (++r->n_visits > VIEW_VISITS_MAX || depth > 2 * VIEW_DEPTH_MAX)
        return too_much(r, name);
    if (v->filter.len > 0) {
        const struct filter *outer = filter.len > 0 ? filter_read(a, filter) : NULL;

        filter = filter_both(a, outer, filter_read(a, str_dup(a, v->filter)))->text;
    }
    part = part_of(r, filter);
    if (part == NULL)
        return too_much(r, name);
    r->out->has_age = r->out->has_age || v->has_age;
    add_urls(r, v, part);
    add_sets(r, v, part);
    for (size_t i = 0; i < v->params.n; i++)
        if (str_eqz(v->params.items[i].name, "view") &&
            !add_view(r, v->params.items[i].value, filter, depth + 1))
            return false;
    return true;
}

static bool read_views(struct reading *r)
{
    struct ask *ask = r->ask;
    const struct param *one;
    size_t at = 0;

    while ((one = params_next(&ask->params, PARAM_of_view, &at)) != NULL) {
        struct str name = str_trim(one->value);
        const struct known_view *v;

        if (name.len == 0)
            continue;
        if (r->views == NULL)
            r->views = view_book_take(sub_book_views(ask->api->subs));
        if (!add_view(r, name, STR_NULL, 0))
            return false;
        v = view_find(r->views, name);
        note(r, "view", name, v->title);
        buf_printf(&r->editions, "%s\n", v->edition);
    }
    return true;
}

/* One view has its own edition; several have one that is made of theirs. */
static struct str edition_of(struct arena *a, struct str all)
{
    unsigned char hash[16];
    char *hex;

    if (all.len <= VIEW_EDITION_TEXT)
        return all.len == 0 ? STR_NULL : str_dup(a, str_slice(all, 0, all.len - 1));
    digest_content(all, hash);
    hex = arena_alloc(a, VIEW_EDITION_TEXT);
    digest_hex(hash, (VIEW_EDITION_TEXT - 1) / 2, hex);
    return str_of(hex, VIEW_EDITION_TEXT - 1);
}

bool feeds_asked_is_edition(const struct ask *ask, struct str edition)
{
    struct view_shelf *views = view_book_take(sub_book_views(ask->api->subs));
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    const struct param *one;
    bool is_there = true;
    size_t at = 0;

    while (is_there && (one = params_next(&ask->params, PARAM_of_view, &at)) != NULL) {
        struct str name = str_trim(one->value);
        const struct known_view *v = view_find(views, name);

        is_there = name.len == 0 || v != NULL;
        if (v != NULL)
            buf_printf(&all, "%s\n", v->edition);
    }
    view_shelf_leave(&views);
    return is_there && str_eq(edition_of(ask->arena, buf_view(&all)), edition);
}

static bool read_sets(struct reading *r)
{
    const struct params *ps = &r->ask->params;

    return !feeds_asked_has_sets(r->ask) ||
           ((!param_is_in(ps->listed, PARAM_of_folder) || read_folders(r)) &&
            (!param_is_in(ps->listed, PARAM_of_sub) || read_subs(r)) &&
            (!param_is_in(ps->listed, PARAM_of_all) || read_all(r)) &&
            (!param_is_in(ps->listed, PARAM_of_view) || read_views(r)));
}

/* What belongs to somebody else is another set, even if it has the same name. */
static struct str whose(const struct ask *ask)
{
    return ask->caller.role == ROLE_ADMIN
               ? STR("\nof all")
               : str_printf(ask->arena, "\nof %lld", (long long)ask->caller.owner);
}

static void take(struct reading *r)
{
    struct arena *a = r->ask->arena;
    struct feeds_asked *out = r->out;

    for (size_t i = 0; i < out->n_parts; i++) {
        struct feed_ids *ids = &out->parts[i].members;

        ids->n = view_ids_sort(ids->list, ids->n);
        out->n_members += ids->n;
        out->n_of_views += out->parts[i].n_unknown;
    }
    out->edition = edition_of(a, buf_view(&r->editions));
    out->name = str_dup(a, buf_view(&r->name));
    out->seed = str_concat(a, buf_view(&r->seed), out->is_own ? whose(r->ask) : STR(""));
}

/* A document of one feed reads one URL, which may have commas in it. */
static bool read_urls(struct reading *r, enum param_id id)
{
    struct ask *ask = r->ask;
    struct feeds_asked *out = r->out;

    if (id == PARAM_NONE)
        return true;
    if (param_row(id)->kind != PARAM_KIND_URL)
        return params_urls(&ask->params, ask->arena, id, &out->urls, &out->n_urls, r->p);
    if (!params_has(&ask->params, id))
        return true;
    out->urls = ARENA_NEW(ask->arena, struct wanted_url);
    out->n_urls = 1;
    return params_url(&ask->params, ask->arena, id, out->urls, r->p);
}

bool feeds_asked_read(struct ask *ask, enum param_id urls, bool needs_some, struct feeds_asked *out,
                      struct problem *p)
{
    struct reading r = {.ask = ask,
                        .out = out,
                        .cap_parts = 4,
                        .editions = BUF_INIT(BUF_ANY),
                        .seed = BUF_INIT(BUF_ANY),
                        .name = BUF_INIT(BUF_ANY),
                        .p = p};
    bool is_read;

    *out = (struct feeds_asked){.parts = ARENA_ARRAY(ask->arena, struct asked_part, 4), .n_parts = 1};
    out->parts[0] = (struct asked_part){.members = {.a = ask->arena}};
    is_read = read_urls(&r, urls) && read_sets(&r);
    if (is_read)
        take(&r);
    buf_release(&r.seed);
    buf_release(&r.name);
    buf_release(&r.editions);
    view_shelf_leave(&r.views);
    if (is_read && needs_some && out->n_urls == 0 && !out->has_sets)
        return problem_parameter(p, ask->arena, "url", STR_NULL, NULL,
                                 "No feed is named. `url` names feeds by absolute http or https "
                                 "URLs, separated by commas; `folder`, `sub` and `all=1` name "
                                 "those of your subscriptions; `view` those of a named view.");
    return is_read;
}

struct gathered *feeds_asked_items(const struct ask *ask, const struct feeds_asked *asked,
                                   size_t *n)
{
    struct gathered *items = ARENA_ARRAY(ask->arena, struct gathered,
                                         asked->n_urls + asked->n_of_views + asked->n_members + 1);

    *n = 0;
    for (size_t i = 0; i < asked->n_urls; i++)
        items[(*n)++] = (struct gathered){.want = asked->urls[i]};
    for (size_t p = 0; p < asked->n_parts; p++)
        for (size_t i = 0; i < asked->parts[p].n_unknown; i++)
            items[(*n)++] = (struct gathered){
                .want = asked->parts[p].unknown[i], .is_of_view = true, .part = p};
    for (size_t p = 0; p < asked->n_parts; p++)
        for (size_t i = 0; i < asked->parts[p].members.n; i++)
            items[(*n)++] = (struct gathered){.id = asked->parts[p].members.list[i],
                                              .is_member = true,
                                              .is_of_view = p > 0,
                                              .part = p};
    return items;
}

/* The feeds of a part, as far as they are known. */
static struct filter_part ids_of(struct arena *a, const struct gathered *items, size_t n,
                                 size_t part)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    struct filter_part out = {.ids = ids};

    for (size_t i = 0; i < n; i++)
        if (items[i].part == part && items[i].id != 0)
            ids[out.n++] = items[i].id;
    out.n = view_ids_sort(ids, out.n);
    return out;
}

/* `now`: as filter_read_at(). */
static const struct filter *narrowed(const struct ask *ask, const struct feeds_asked *asked,
                                     const struct gathered *items, size_t n, const struct filter *own, int64_t now)
{
    struct arena *a = ask->arena;
    struct filter_part *parts = ARENA_ARRAY(a, struct filter_part, asked->n_parts + 1);
    const struct filter *of_views;
    size_t n_parts = 0, n_same = 0;

    for (size_t p = 0; p < asked->n_parts; p++) {
        struct filter_part part = ids_of(a, items, n, p);

        if (part.n == 0)
            continue;
        if (asked->parts[p].filter.len > 0)
            part.filter = filter_read_at(a, asked->parts[p].filter, now);
        n_same += n_parts == 0 || part.filter == parts[0].filter;
        parts[n_parts++] = part;
    }
    if (n_parts == 0) /* no feeds, so nothing matches */
        return own;
    of_views = n_parts == 1 || n_same == n_parts ? parts[0].filter : filter_any(a, parts, n_parts);
    return filter_both(a, of_views, own);
}

void feeds_asked_narrow(const struct ask *ask, const struct feeds_asked *asked,
                        const struct gathered *items, size_t n, struct filtering *what)
{
    what->filter = narrowed(ask, asked, items, n, what->filter, clock_now_s());
    what->has_age = what->has_age || asked->has_age;
}

const struct filter *feeds_asked_lasting(const struct ask *ask, const struct feeds_asked *asked,
                                         const struct gathered *items, size_t n, const struct filter *lasting)
{
    return narrowed(ask, asked, items, n, lasting, TIME_UNKNOWN);
}

void feeds_asked_gather(struct request *req, const struct feeds_asked *asked, gather_done_fn *done,
                        void *ctx)
{
    size_t n;
    struct gathered *items = feeds_asked_items(&req->ask, asked, &n);

    gather_start(req, items, n, done, ctx);
}

struct str feeds_asked_title(struct arena *a, const struct feeds_asked *asked)
{
    struct str of_urls = str_printf(a, "%zu feed%s", asked->n_urls, asked->n_urls == 1 ? "" : "s");

    if (!asked->has_sets)
        return str_concat(a, of_urls, STR(" merged"));
    if (asked->n_urls == 0) /* which may be the title of a view */
        return asked->name;
    return str_printf(a, "%.*s, %.*s", STR_ARG(asked->name), STR_ARG(of_urls));
}

/* ---- kept ------------------------------------------------------------------------------------ */

struct feeds_kept {
    struct arena arena;
    struct ask ask;
    struct str lasting;
};

struct str feeds_kept_lasting(const struct feeds_kept *k)
{
    return k->lasting;
}

struct feeds_kept *feeds_kept_new(const struct ask *ask, struct str lasting)
{
    struct feeds_kept *k = NEW(struct feeds_kept);

    k->ask = (struct ask){.api = ask->api, .cfg = ask->cfg, .caller = ask->caller};
    k->ask.caller.source = STR_NULL;
    k->ask.params = params_copy(&ask->params, &k->arena);
    k->lasting = str_dup(&k->arena, lasting);
    return k;
}

void feeds_kept_free(struct feeds_kept **kp)
{
    if (*kp == NULL)
        return;
    arena_release(&(*kp)->arena);
    mem_free(*kp);
    *kp = NULL;
}

struct ask feeds_kept_ask(const struct feeds_kept *k, struct arena *a)
{
    struct ask ask = k->ask;

    ask.arena = a;
    return ask;
}
