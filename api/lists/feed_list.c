/* api/lists/feed_list.c - GET /sub/feeds: a part of the list of feeds, searched and sorted, for
 * people who look through many of them. */
#include "api/http/handlers.h"

#include <stdlib.h>

#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/lists/list_order.h"
#include "api/views/feed_why.h"
#include "api/views/shapes.h"
#include "api/views/sub_book.h"
#include "feed/text/json.h"
#include "model/media_types.h"

/* As the rows of the parameters have them. */
enum { STATE_ANY, STATE_NEW, STATE_OK, STATE_FAILING, STATE_GONE, STATE_PAUSED, STATE_QUOTA };
#define AT_ONCE 200 /* feeds that are read in one turn */

enum { BY_TITLE, BY_URL, BY_STATE, BY_ENTRIES, BY_CHECKED, BY_CHANGED, BY_NEXT, BY_FOLDER };

struct row {
    const struct feed_summary *feed;
    struct str title; /* the caller's own name for it, or the publisher's */
    struct str path;  /* of its folder: "News/World/" */
    struct str text;  /* by which it is sorted, or, if that is empty, */
    int64_t number;
    bool is_last; /* whichever way round: it has nothing by which to sort */
    const struct host_until *until; /* the pause of its host; NULL: none, or it is not looked for */
};

struct listing {
    struct str q, folder;
    int state, sort;
    bool descending, is_subscribed;
    int64_t skip, len;
    struct feed_place *places; /* of the caller's feeds, by their ids */
    size_t n_places;
    int64_t *ids; /* what is looked through, and how far it is */
    size_t n_ids, at;
    struct str key;  /* of its order */
    int64_t edition; /* of the subscriptions, when it began */
    struct list_order
        *order; /* kept from a request before: what is looked through is the part. Or NULL */
    struct own_names names;
    struct row *rows;
    size_t n;
    struct host_rests rests;
    struct value *out;
};

/* ---- which feeds ----------------------------------------------------------------------------- */

static bool has_words(struct arena *a, struct str words, const struct row *row)
{
    if (words.len == 0)
        return true;
    return list_has_words(list_folded(a, str_printf(a, "%.*s\n%.*s\n%.*s\n%.*s", STR_ARG(row->title),
                                                    STR_ARG(row->feed->title), STR_ARG(row->feed->url),
                                                    STR_ARG(row->path))),
                          words);
}

static bool has_state(int wanted, const struct feed_summary *feed)
{
    static const enum feed_state states[] = {[STATE_NEW] = FEED_NEW,
                                             [STATE_OK] = FEED_OK,
                                             [STATE_FAILING] = FEED_FAILING,
                                             [STATE_GONE] = FEED_GONE,
                                             [STATE_QUOTA] = FEED_QUOTA};

    if (wanted == STATE_ANY)
        return true;
    if (wanted == STATE_PAUSED || feed->is_paused)
        return wanted == STATE_PAUSED && feed->is_paused;
    if (feed->state == FEED_NEW && feed->n_errors > 0) /* it has only failed yet */
        return wanted == STATE_FAILING;
    return feed->state == states[wanted];
}

static int compare_place(const void *id, const void *place)
{
    int64_t x = *(const int64_t *)id, y = ((const struct feed_place *)place)->feed_id;

    return (x > y) - (x < y);
}

/* The caller's folder of the feed; empty: it has none. */
static struct str place_of(const struct listing *l, int64_t id)
{
    const struct feed_place *place =
        l->n_places == 0 ? NULL
                         : bsearch(&id, l->places, l->n_places, sizeof *l->places, compare_place);

    return place == NULL ? STR("") : place->path;
}

/* Returns the caller's own name for the feed, or the publisher's. */
static struct str title_of(const struct listing *l, const struct feed_summary *feed)
{
    struct str own = own_name(&l->names, feed->id);

    return own.len > 0 ? own : feed->title;
}

/* Keep those that fit. */
static void choose(struct task *t, const struct feed_summary *feeds, size_t n)
{
    struct listing *l = t->data;
    struct str words = list_folded(&t->arena, str_trim(l->q));

    for (size_t i = 0; i < n; i++) {
        struct row row = {.feed = &feeds[i],
                          .title = title_of(l, &feeds[i]),
                          .path = place_of(l, feeds[i].id)};

        if (feeds[i].is_list && feeds[i].last_change_at == TIME_UNKNOWN)
            continue; /* it is followed as a list of feeds, and is none itself */
        if ((l->is_subscribed || feeds[i].n_subscriptions == 0) &&
            str_starts(row.path, l->folder) && has_state(l->state, &feeds[i]) &&
            has_words(&t->arena, words, &row))
            l->rows[l->n++] = row;
    }
}

