/* api/views/feeds_asked.c - see feeds_asked.h. */
#include "api/views/feeds_asked.h"

#include "api/views/sub_book.h"
#include "base/buf.h"
#include "base/mem.h"

static const enum param_id sets[] = {PARAM_of_folder, PARAM_of_sub, PARAM_of_all};

struct reading {
    struct ask *ask;
    struct feeds_asked *out;
    struct feed_ids members;
    struct buf seed, name; /* a part for each set that was given */
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
        sub_book_folder(ask->api->subs, &ask->caller, path, &r->members);
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
        if (!sub_book_sub(ask->api->subs, &ask->caller, id, &r->members)) {
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

static bool read_all(struct reading *r)
{
    struct ask *ask = r->ask;
    bool all;

    if (!params_flag(&ask->params, ask->arena, PARAM_of_all, &all, r->p))
        return false;
    if (!all)
        return true;
    sub_book_folder(ask->api->subs, &ask->caller, STR(""), &r->members);
    note(r, "all", STR("1"), STR("All subscribed feeds"));
    r->out->is_own = true;
    return true;
}

static bool read_sets(struct reading *r)
{
    const struct params *ps = &r->ask->params;

    return !feeds_asked_has_sets(r->ask) ||
           ((!param_is_in(ps->listed, PARAM_of_folder) || read_folders(r)) &&
            (!param_is_in(ps->listed, PARAM_of_sub) || read_subs(r)) &&
            (!param_is_in(ps->listed, PARAM_of_all) || read_all(r)));
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

    out->n_members = view_ids_sort(r->members.list, r->members.n);
    out->member_ids = r->members.list;
    out->name = str_dup(a, buf_view(&r->name));
    out->seed = str_concat(a, buf_view(&r->seed), out->is_own ? whose(r->ask) : STR(""));
}

/* A document of one feed reads one URL, which may have commas in it. */
static bool read_urls(struct reading *r, enum param_id id)
{
    struct ask *ask = r->ask;
    struct feeds_asked *out = r->out;

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
                        .members = {.a = ask->arena},
                        .seed = BUF_INIT(BUF_ANY),
                        .name = BUF_INIT(BUF_ANY),
                        .p = p};
    bool is_read;

    *out = (struct feeds_asked){.n_urls = 0};
    is_read = read_urls(&r, urls) && read_sets(&r);
    if (is_read)
        take(&r);
    buf_release(&r.seed);
    buf_release(&r.name);
    if (is_read && needs_some && out->n_urls == 0 && !out->has_sets)
        return problem_parameter(p, ask->arena, "url", STR_NULL, NULL,
                                 "No feed is named. `url` names feeds by absolute http or https "
                                 "URLs, separated by commas; `folder`, `sub` and `all=1` name "
                                 "those of your subscriptions.");
    return is_read;
}

struct gathered *feeds_asked_items(const struct ask *ask, const struct feeds_asked *asked,
                                   size_t *n)
{
    struct gathered *items =
        ARENA_ARRAY(ask->arena, struct gathered, asked->n_urls + asked->n_members + 1);

    *n = 0;
    for (size_t i = 0; i < asked->n_urls; i++)
        items[(*n)++] = (struct gathered){.want = asked->urls[i]};
    for (size_t i = 0; i < asked->n_members; i++)
        items[(*n)++] = (struct gathered){.id = asked->member_ids[i], .is_member = true};
    return items;
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
    if (asked->n_urls == 0)
        return asked->name;
    return str_printf(a, "%.*s, %.*s", STR_ARG(asked->name), STR_ARG(of_urls));
}

/* ---- kept ------------------------------------------------------------------------------------ */

struct feeds_kept {
    struct arena arena;
    struct ask ask;
};

struct feeds_kept *feeds_kept_new(const struct ask *ask)
{
    struct feeds_kept *k = NEW(struct feeds_kept);
    struct params *ps = &k->ask.params;

    k->ask = (struct ask){.api = ask->api, .cfg = ask->cfg, .caller = ask->caller};
    k->ask.caller.source = STR_NULL;
    *ps = ask->params;
    ps->items = ARENA_ARRAY(&k->arena, struct param, ps->n + 1);
    for (size_t i = 0; i < ps->n; i++)
        ps->items[i] = (struct param){str_dup(&k->arena, ask->params.items[i].name),
                                      str_dup(&k->arena, ask->params.items[i].value)};
    ps->cap = ps->n;
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
