/* api/views/asks.c - see asks.h. */
#include "api/views/asks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/http/routes.h"
#include "base/buf.h"
#include "feed/filter/filter.h"
#include "model/paths.h"
#include "net/url.h"

/* How feeds are named. The rest of a question is its filter, and about documents. */
static const enum param_id feeds[] = {PARAM_urls, PARAM_of_folder, PARAM_of_sub, PARAM_of_all, PARAM_of_view};

static bool names_feeds(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(feeds); i++)
        if (param_is_called(feeds[i], name))
            return true;
    return false;
}

static void add(struct buf *out, struct arena *a, struct str name, struct str value)
{
    if (str_trim(value).len > 0)
        buf_printf(out, "%s%.*s=%.*s", str_ends(buf_view(out), STR(" ")) ? "" : "&", STR_ARG(name),
                   STR_ARG(url_encode(a, value)));
}

static void add_list(struct buf *out, struct arena *a, const char *name, const struct str_list *values)
{
    for (size_t i = 0; i < values->n; i++)
        add(out, a, str_from(name), values->list[i]);
}

struct str asks_write(const struct ask *ask, struct str filter)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct arena *a = ask->arena;
    struct filter_wish wish;

    buf_printf(&out, "%s %" PRId64 " ", role_name(ask->caller.role), ask->caller.owner);
    for (size_t i = 0; i < ask->params.n; i++)
        if (names_feeds(ask->params.items[i].name))
            add(&out, a, ask->params.items[i].name, ask->params.items[i].value);
    if (filter_wish_read(a, filter, &wish)) {
        add(&out, a, STR("q"), wish.q);
        add_list(&out, a, "author", &wish.author);
        add_list(&out, a, "category", &wish.category);
        add_list(&out, a, "lang", &wish.lang);
        add_list(&out, a, "has", &wish.has);
        add(&out, a, STR("after"), wish.after);
        add(&out, a, STR("before"), wish.before);
    }
    return str_dup(a, buf_view(&out));
}

bool asks_read(struct arena *a, struct str text, struct ask *out)
{
    struct str rest = text, role = str_split(&rest, ' '), owner = str_split(&rest, ' ');
    struct problem p;

    *out = (struct ask){.arena = a, .is_lasting = true, .was_checked = true};
    out->params.listed = route_find(STR(PATH_FEEDS), STR("GET"))->params;
    if (str_is_null(rest) || !role_read(role, &out->caller.role) || !str_to_i64(owner, &out->caller.owner))
        return false;
    out->caller.is_alone = out->caller.owner == OWNER_LOCAL;
    return params_add(&out->params, a, rest, &p);
}

struct str asks_filter(struct arena *a, struct str text)
{
    struct filtering what;
    struct problem p;
    struct ask ask;

    return asks_read(a, text, &ask) && filtering_read(&ask, &what, &p) ? filter_text(what.lasting) : STR_NULL;
}

struct str_list asks_views(struct arena *a, struct str text)
{
    struct str_list out = {.n = 0};
    const struct param *one;
    struct ask ask;
    size_t at = 0;

    if (!asks_read(a, text, &ask))
        return out;
    out.list = ARENA_ARRAY(a, struct str, ask.params.n + 1);
    while ((one = params_next(&ask.params, PARAM_of_view, &at)) != NULL) {
        struct str name = str_trim(one->value);
        size_t i = 0;

        while (i < out.n && !str_eq(out.list[i], name))
            i++;
        out.list[i] = name;
        out.n += i == out.n;
    }
    return out;
}

void asks_take(const struct ask *ask, const struct feeds_asked *asked, const struct gathered *items, size_t n,
               const struct filter *lasting, struct asks_found *out)
{
    struct arena *a = ask->arena;
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++)
        if (items[i].id != 0 && (items[i].ready || asked->has_sets))
            ids[n_ids++] = items[i].id;
    n_ids = view_ids_sort(ids, n_ids);
    *out = (struct asks_found){.feeds = ARENA_ARRAY(a, struct sub_feed, n_ids + 1)};
    for (size_t i = 0; i < n_ids; i++) {
        struct str url = store_feed_url(ask->api->store, ids[i], a);

        if (!str_is_null(url)) /* else it became part of another feed just now */
            out->feeds[out->n++] = (struct sub_feed){.feed_id = ids[i], .url = url};
    }
    out->filter = filter_text(feeds_asked_lasting(ask, asked, items, n, lasting));
}

bool asks_find(struct api *api, struct arena *a, struct str text, struct asks_found *out, struct problem *p)
{
    struct feeds_asked asked;
    struct filtering what;
    struct gathered *items;
    struct ask ask;
    size_t n;

    if (!asks_read(a, text, &ask))
        return problem_set(p, a, PROBLEM_NOT_FOUND, "What the subscription follows cannot be read.");
    ask.api = api;
    ask.cfg = ask.params.cfg = &atomic_load(&api->conf)->cfg;
    if (!feeds_asked_read(&ask, PARAM_urls, false, &asked, p) || !filtering_read(&ask, &what, p))
        return false;
    items = feeds_asked_items(&ask, &asked, &n);
    for (size_t i = 0; i < n; i++)
        (void)gather_find(api, &items[i]);
    asks_take(&ask, &asked, items, n, what.lasting, out);
    return true;
}

static bool names_view(struct arena *a, struct str text, struct str view)
{
    struct str_list names = asks_views(a, text);

    for (size_t i = 0; i < names.n; i++)
        if (str_eq(names.list[i], view))
            return true;
    return false;
}

enum rc asks_user(struct reader *r, struct str view, int64_t *id, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct subscription *subs = NULL;
    int64_t *ids = NULL;
    size_t n = 0, n_subs = 0;
    enum rc rc = reader_asking(r, &a, &ids, &n, err);

    *id = 0;
    if (rc == RC_OK && n > 0)
        rc = reader_subs(r, ids, n, &a, &subs, &n_subs, err);
    for (size_t i = 0; rc == RC_OK && *id == 0 && i < n_subs; i++)
        if (!str_is_null(subs[i].asks) && names_view(&a, subs[i].asks, view))
            *id = subs[i].id;
    return rc;
}