/* Those of the part, whether they would fit still or not, each with its place in the order. */
static void choose_part(struct listing *l, const struct feed_summary *feeds, size_t n,
                        size_t n_read)
{
    for (size_t i = 0; i < n; i++)
        for (size_t at = l->at; at < l->at + n_read; at++)
            if (l->ids[at] == feeds[i].id)
                l->rows[l->n++] = (struct row){.feed = &feeds[i],
                                               .title = title_of(l, &feeds[i]),
                                               .path = l->order->paths[(size_t)l->skip + at],
                                               .text = STR(""),
                                               .number = (int64_t)at};
}

/* The first part is always read anew. Those that follow are cut from the order that it had, if that
 * is known still. */
static bool begin_part(struct task *t)
{
    struct listing *l = t->data;
    struct arena *a = &t->arena;

    l->key = str_printf(a, "%d %lld %d %d %d %d %d %zu %.*s%.*s", t->caller.role,
                        (long long)t->caller.owner, t->caller.is_alone, l->is_subscribed, l->state,
                        l->sort, l->descending, l->folder.len, STR_ARG(l->folder), STR_ARG(l->q));
    l->edition = sub_book_shown(t->api->subs);
    if (l->skip == 0)
        return false;
    l->order = list_orders_get(t->api->list_orders, l->key, l->edition);
    if (l->order == NULL)
        return false;
    l->n_ids = (size_t)l->skip < l->order->n ? l->order->n - (size_t)l->skip : 0;
    if (l->n_ids > (size_t)l->len)
        l->n_ids = (size_t)l->len;
    l->ids = ARENA_ARRAY(a, int64_t, l->n_ids + 1);
    for (size_t i = 0; i < l->n_ids; i++)
        l->ids[i] = l->order->ids[(size_t)l->skip + i];
    l->names = sub_book_names(t->api->subs, &t->caller, l->ids, l->n_ids, a);
    l->rows = ARENA_ARRAY(a, struct row, l->n_ids + 1);
    return true;
}

/* The feeds that may be told are known without a query: those of the caller's subscriptions, or
 * all. */
static void begin(struct task *t)
{
    struct listing *l = t->data;
    struct arena *a = &t->arena;

    if (begin_part(t))
        return;
    l->n_places = sub_book_places(t->api->subs, &t->caller, a, &l->places);
    if (l->is_subscribed) {
        l->n_ids = l->n_places;
        l->ids = ARENA_ARRAY(a, int64_t, l->n_ids + 1);
        for (size_t i = 0; i < l->n_ids; i++)
            l->ids[i] = l->places[i].feed_id;
    } else {
        l->n_ids = store_feed_ids(t->api->store, a, &l->ids);
    }
    l->names = sub_book_names(t->api->subs, &t->caller, l->ids, l->n_ids, a);
    l->rows = ARENA_ARRAY(a, struct row, l->n_ids + 1);
}

/* ---- in which order -------------------------------------------------------------------------- */

static void set_key(struct arena *a, int sort, struct row *row)
{
    const struct feed_summary *f = row->feed;
    int64_t next_at = host_until_due(row->until, f->next_fetch_at);
    struct str title = row->title.len > 0 ? row->title : f->url;

    row->text = STR("");
    row->number = sort == BY_STATE     ? (f->is_paused ? FEED_QUOTA + 1 : (int64_t)f->state)
                  : sort == BY_ENTRIES ? f->n_entries
                  : sort == BY_CHECKED ? f->last_check_at
                  : sort == BY_CHANGED ? f->last_change_at
                  : sort == BY_NEXT    ? (next_at == TIME_UNKNOWN ? INT64_MAX : next_at)
                                       : 0;
    row->is_last = sort == BY_FOLDER && row->path.len == 0;
    if (sort == BY_TITLE)
        row->text = list_folded(a, title);
    else if (sort == BY_FOLDER) /* those of a folder stand before those of the folders in it */
        row->text = list_folded(a, str_printf(a, "%.*s\n%.*s", STR_ARG(row->path), STR_ARG(title)));
    else if (sort == BY_URL)
        row->text = f->url;
}

static int compare(const struct row *a, const struct row *b)
{
    int by_text = str_cmp(a->text, b->text);

    if (by_text != 0)
        return by_text;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->feed->id < b->feed->id ? -1 : a->feed->id > b->feed->id;
}

