/* api/views/sub_book.c - see sub_book.h. */
#include "api/views/sub_book.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/http/current.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/views/shapes.h"
#include "base/map.h"
#include "base/mem.h"

#define SUBS_AT_ONCE 500
#define CATCH_UP_MS 4500 /* a request is answered within 5 s */

struct known_sub {
    int64_t id, owner;
    bool follows;   /* other subscriptions, or a view */
    bool has_names; /* of its own for feeds */
    size_t n;
    struct member {
        int64_t feed_id;
        uint32_t path_at; /* in `text`; the name comes after the path */
        uint16_t path_len, name_len;
    } * feeds; /* in the same block, like `text` */
    char *text;
};

/* Whose subscriptions have a feed. */
struct holders {
    int64_t feed_id;
    size_t n, cap;
    struct holder {
        int64_t owner;
        size_t times; /* in so many places */
    } *list;
};

struct sub_book {
    struct store *store;
    struct view_book *views;
    pthread_mutex_t reading; /* held while the book is refreshed, so only readers take it */
    atomic_llong edition, shown;
    pthread_mutex_t lock; /* guards the rest */
    struct map subs;      /* bytes of an id -> struct known_sub */
    struct map holders;   /* bytes of the id of a feed -> struct holders; made of `subs` */
    int64_t *stale;       /* subscriptions to be read again */
    size_t n_stale, cap_stale;
    bool all_stale;  /* all are to be read anew */
    bool is_filled;  /* it was read once */
    bool is_reading; /* what was stale is being read */
};

struct sub_book *sub_book_new(struct store *s)
{
    struct sub_book *b = NEW(struct sub_book);

    b->store = s;
    b->views = view_book_new(s);
    b->all_stale = true;
    pthread_mutex_init(&b->reading, NULL);
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

static void holders_free(void *value)
{
    struct holders *h = value;

    mem_free(h->list);
    mem_free(h);
}

void sub_book_free(struct sub_book **bp)
{
    struct sub_book *b = *bp;

    if (b == NULL)
        return;
    view_book_free(&b->views);
    map_release(&b->subs, mem_free);
    map_release(&b->holders, holders_free);
    mem_free(b->stale);
    pthread_mutex_destroy(&b->lock);
    pthread_mutex_destroy(&b->reading);
    mem_free(b);
    *bp = NULL;
}

/* ---- what has changed ------------------------------------------------------------------------ */

/* A feed that became part of another one is replaced in all subscriptions that have it, and no
 * notice names these. */
static bool has_merger(const struct commit_notice *notice)
{
    for (size_t i = 0; i < notice->n_feeds; i++)
        if (notice->feeds[i].merged_into != 0)
            return true;
    return false;
}

void sub_book_notice(struct sub_book *b, const struct commit_notice *notice)
{
    bool is_anew = notice->is_anew || has_merger(notice);

    view_book_notice(b->views, notice);
    if (!is_anew && notice->n_subs == 0)
        return;
    pthread_mutex_lock(&b->lock);
    b->all_stale = b->all_stale || is_anew;
    for (size_t i = 0; i < notice->n_subs && !b->all_stale; i++) {
        b->stale = mem_grow(b->stale, &b->cap_stale, b->n_stale + 1, sizeof *b->stale);
        b->stale[b->n_stale++] = notice->sub_ids[i];
    }
    atomic_fetch_add(&b->edition, 1);
    pthread_mutex_unlock(&b->lock);
}

int64_t sub_book_edition(struct sub_book *b)
{
    return atomic_load(&b->edition) + view_book_edition(b->views);
}

int64_t sub_book_shown(struct sub_book *b)
{
    return atomic_load(&b->shown) + view_book_shown(b->views);
}

static bool is_fresh_locked(const struct sub_book *b)
{
    return !b->all_stale && b->n_stale == 0 && !b->is_reading;
}

bool sub_book_is_fresh(struct sub_book *b)
{
    bool is_fresh;

    pthread_mutex_lock(&b->lock);
    is_fresh = is_fresh_locked(b);
    pthread_mutex_unlock(&b->lock);
    return is_fresh && view_book_is_fresh(b->views);
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct str key_of(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

/* Returns the path of a folder as it is stored: "News/World/"; null: none. */
static struct str path_of(struct arena *a, struct str stored)
{
    const struct value *names;
    struct buf out = BUF_INIT(BUF_ANY);
    struct str path;

    if (stored.len == 0)
        return STR_NULL;
    names = shape_folder(a, stored);
    for (size_t i = 0; i < value_len(names); i++)
        if (value_at(names, i)->kind == VAL_TEXT)
            buf_printf(&out, "%.*s/", STR_ARG(value_at(names, i)->s));
    path = str_dup(a, buf_view(&out));
    buf_release(&out);
    return path;
}

/* As much of a name as a member has room for; a list may have longer ones. */
static struct str name_of(struct str stored)
{
    return stored.len <= UINT16_MAX
               ? stored
               : str_slice(stored, 0, str_utf8_valid(str_slice(stored, 0, UINT16_MAX)));
}

static char *put_text(char *out, struct str s)
{
    if (s.len > 0)
        memcpy(out, s.ptr, s.len);
    return out + s.len;
}

static struct known_sub *known_new(const struct subscription *sub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str *paths = ARENA_ARRAY(&a, struct str, sub->n_feeds + 1);
    size_t len = 0, feeds_len = sub->n_feeds * sizeof(struct member);
    struct known_sub *known;
    char *end;

    for (size_t i = 0; i < sub->n_feeds; i++) {
        paths[i] = name_of(path_of(&a, sub->feeds[i].folder));
        len += paths[i].len + name_of(sub->feeds[i].name).len;
    }
    known = mem_alloc(sizeof *known + feeds_len + len);
    *known = (struct known_sub){.id = sub->id,
                                .owner = sub->owner,
                                .follows = !str_is_null(sub->asks),
                                .n = sub->n_feeds};
    known->feeds = (struct member *)(known + 1);
    known->text = end = (char *)known->feeds + feeds_len;
    for (size_t i = 0; i < sub->n_feeds; i++) {
        struct str name = name_of(sub->feeds[i].name);

        known->feeds[i] = (struct member){.feed_id = sub->feeds[i].feed_id,
                                          .path_at = (uint32_t)(end - known->text),
                                          .path_len = (uint16_t)paths[i].len,
                                          .name_len = (uint16_t)name.len};
        known->has_names = known->has_names || name.len > 0;
        end = put_text(put_text(end, paths[i]), name);
    }
    return known;
}

static struct holder *holder_of(struct holders *h, int64_t owner)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].owner == owner)
            return &h->list[i];
    return NULL;
}

