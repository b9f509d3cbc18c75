/* storage/directory.c - a table of feeds by id and one by URL, with one lock.
 *
 * There may be a million feeds, so a feed takes few bytes (storage/dir_feed.h). Ids are given out
 * in order and never used again, so the table by id is an array of slabs; a slab of which no feed
 * is left is freed. A URL can be the own URL of one feed, the web page of another, and the site of
 * many. */
#include "storage/directory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "storage/brief.h"
#include "storage/dir_horizons.h"
#include "storage/dir_keys.h"

#define SLAB 256

struct slab {
    size_t n; /* feeds that are there */
    struct dir_feed feeds[SLAB];
};

struct directory {
    pthread_rwlock_t lock; /* guards everything below */
    struct slab **slabs;   /* by id; NULL: no feed */
    size_t cap;            /* of `slabs` */
    struct name_index names_index;
    struct dir_horizons horizons;
    int64_t last_seq;
    int64_t *unread; /* feeds that had no document when they were put here; perhaps they have one
                        now, or are gone */
    size_t n_unread, cap_unread;
    int64_t edition;              /* the last one that was given out */
    atomic_llong changes;         /* grows whenever a feed may have changed */
    uint32_t needs[NEED_CLASSES]; /* feeds of each class */
    atomic_llong n_needs;         /* feeds that have a class */
    atomic_llong protections;     /* grows when a feed is private that was not, or the reverse */
    atomic_llong names; /* grows when a URL means other feeds than before, or a feed has been
                           fetched for the first time; written with the lock held */
};

static struct dir_feed *feed_at(const struct directory *d, int64_t id)
{
    size_t at = (size_t)id / SLAB;
    struct dir_feed *f;

    if (id <= 0 || at >= d->cap || d->slabs[at] == NULL)
        return NULL;
    f = &d->slabs[at]->feeds[(size_t)id % SLAB];
    return f->names == NULL ? NULL : f;
}

static struct feed_names *names_of(const void *ctx, uint32_t feed_id)
{
    return feed_at(ctx, feed_id)->names;
}

struct directory *directory_new(void)
{
    struct directory *d = NEW(struct directory);
    pthread_rwlockattr_t attr;

    /* Without this, the storer might never get the lock, because there is always some reader. */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&d->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    d->names_index = (struct name_index){.of = names_of, .ctx = d};
    return d;
}

/* The feed is not there any more; its URLs are out of the index. */
static void clear_feed(struct dir_feed *f)
{
    mem_free(f->names);
    mem_free(f->keys);
    *f = (struct dir_feed){.names = NULL};
}

void directory_free(struct directory **dp)
{
    struct directory *d = *dp;

    if (d == NULL)
        return;
    name_index_release(&d->names_index);
    dir_horizons_release(&d->horizons);
    for (size_t i = 0; i < d->cap; i++) {
        for (size_t k = 0; d->slabs[i] != NULL && k < SLAB; k++)
            clear_feed(&d->slabs[i]->feeds[k]);
        mem_free(d->slabs[i]);
    }
    mem_free(d->slabs);
    mem_free(d->unread);
    pthread_rwlock_destroy(&d->lock);
    mem_free(d);
    *dp = NULL;
}

void directory_lock(struct directory *d)
{
    pthread_rwlock_wrlock(&d->lock);
}