static int compare_up(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return a->is_last != b->is_last ? a->is_last - b->is_last : compare(a, b);
}

static int compare_down(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return a->is_last != b->is_last ? a->is_last - b->is_last : compare(b, a);
}

/* ---- what is told ---------------------------------------------------------------------------- */

static struct value *shape(struct task *t, const struct host_rests *rests, const struct row *row)
{
    const struct host_until *until = host_rests_of(rests, row->feed->url, row->feed->next_reason);
    const struct feed_summary *f = row->feed;
    struct arena *a = &t->arena;
    struct value *v = value_dict(a);
    struct str folder = str_slice(row->path, 0, row->path.len > 0 ? row->path.len - 1 : 0);

    value_setz(a, v, "id", value_int(a, f->id));
    value_setz(a, v, "url", shape_text(a, f->url));
    value_setz(a, v, "title", shape_text(a, row->title));
    value_setz(a, v, "publisher_title", shape_text(a, f->title));
    value_setz(a, v, "folder", folder.len == 0 ? value_null(a) : shape_text(a, folder));
    value_setz(a, v, "state", value_text(a, str_from(feed_state_shown(f->state, f->n_errors))));
    value_setz(a, v, "paused", value_bool(a, f->is_paused));
    value_setz(a, v, "entries", value_int(a, f->n_entries));
    value_setz(a, v, "period",
               value_int(a, feed_why_period_s(&t->cfg->levels, f->level, f->period_s, f->next_reason)));
    value_setz(a, v, "last_check", shape_time(a, f->last_check_at));
    value_setz(a, v, "last_change", shape_time(a, f->last_change_at));
    value_setz(a, v, "next_check", shape_time(a, host_until_due(until, f->next_fetch_at)));
    value_setz(a, v, "next_reason",
               value_text(a, str_from(fetch_reason_name(
                                 feed_why_reason(until, f->next_fetch_at, f->next_reason)))));
    value_setz(a, v, "status", f->last_status == 0 ? value_null(a) : value_int(a, f->last_status));
    value_setz(a, v, "errors", value_int(a, f->n_errors));
    value_setz(a, v, "last_error", shape_text(a, f->last_error));
    value_setz(a, v, "subscribers", value_int(a, f->n_subscriptions));
    return v;
}