static void hold_one(struct map *holders, int64_t feed_id, int64_t owner)
{
    struct holders *h = map_get(holders, key_of(&feed_id));
    struct holder *one = h == NULL ? NULL : holder_of(h, owner);

    if (h == NULL) {
        h = NEW(struct holders);
        h->feed_id = feed_id;
        map_put(holders, key_of(&h->feed_id), h);
    }
    if (one == NULL) {
        h->list = mem_grow(h->list, &h->cap, h->n + 1, sizeof *h->list);
        one = &h->list[h->n++];
        *one = (struct holder){.owner = owner};
    }
    one->times++;
}

static void let_go_one(struct map *holders, int64_t feed_id, int64_t owner)
{
    struct holders *h = map_get(holders, key_of(&feed_id));
    struct holder *one = h == NULL ? NULL : holder_of(h, owner);

    if (one == NULL || --one->times > 0)
        return;
    *one = h->list[--h->n];
    if (h->n == 0)
        holders_free(map_del(holders, key_of(&feed_id)));
}

static void hold(struct map *holders, const struct known_sub *known)
{
    for (size_t i = 0; i < known->n; i++)
        hold_one(holders, known->feeds[i].feed_id, known->owner);
}

/* `known` may be NULL. */
static void let_go(struct map *holders, const struct known_sub *known)
{
    for (size_t i = 0; known != NULL && i < known->n; i++)
        let_go_one(holders, known->feeds[i].feed_id, known->owner);
}

static void hold_all(struct map *holders, const struct map *subs)
{
    void *it = NULL, *value;
    struct str key;

    while (map_next(subs, &it, &key, &value))
        hold(holders, value);
}

static void put(struct map *subs, const struct subscription *sub)
{
    struct known_sub *known = known_new(sub);

    mem_free(map_put(subs, key_of(&known->id), known));
}

static enum rc read_all(struct reader *r, struct map *out, struct err *err)
{
    int64_t after = 0;
    size_t n;