void directory_unlock(struct directory *d)
{
    atomic_fetch_add(&d->changes, 1);
    pthread_rwlock_unlock(&d->lock);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Give a feed these names, the URL first. */
static void set_names(struct directory *d, struct dir_feed *f, int64_t id,
                      const struct name_given *given, size_t n)
{
    struct feed_names *names = feed_names_new(given, n), *old = f->names;

    if (old != NULL && feed_names_same(old, names)) {
        mem_free(names);
        return;
    }
    if (old != NULL)
        name_index_leave(&d->names_index, (uint32_t)id, old, names);
    f->names = names;
    name_index_join(&d->names_index, (uint32_t)id, names, old);
    mem_free(old);
    atomic_fetch_add(&d->names, 1);
}

/* The name a feed has in this role; null: none. */
static struct str name_in(const struct dir_feed *f, enum name_role role, struct arena *a)
{
    struct name n;

    return feed_names_find(f->names, role, &n) ? name_text(&n, a) : STR_NULL;
}

/* ---- the storer ------------------------------------------------------------------------------ */

static void count_need(struct directory *d, uint16_t was, uint16_t now)
{
    if (was == now)
        return;
    if (was != 0)
        d->needs[was]--;
    if (now != 0)
        d->needs[now]++;
    atomic_fetch_add(&d->n_needs, (now != 0) - (was != 0));
}

static void set_brief(struct directory *d, struct dir_feed *f, const struct feed_brief *b)
{
    count_need(d, f->need_class, b->need_class);
    if (f->fetched != b->fetched || f->is_private != b->is_private)
        atomic_fetch_add(&d->names, 1);
    if (f->is_private != b->is_private)
        atomic_fetch_add(&d->protections, 1);
    dir_feed_set(f, b);
    f->edition = ++d->edition;
}

/* The place for a feed that is new. */
static struct dir_feed *make_room(struct directory *d, int64_t id)
{
    size_t at = (size_t)id / SLAB, old = d->cap;

    ASSERT(id > 0 && id <= UINT32_MAX);
    if (at >= d->cap) {
        d->slabs = mem_grow(d->slabs, &d->cap, at + 1, sizeof *d->slabs);
        memset(d->slabs + old, 0, (d->cap - old) * sizeof *d->slabs);
    }
    if (d->slabs[at] == NULL)
        d->slabs[at] = NEW(struct slab);
    d->slabs[at]->n++;
    return &d->slabs[at]->feeds[(size_t)id % SLAB];
}

static void note_unread(struct directory *d, int64_t id)
{
    d->unread = mem_grow(d->unread, &d->cap_unread, d->n_unread + 1, sizeof *d->unread);
    d->unread[d->n_unread++] = id;
}

void directory_put(struct directory *d, const struct directory_feed *in)
{
    struct dir_feed *f = feed_at(d, in->brief.id);
    bool is_new = f == NULL;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct name_given *given = ARENA_ARRAY(&a, struct name_given, in->n_aliases + 5);
    size_t n = 0;

    if (is_new) {
        f = make_room(d, in->brief.id);
        f->complete = true;
        f->is_private = in->brief.is_private; /* nobody has seen it otherwise */
        if (!in->brief.fetched)
            note_unread(d, in->brief.id);
    }
    given[n++] = (struct name_given){NAME_URL, in->url};
    given[n++] = (struct name_given){NAME_PAGE, in->page_url};
    given[n++] = (struct name_given){NAME_SITE, in->site_url};
    for (size_t i = 0; i < in->n_aliases; i++)
        given[n++] = (struct name_given){NAME_ALIAS, in->aliases[i]};
    given[n++] = (struct name_given){NAME_CREDENTIAL,
                                     is_new ? in->credential : name_in(f, NAME_CREDENTIAL, &a)};
    given[n++] = (struct name_given){NAME_ACCESS_KEY,
                                     is_new ? in->access_key : name_in(f, NAME_ACCESS_KEY, &a)};
    set_brief(d, f, &in->brief);
    dir_horizons_set(&d->horizons, in->brief.id, in->horizon);
    f->last_seq = in->last_seq;
    f->event_seq = in->event_seq;
    set_names(d, f, in->brief.id, given, n);
}

/* Has the feed the same URLs as before, aliases aside? */
static bool has_same_urls(const struct dir_feed *f, const struct directory_feed *in)
{
    const struct str urls[] = {
        [NAME_URL] = in->url, [NAME_PAGE] = in->page_url, [NAME_SITE] = in->site_url};
    int missing = (in->url.len > 0) + (in->page_url.len > 0) + (in->site_url.len > 0);
    size_t at = 0;
    struct name n;

    while (feed_names_next(f->names, &at, &n)) {
        if (n.role == NAME_ALIAS || n.role > NAME_SITE)
            continue;
        if (!name_is(&n, urls[n.role]))
            return false;
        missing--;
    }
    return missing == 0;
}

void directory_renew(struct directory *d, const struct directory_feed *in)
{
    struct dir_feed *f = feed_at(d, in->brief.id);
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory_feed whole = *in;
    size_t at = 0, n = 0;
    struct str *aliases;
    struct name name;

    ASSERT(f != NULL);
    if (has_same_urls(f, in)) {
        set_brief(d, f, &in->brief);
        dir_horizons_set(&d->horizons, in->brief.id, in->horizon);
        if (in->last_seq != 0)
            f->last_seq = in->last_seq;
        if (in->event_seq != 0)
            f->event_seq = in->event_seq;
        return;
    }
    while (feed_names_next(f->names, &at, &name))
        n += name.role == NAME_ALIAS;
    aliases = ARENA_ARRAY(&a, struct str, n + 1);
    for (at = n = 0; feed_names_next(f->names, &at, &name);)
        if (name.role == NAME_ALIAS)
            aliases[n++] = name_text(&name, &a);
    whole.aliases = aliases;
    whole.n_aliases = n;
    whole.last_seq = in->last_seq != 0 ? in->last_seq : f->last_seq;
    whole.event_seq = in->event_seq != 0 ? in->event_seq : f->event_seq;
    directory_put(d, &whole);
}

void directory_edited(struct directory *d, int64_t feed_id)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f != NULL)
        f->edition = ++d->edition;
}