static int compare_paths(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* All folders that there are, also those that only have others below them. */
static size_t folders_of(struct arena *a, const struct feed_place *places, size_t n,
                         struct str **out)
{
    AUTO(map_forget) struct map known = MAP_INIT;
    void *it = NULL, *value;
    struct str path;
    size_t n_paths = 0;

    for (size_t i = 0; i < n; i++)
        for (path = places[i].path; path.len > 0 && map_get(&known, path) == NULL;) {
            map_put(&known, path, &known);
            do
                path.len--;
            while (path.len > 0 && path.ptr[path.len - 1] != '/');
        }
    *out = ARENA_ARRAY(a, struct str, map_count(&known) + 1);
    while (map_next(&known, &it, &path, &value))
        (*out)[n_paths++] = str_dup(a, str_slice(path, 0, path.len - 1));
    qsort(*out, n_paths, sizeof **out, compare_paths);
    return n_paths;
}

/* Put the rows in order, and keep that for the parts that follow. */
static struct list_order *make_order(struct task *t)
{
    struct listing *l = t->data;
    struct list_order *o = list_order_new(l->key, l->edition);
    AUTO(map_forget) struct map known = MAP_INIT;

    for (size_t i = 0; i < l->n; i++) {
        if (l->sort == BY_NEXT) /* else only the rows that are told need it */
            l->rows[i].until = host_rests_of(&l->rests, l->rows[i].feed->url, l->rows[i].feed->next_reason);
        set_key(&t->arena, l->sort, &l->rows[i]);
    }
    qsort(l->rows, l->n, sizeof *l->rows, l->descending ? compare_down : compare_up);
    o->n_folders = folders_of(&o->arena, l->places, l->n_places, &o->folders);
    o->ids = ARENA_ARRAY(&o->arena, int64_t, l->n + 1);
    o->paths = ARENA_ARRAY(&o->arena, struct str, l->n + 1);
    for (o->n = 0; o->n < l->n; o->n++) {
        struct str path = l->rows[o->n].path, *same = map_get(&known, path);

        if (same == NULL) { /* many feeds are in one folder */
            same = ARENA_NEW(&o->arena, struct str);
            *same = str_dup(&o->arena, path);
            map_put(&known, path, same);
        }
        o->ids[o->n] = l->rows[o->n].feed->id;
        o->paths[o->n] = *same;
    }
    if (l->n > (size_t)l->len)
        list_orders_keep(t->api->list_orders, o);
    return o;
}

static void finish(struct task *t)
{
    struct listing *l = t->data;
    struct arena *a = &t->arena;
    struct value *list = value_list(a), *folders = value_list(a);
    size_t from = 0;

    if (l->order == NULL) {
        l->order = make_order(t);
        from = (size_t)l->skip;
    } else {
        qsort(l->rows, l->n, sizeof *l->rows, compare_up);
    }
    for (size_t i = from; i < l->n && i < from + (size_t)l->len; i++)
        value_push(a, list, shape(t, &l->rests, &l->rows[i]));
    for (size_t i = 0; i < l->order->n_folders; i++)
        value_push(a, folders, shape_text(a, l->order->folders[i]));
    l->out = value_dict(a);
    value_setz(a, l->out, "total", value_int(a, (int64_t)l->order->n));
    value_setz(a, l->out, "feeds", list);
    value_setz(a, l->out, "folders", folders);
}

static void dispose(struct task *t)
{
    list_order_unref(&((struct listing *)t->data)->order);
}

/* In turns: a list may be long, and others wait for readers. */
static enum task_step work(struct task *t, struct reader *r)
{
    struct listing *l = t->data;
    struct feed_summary *feeds;
    size_t n, n_read;

    if (l->rows == NULL) {
        t->rc = sub_book_refresh(t->api->subs, r, &t->err);
        if (t->rc != RC_OK)
            return TASK_ENDS;
        begin(t);
    }
    n_read = l->n_ids - l->at < AT_ONCE ? l->n_ids - l->at : AT_ONCE;
    t->rc = reader_listed(r, l->ids + l->at, n_read, &t->arena, &feeds, &n, &t->err);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    if (l->order != NULL)
        choose_part(l, feeds, n, n_read);
    else
        choose(t, feeds, n);
    l->at += AT_ONCE;
    if (l->at < l->n_ids) {
        t->rc = RC_TIMEOUT; /* unless there is another turn in time */
        return TASK_YIELDS;
    }
    t->rc = host_rests_read(&l->rests, r, &t->arena, &t->err);
    if (t->rc == RC_OK)
        finish(t);
    return TASK_ENDS;
}

static void done(struct task *t, struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct problem p;

    if (t->rc == RC_OK) {
        json_write(&out, ((struct listing *)t->data)->out);
        buf_putc(&out, '\n');
        reply_buf(req, 200, MEDIA_JSON, &out, STR_NULL);
        return;
    }
    problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    reply_problem(req, &p);
}

/* Returns "News/World/" for "News/World". */
static struct str path_of(struct arena *a, struct str folder)
{
    return folder.len == 0 ? STR("") : str_concat(a, folder, STR("/"));
}

void feed_list_get(struct request *req)
{
    const struct params *ps = &req->ask.params;
    struct arena *a = req->ask.arena;
    struct listing l = {.n = 0}, *kept;
    struct problem p;
    struct task *t;
    int subscribed;

    if (!params_optional(ps, a, PARAM_list_q, &l.q, &p) ||
        !params_optional(ps, a, PARAM_list_folder, &l.folder, &p) ||
        !params_choice(ps, a, PARAM_list_state, &l.state, &p) ||
        !params_choice(ps, a, PARAM_list_sort, &l.sort, &p) ||
        !params_flag(ps, a, PARAM_descending, &l.descending, &p) ||
        !params_choice(ps, a, PARAM_list_subscribed, &subscribed, &p) ||
        !params_count(ps, a, PARAM_skip, &l.skip, &p) ||
        !params_count(ps, a, PARAM_list_len, &l.len, &p)) {
        reply_problem(req, &p);
        return;
    }
    l.is_subscribed = subscribed == 0 || /* the first of the values */
                      !(req->ask.caller.role == ROLE_ADMIN || req->ask.caller.is_alone);
    t = task_new(req, work, done);
    kept = ARENA_NEW(&t->arena, struct listing);
    *kept = l;
    t->data = kept;
    kept->q = str_dup(&t->arena, l.q);
    kept->folder = path_of(&t->arena, str_dup(&t->arena, l.folder));
    t->dispose = dispose;
    task_start_long(t);
}