    do {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct subscription *subs;
        enum rc rc = reader_subs_after(r, after, SUBS_AT_ONCE, &a, &subs, &n, err);

        if (rc != RC_OK)
            return rc;
        for (size_t i = 0; i < n; i++)
            put(out, &subs[i]);
        after = n > 0 ? subs[n - 1].id : after;
    } while (n > 0);
    return RC_OK;
}

static enum rc read_some(struct reader *r, const int64_t *ids, size_t n, struct map *out,
                         struct err *err)
{
    for (size_t at = 0; at < n; at += SUBS_AT_ONCE) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        size_t n_read, part = n - at < SUBS_AT_ONCE ? n - at : SUBS_AT_ONCE;
        struct subscription *subs;
        enum rc rc = reader_subs(r, ids + at, part, &a, &subs, &n_read, err);

        if (rc != RC_OK)
            return rc;
        for (size_t i = 0; i < n_read; i++)
            put(out, &subs[i]);
    }
    return RC_OK;
}

/* Take what was read of these subscriptions; those that were not found have ended. */
static void take_locked(struct sub_book *b, struct map *fresh, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct known_sub *known = map_del(fresh, key_of(&ids[i])), *old;

        if (known != NULL) {
            hold(&b->holders, known);
            old = map_put(&b->subs, key_of(&known->id), known);
        } else {
            old = map_del(&b->subs, key_of(&ids[i]));
        }
        let_go(&b->holders, old);
        mem_free(old);
    }
}

/* b->reading is held. */
static enum rc refresh(struct sub_book *b, struct reader *r, struct err *err)
{
    struct map fresh = MAP_INIT, old = MAP_INIT, holders = MAP_INIT, before = MAP_INIT;
    size_t n = view_ids_sort(b->stale, b->n_stale);
    int64_t *ids = b->stale, edition = atomic_load(&b->edition);
    bool all = b->all_stale;
    enum rc rc;

    b->stale = NULL;
    b->n_stale = b->cap_stale = 0;
    b->all_stale = false;
    b->is_reading = true;
    pthread_mutex_unlock(&b->lock);
    rc = all ? read_all(r, &fresh, err) : read_some(r, ids, n, &fresh, err);
    if (all && rc == RC_OK)
        hold_all(&holders, &fresh);
    pthread_mutex_lock(&b->lock);
    b->is_reading = false;
    if (rc == RC_OK)
        atomic_store(&b->shown, edition);
    if (rc != RC_OK) {
        b->all_stale = true;
    } else if (all) {
        b->is_filled = true;
        old = b->subs;
        b->subs = fresh;
        fresh = (struct map)MAP_INIT;
        before = b->holders;
        b->holders = holders;
        holders = (struct map)MAP_INIT;
    } else {
        take_locked(b, &fresh, ids, n);
    }
    pthread_mutex_unlock(&b->lock);
    map_release(&fresh, mem_free);
    map_release(&old, mem_free);
    map_release(&holders, holders_free);
    map_release(&before, holders_free);
    mem_free(ids);
    return rc;
}

enum rc sub_book_refresh(struct sub_book *b, struct reader *r, struct err *err)
{
    enum rc rc = RC_OK;

    pthread_mutex_lock(&b->reading);
    pthread_mutex_lock(&b->lock);
    if (is_fresh_locked(b))
        pthread_mutex_unlock(&b->lock);
    else
        rc = refresh(b, r, err);
    pthread_mutex_unlock(&b->reading);
    return rc == RC_OK ? view_book_refresh(b->views, r, err) : rc;
}

struct view_book *sub_book_views(struct sub_book *b)
{
    return b->views;
}

/* ---- before a request is handled ------------------------------------------------------------- */

static enum task_step work(struct task *t, struct reader *r)
{
    t->rc = sub_book_refresh(t->api->subs, r, &t->err);
    return TASK_ENDS;
}

static bool is_filled(struct sub_book *b)
{
    bool is_filled;

    pthread_mutex_lock(&b->lock);
    is_filled = b->is_filled;
    pthread_mutex_unlock(&b->lock);
    return is_filled && view_book_is_filled(b->views);
}

/* If the database is away, what was known will do. */
static void on_read(struct task *t, struct request *req)
{
    request_handler_fn *const *handle = t->data;
    struct problem p;

    if (t->rc == RC_OK || is_filled(t->api->subs)) {
        req->serial = 0; /* the handler may hold it, for a time of its own */
        (*handle)(req);
        return;
    }
    problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    reply_problem(req, &p);
}