void directory_remove(struct directory *d, int64_t feed_id)
{
    struct dir_feed *f = feed_at(d, feed_id);
    size_t at = (size_t)feed_id / SLAB;

    if (f == NULL)
        return;
    name_index_leave(&d->names_index, (uint32_t)feed_id, f->names, NULL);
    atomic_fetch_add(&d->names, 1);
    count_need(d, f->need_class, 0);
    clear_feed(f);
    dir_horizons_set(&d->horizons, feed_id, 0);
    if (--d->slabs[at]->n == 0) {
        mem_free(d->slabs[at]);
        d->slabs[at] = NULL;
    }
}

void directory_key(struct directory *d, const struct directory_key *k)
{
    struct dir_feed *f = feed_at(d, k->feed_id);

    if (f != NULL)
        dir_keys_change(f, k->old_seq, &k->key);
}

void directory_set_keys(struct directory *d, int64_t feed_id, const struct merge_key *keys,
                        size_t n, bool complete)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f != NULL)
        dir_keys_set(f, keys, n, complete);
}

void directory_set_last_seq(struct directory *d, int64_t last_seq)
{
    d->last_seq = last_seq;
}

/* Swap two values of the same type. */
#define SWAP(x, y, type)                                                                           \
    do {                                                                                           \
        type swapped_ = (x);                                                                       \
        (x) = (y);                                                                                 \
        (y) = swapped_;                                                                            \
    } while (0)

/* The old ones are freed with `fresh`, while nobody has to wait for that. */
void directory_replace(struct directory *d, struct directory *fresh)
{
    directory_lock(d);
    for (size_t i = 0; i < fresh->cap; i++)
        for (size_t k = 0; fresh->slabs[i] != NULL && k < SLAB; k++)
            fresh->slabs[i]->feeds[k].edition = ++d->edition;
    SWAP(d->slabs, fresh->slabs, struct slab **);
    SWAP(d->cap, fresh->cap, size_t);
    SWAP(d->horizons, fresh->horizons, struct dir_horizons);
    SWAP(d->names_index, fresh->names_index, struct name_index);
    SWAP(d->names_index.ctx, fresh->names_index.ctx, const void *);
    SWAP(d->unread, fresh->unread, int64_t *);
    SWAP(d->n_unread, fresh->n_unread, size_t);
    SWAP(d->cap_unread, fresh->cap_unread, size_t);
    d->last_seq = fresh->last_seq;
    memcpy(d->needs, fresh->needs, sizeof d->needs);
    atomic_store(&d->n_needs, atomic_load(&fresh->n_needs));
    atomic_fetch_add(&d->names, 1);
    directory_unlock(d);
}

int64_t directory_n_needs(struct directory *d)
{
    return atomic_load(&d->n_needs);
}