static void start_reading(struct request *req, request_handler_fn *handle)
{
    struct task *t = task_new(req, work, on_read);
    request_handler_fn **kept = ARENA_NEW(&t->arena, request_handler_fn *);

    *kept = handle;
    t->data = kept;
    task_start(t);
}

bool sub_book_prepare(struct request *req, request_handler_fn *handle)
{
    if (req->is_prepared)
        return false;
    if (!req->has_caught_up) {
        req->has_caught_up = true;
        if (current_first(req, handle))
            return true;
    }
    req->is_prepared = true;
    if (sub_book_is_fresh(req->ask.api->subs))
        return false;
    start_reading(req, handle);
    return true;
}

struct renewal {
    sub_book_fn *then;
    void *ctx; /* in the request's arena: only its loop looks at it */
};

static void on_renewed(struct task *t, struct request *req)
{
    const struct renewal *n = t->data;

    n->then(req, n->ctx);
}

void sub_book_renew(struct request *req, sub_book_fn *then, void *ctx)
{
    struct renewal *n;
    struct task *t;

    if (sub_book_is_fresh(req->ask.api->subs)) {
        then(req, ctx);
        return;
    }
    t = task_new(req, work, on_renewed);
    n = ARENA_NEW(&t->arena, struct renewal);
    *n = (struct renewal){then, ctx};
    t->data = n;
    task_start(t);
}

/* ---- asking ---------------------------------------------------------------------------------- */

void feed_ids_add(struct feed_ids *ids, int64_t id)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap == 0 ? 16 : ids->cap * 2;
        int64_t *grown = ARENA_ARRAY(ids->a, int64_t, cap);

        if (ids->n > 0)
            memcpy(grown, ids->list, ids->n * sizeof *grown);
        ids->list = grown;
        ids->cap = cap;
    }
    ids->list[ids->n++] = id;
}

static void add_members(const struct known_sub *known, struct str path, struct feed_ids *out)
{
    for (size_t i = 0; i < known->n; i++) {
        const struct member *m = &known->feeds[i];

        if (str_starts(str_of(known->text + m->path_at, m->path_len), path))
            feed_ids_add(out, m->feed_id);
    }
}

void sub_book_folder(struct sub_book *b, const struct caller *c, struct str path, bool with_followers,
                     struct feed_ids *out)
{
    void *it = NULL, *value;
    struct str key;

    pthread_mutex_lock(&b->lock);
    while (map_next(&b->subs, &it, &key, &value)) {
        const struct known_sub *known = value;

        if (caller_has(c, known->owner) && (with_followers || !known->follows))
            add_members(known, path, out);
    }
    pthread_mutex_unlock(&b->lock);
}

static int compare_places(const void *x, const void *y)
{
    const struct feed_place *a = x, *b = y;

    if (a->feed_id != b->feed_id)
        return a->feed_id < b->feed_id ? -1 : 1;
    return a->path.len == 0 ? b->path.len > 0 : b->path.len == 0 ? -1 : str_cmp(a->path, b->path);
}

static size_t count_members_locked(const struct sub_book *b, const struct caller *c)
{
    void *it = NULL, *value;
    struct str key;
    size_t n = 0;

    while (map_next(&b->subs, &it, &key, &value))
        if (caller_has(c, ((const struct known_sub *)value)->owner))
            n += ((const struct known_sub *)value)->n;
    return n;
}

static size_t add_places(const struct known_sub *known, struct arena *a, struct feed_place *out)
{
    for (size_t i = 0; i < known->n; i++) {
        const struct member *m = &known->feeds[i];

        out[i] = (struct feed_place){
            m->feed_id, str_dup(a, str_of(known->text + m->path_at, m->path_len))};
    }
    return known->n;
}

size_t sub_book_places(struct sub_book *b, const struct caller *c, struct arena *a,
                       struct feed_place **out)
{
    void *it = NULL, *value;
    size_t n = 0, kept = 0;
    struct str key;

    pthread_mutex_lock(&b->lock);
    *out = ARENA_ARRAY(a, struct feed_place, count_members_locked(b, c) + 1);
    while (map_next(&b->subs, &it, &key, &value))
        if (caller_has(c, ((const struct known_sub *)value)->owner))
            n += add_places(value, a, *out + n);
    pthread_mutex_unlock(&b->lock);
    qsort(*out, n, sizeof **out, compare_places);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || (*out)[i].feed_id != (*out)[kept - 1].feed_id)
            (*out)[kept++] = (*out)[i];
    return kept;
}

static int compare_ids(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return (a > b) - (a < b);
}

static ssize_t place_in(const struct own_names *o, int64_t id)
{
    const int64_t *at = o->n == 0 ? NULL : bsearch(&id, o->ids, o->n, sizeof *o->ids, compare_ids);

    return at == NULL ? -1 : at - o->ids;
}

struct str own_name(const struct own_names *o, int64_t feed_id)
{
    ssize_t at = place_in(o, feed_id);

    return at < 0 ? STR("") : o->names[at];
}

/* Take the names that this subscription gives to feeds, where no subscription with a lower id does. */
static void take_names(const struct known_sub *known, const struct own_names *o, int64_t *from, struct arena *a)
{
    for (size_t i = 0; known->has_names && i < known->n; i++) {
        const struct member *m = &known->feeds[i];
        ssize_t at = m->name_len == 0 ? -1 : place_in(o, m->feed_id);

        if (at < 0 || (from[at] != 0 && from[at] <= known->id))
            continue;
        from[at] = known->id;
        o->names[at] = str_dup(a, str_of(known->text + m->path_at + m->path_len, m->name_len));
    }
}

struct own_names sub_book_names(struct sub_book *b, const struct caller *c, const int64_t *ids, size_t n,
                                struct arena *a)
{
    struct own_names out = {.ids = ARENA_ARRAY(a, int64_t, n + 1), .names = ARENA_ARRAY(a, struct str, n + 1)};
    int64_t *from = ARENA_ARRAY(a, int64_t, n + 1);
    void *it = NULL, *value;
    struct str key;

    for (size_t i = 0; i < n; i++)
        out.ids[i] = ids[i];
    n = out.n = view_ids_sort(out.ids, n);
    for (size_t i = 0; i < n; i++) {
        out.names[i] = STR("");
        from[i] = 0;
    }
    pthread_mutex_lock(&b->lock);
    while (n > 0 && map_next(&b->subs, &it, &key, &value))
        if (caller_has(c, ((const struct known_sub *)value)->owner))
            take_names(value, &out, from, a);
    pthread_mutex_unlock(&b->lock);
    return out;
}

static bool has_member(const struct known_sub *known, int64_t feed_id)
{
    for (size_t i = 0; i < known->n; i++)
        if (known->feeds[i].feed_id == feed_id)
            return true;
    return false;
}

size_t sub_book_subs_of(struct sub_book *b, const struct caller *c, int64_t feed_id,
                        struct arena *a, int64_t **out)
{
    struct feed_ids found = {.a = a};
    void *it = NULL, *value;
    struct str key;

    pthread_mutex_lock(&b->lock);
    while (map_next(&b->subs, &it, &key, &value)) {
        const struct known_sub *known = value;

        if (caller_has(c, known->owner) && has_member(known, feed_id))
            feed_ids_add(&found, known->id);
    }
    pthread_mutex_unlock(&b->lock);
    *out = found.list;
    return view_ids_sort(found.list, found.n);
}

size_t sub_book_owners(struct sub_book *b, int64_t feed_id, struct arena *a, int64_t **out)
{
    const struct holders *h;
    size_t n;

    pthread_mutex_lock(&b->lock);
    h = map_get(&b->holders, key_of(&feed_id));
    n = h == NULL ? 0 : h->n;
    *out = ARENA_ARRAY(a, int64_t, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = h->list[i].owner;
    pthread_mutex_unlock(&b->lock);
    return n;
}

bool sub_book_has(struct sub_book *b, const struct caller *c, int64_t feed_id)
{
    const struct holders *h;
    bool has = false;

    pthread_mutex_lock(&b->lock);
    h = map_get(&b->holders, key_of(&feed_id));
    for (size_t i = 0; h != NULL && i < h->n && !has; i++)
        has = caller_has(c, h->list[i].owner);
    pthread_mutex_unlock(&b->lock);
    return has;
}

bool sub_book_sub(struct sub_book *b, const struct caller *c, int64_t id, bool with_followers,
                  struct feed_ids *out)
{
    const struct known_sub *known;
    bool has;

    pthread_mutex_lock(&b->lock);
    known = map_get(&b->subs, key_of(&id));
    has = known != NULL && caller_has(c, known->owner);
    if (has && (with_followers || !known->follows))
        add_members(known, STR(""), out);
    pthread_mutex_unlock(&b->lock);
    return has;
}