void directory_needs(struct directory *d, uint32_t counts[NEED_CLASSES])
{
    pthread_rwlock_rdlock(&d->lock);
    memcpy(counts, d->needs, sizeof d->needs);
    pthread_rwlock_unlock(&d->lock);
}

size_t directory_strays(struct directory *d, int64_t before, size_t *at, int64_t *ids, size_t max)
{
    size_t n = 0;

    directory_lock(d);
    for (size_t i = 0; i < max && *at < d->n_unread; i++) {
        const struct dir_feed *f = feed_at(d, d->unread[*at]);

        struct feed_brief b;

        if (f == NULL || f->fetched) {
            d->unread[*at] = d->unread[--d->n_unread];
            continue;
        }
        b = dir_feed_brief(f, d->unread[*at]);
        if (brief_is_stray(&b, before))
            ids[n++] = d->unread[*at];
        ++*at;
    }
    if (*at >= d->n_unread)
        *at = 0;
    directory_unlock(d);
    return n;
}

/* ---- everybody ------------------------------------------------------------------------------- */

static bool opens(const struct dir_feed *f, struct str credential, struct str key)
{
    struct name own, given;
    bool has_one = feed_names_find(f->names, NAME_CREDENTIAL, &own);

    if (credential.len == 0 || !has_one)
        return credential.len == 0 && !has_one;
    return name_is(&own, credential) ||
           (!str_is_null(key) && feed_names_find(f->names, NAME_ACCESS_KEY, &given) &&
            name_is(&given, key));
}

bool directory_find(struct directory *d, struct str url, struct str credential,
                    struct feed_brief *out)
{
    struct str key = access_key_of(credential);
    enum name_role role, best = NAME_SITE;
    const struct name_index *x = &d->names_index;
    uint32_t found = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (uint32_t id = name_index_first(x, url); id != 0; id = name_index_next(x, id, url)) {
        role = feed_names_role(feed_at(d, id)->names, url);
        if (role > best || role == NAME_SITE || (role == best && found != 0 && id > found) ||
            !opens(feed_at(d, id), credential, key))
            continue;
        best = role;
        found = id;
    }
    if (found != 0)
        *out = dir_feed_brief(feed_at(d, found), found);
    pthread_rwlock_unlock(&d->lock);
    return found != 0;
}

bool directory_brief(struct directory *d, int64_t feed_id, struct feed_brief *out)
{
    const struct dir_feed *f;

    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL)
        *out = dir_feed_brief(f, feed_id);
    pthread_rwlock_unlock(&d->lock);
    return f != NULL;
}

struct str directory_access_key(struct directory *d, int64_t feed_id, struct arena *a)
{
    struct str key = STR_NULL;
    const struct dir_feed *f;

    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL)
        key = name_in(f, NAME_ACCESS_KEY, a);
    pthread_rwlock_unlock(&d->lock);
    return key;
}

int64_t directory_edition(struct directory *d, int64_t feed_id)
{
    struct feed_brief brief;

    return directory_brief(d, feed_id, &brief) ? brief.edition : 0;
}

int64_t directory_newest_edition(struct directory *d)
{
    int64_t edition;

    pthread_rwlock_rdlock(&d->lock);
    edition = d->edition;
    pthread_rwlock_unlock(&d->lock);
    return edition;
}

int64_t directory_changes(struct directory *d)
{
    return atomic_load(&d->changes);
}

int64_t directory_names(struct directory *d)
{
    return atomic_load(&d->names);
}

struct str directory_url(struct directory *d, int64_t feed_id, struct arena *a)
{
    struct str url = STR_NULL;
    const struct dir_feed *f;

    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL)
        url = name_in(f, NAME_URL, a);
    pthread_rwlock_unlock(&d->lock);
    return url;
}

struct str directory_credential(struct directory *d, int64_t feed_id, struct arena *a,
                                struct str *given_at)
{
    struct str credential = STR_NULL;
    const struct dir_feed *f;

    *given_at = STR_NULL;
    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL)
        credential = name_in(f, NAME_CREDENTIAL, a);
    if (!str_is_null(credential)) {
        *given_at = name_in(f, NAME_PAGE, a);
        if (str_is_null(*given_at))
            *given_at = name_in(f, NAME_URL, a);
    }
    pthread_rwlock_unlock(&d->lock);
    return credential;
}

bool directory_has_alias(struct directory *d, struct str name)
{
    const struct name_index *x = &d->names_index;
    bool found = false;
    size_t at;
    struct name n;

    pthread_rwlock_rdlock(&d->lock);
    for (uint32_t id = name_index_first(x, name); id != 0 && !found;
         id = name_index_next(x, id, name))
        for (at = 0; !found && feed_names_next(feed_at(d, id)->names, &at, &n);)
            found = n.role == NAME_ALIAS && name_is(&n, name);
    pthread_rwlock_unlock(&d->lock);
    return found;
}

int64_t directory_protections(struct directory *d)
{
    return atomic_load(&d->protections);
}

size_t directory_find_any(struct directory *d, struct str url, int64_t *ids, size_t max)
{
    const struct name_index *x = &d->names_index;
    size_t n = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (uint32_t id = name_index_first(x, url); id != 0; id = name_index_next(x, id, url)) {
        if (n < max)
            ids[n] = id;
        n++;
    }
    pthread_rwlock_unlock(&d->lock);
    return n;
}

int64_t directory_version(struct directory *d, const int64_t *ids, size_t n)
{
    int64_t version = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f != NULL && f->version > version)
            version = f->version;
    }
    pthread_rwlock_unlock(&d->lock);
    return version;
}

int64_t directory_horizon(struct directory *d, const int64_t *ids, size_t n, bool all)
{
    int64_t seq;

    pthread_rwlock_rdlock(&d->lock);
    seq = all ? dir_horizons_highest(&d->horizons) : dir_horizons_of(&d->horizons, ids, n);
    pthread_rwlock_unlock(&d->lock);
    return seq;
}

int64_t directory_seq_of(struct directory *d, const int64_t *ids, size_t n)
{
    int64_t seq = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f != NULL && f->last_seq > seq)
            seq = f->last_seq;
    }
    pthread_rwlock_unlock(&d->lock);
    return seq;
}

size_t directory_newer(struct directory *d, const int64_t *ids, size_t n, int64_t seq, int64_t *out)
{
    size_t n_out = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f != NULL && f->last_seq > seq)
            out[n_out++] = ids[i];
    }
    pthread_rwlock_unlock(&d->lock);
    return n_out;
}

size_t directory_briefs(struct directory *d, const int64_t *ids, size_t n, struct feed_brief *out)
{
    size_t n_out = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f != NULL)
            out[n_out++] = dir_feed_brief(f, ids[i]);
    }
    pthread_rwlock_unlock(&d->lock);
    return n_out;
}

/* The feeds found so far are in order, and there are few of them. */
size_t directory_newest(struct directory *d, const int64_t *ids, size_t n, size_t max, int64_t *out)
{
    size_t n_out = 0, at;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f == NULL || f->last_seq == 0)
            continue;
        for (at = n_out; at > 0 && f->last_seq > feed_at(d, out[at - 1])->last_seq; at--)
            if (at < max)
                out[at] = out[at - 1];
        if (at < max)
            out[at] = ids[i];
        n_out += n_out < max ? 1 : 0;
    }
    pthread_rwlock_unlock(&d->lock);
    return n_out;
}

int64_t directory_last_seq(struct directory *d)
{
    int64_t last;

    pthread_rwlock_rdlock(&d->lock);
    last = d->last_seq;
    pthread_rwlock_unlock(&d->lock);
    return last;
}

bool directory_with_news(struct directory *d, const struct sub_feed *feeds, size_t n, int64_t seq,
                         size_t *out, size_t *n_out)
{
    bool all_there = true;

    *n_out = 0;
    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, feeds[i].feed_id);

        all_there &= f != NULL;
        if (f != NULL && (f->last_seq > seq || f->event_seq > seq))
            out[(*n_out)++] = i;
    }
    pthread_rwlock_unlock(&d->lock);
    return all_there;
}

size_t directory_ids(struct directory *d, struct arena *a, int64_t **out)
{
    size_t n = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < d->cap; i++)
        n += d->slabs[i] == NULL ? 0 : d->slabs[i]->n;
    *out = ARENA_ARRAY(a, int64_t, n + 1);
    n = 0;
    for (size_t i = 0; i < d->cap; i++)
        for (size_t k = 0; d->slabs[i] != NULL && k < SLAB; k++)
            if (d->slabs[i]->feeds[k].names != NULL)
                (*out)[n++] = (int64_t)(i * SLAB + k);
    pthread_rwlock_unlock(&d->lock);
    return n;
}

static bool is_as(const struct directory *d, const struct dir_feed *f,
                  const struct directory_feed *as)
{
    return f != NULL && f->version == as->brief.version && f->last_seq == as->last_seq &&
           dir_horizons_of(&d->horizons, &as->brief.id, 1) == as->horizon;
}

size_t directory_fill_keys(struct directory *d, const struct directory_feed *as,
                           const struct key_run *runs, size_t n)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct merge_key **blocks = ARENA_ARRAY(&a, struct merge_key *, n + 1);
    size_t n_taken = 0;

    for (size_t i = 0; i < n; i++)
        blocks[i] = dir_keys_copy(runs[i].keys, runs[i].n);
    /* `changes` stays: no feed is another one than before. */
    pthread_rwlock_wrlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        struct dir_feed *f = feed_at(d, as[i].brief.id);

        if (!is_as(d, f, &as[i]))
            continue;
        dir_keys_swap(f, &blocks[i], runs[i].n, runs[i].complete);
        n_taken++;
    }
    pthread_rwlock_unlock(&d->lock);
    for (size_t i = 0; i < n; i++)
        mem_free(blocks[i]);
    return n_taken;
}

/* The feeds of these runs; none when one of them has as many keys in memory as it can have. */
static void name_unread(const struct directory *d, const int64_t *of_run,
                        const struct merge_ends *ends, struct arena *scratch,
                        struct unread_keys *out)
{
    int64_t *ids = arena_alloc(scratch, ends->n * sizeof *ids + 1);

    *out = (struct unread_keys){ids, ends->n};
    for (size_t i = 0; i < ends->n; i++) {
        ids[i] = of_run[ends->runs[i]];
        if (!dir_keys_are_few(feed_at(d, ids[i])))
            out->n = 0;
    }
}

bool directory_merge(struct directory *d, const int64_t *ids, size_t n,
                     const struct merge_range *range, struct arena *scratch, int64_t *out,
                     size_t *n_out, struct unread_keys *unread)
{
    struct merge_run *runs = arena_alloc(scratch, n * sizeof *runs + 1);
    int64_t *of_run = arena_alloc(scratch, n * sizeof *of_run + 1);
    size_t n_runs = 0;
    struct merge_ends ends;
    bool deep_enough;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f == NULL || (range->after_seq > 0 && f->last_seq <= range->after_seq))
            continue;
        of_run[n_runs] = ids[i];
        runs[n_runs++] = (struct merge_run){f->keys, f->n_keys, f->complete};
    }
    deep_enough = merge_runs(runs, n_runs, range, scratch, out, n_out, &ends);
    name_unread(d, of_run, &ends, scratch, unread);
    pthread_rwlock_unlock(&d->lock);
    return deep_enough;
}

size_t directory_touch(struct directory *d, const int64_t *ids, size_t n, int64_t now,
                       int64_t before, int64_t *out)
{
    size_t n_out = 0;

    /* First only read: nearly always there is nothing to write. */
    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f != NULL && dir_feed_time_of(f->wanted_at) < before)
            out[n_out++] = ids[i];
    }
    pthread_rwlock_unlock(&d->lock);
    if (n_out == 0)
        return 0;
    pthread_rwlock_wrlock(&d->lock);
    n = n_out;
    n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct dir_feed *f = feed_at(d, out[i]);

        if (f == NULL || dir_feed_time_of(f->wanted_at) >= before)
            continue;
        f->wanted_at = dir_feed_time(now);
        out[n_out++] = out[i];
    }
    pthread_rwlock_unlock(&d->lock);
    return n_out;
}
