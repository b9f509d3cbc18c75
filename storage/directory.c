/* storage/directory.c - a table of feeds by id and one by URL, with one lock.
 *
 * There may be a million feeds, so a feed takes few bytes (storage/dir_feed.h). Ids are given out
 * in order and never used again, so the table by id is an array of slabs; a slab of which no feed
 * is left is freed. A URL can be the own URL of one feed, the web page of another, and the site of
 * many. */
#include "storage/directory.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "storage/brief.h"
#include "storage/dir_keys.h"
#include "storage/directory_priv.h"

#define KEPT_MAX ((size_t)8 * 1024 * 1024) /* keys beyond the newest one of each feed; they take 200 MB */
#define EDITION_BITS (((int64_t)1 << 39) - 1)

static struct feed_brief brief_at(const struct directory *d, const struct dir_feed *f, int64_t id)
{
    struct feed_brief b = dir_feed_brief(f, id);

    b.content_at = dir_feed_time_of((uint32_t)dir_seqs_of(&d->contents, id));
    return b;
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
    d->kept_max = KEPT_MAX;
    return d;
}

/* The feed is not there any more; its URLs are out of the index. */
static void clear_feed(struct dir_feed *f)
{
    mem_free(f->names);
    dir_keys_release(f);
    *f = (struct dir_feed){.names = NULL};
}

void directory_free(struct directory **dp)
{
    struct directory *d = *dp;

    if (d == NULL)
        return;
    name_index_release(&d->names_index);
    dir_seqs_release(&d->horizons);
    dir_seqs_release(&d->events);
    dir_seqs_release(&d->contents);
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
    directory_drop_keys(d);
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
    dir_seqs_set(&d->contents, b->id, dir_feed_time(b->content_at));
    f->edition = ++d->edition & EDITION_BITS;
}

/* Up to where its entries go. */
static void set_bounds(struct dir_feed *f, const struct directory_feed *in)
{
    f->last_seq = in->last_seq & (((int64_t)1 << 47) - 1);
    dir_keys_renew(f, in->newest_at);
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
        dir_keys_forget(f, in->newest_at);
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
    dir_seqs_set(&d->horizons, in->brief.id, in->horizon);
    set_bounds(f, in);
    dir_seqs_set(&d->events, in->brief.id, in->event_seq);
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
        dir_seqs_set(&d->horizons, in->brief.id, in->horizon);
        set_bounds(f, in);
        if (in->event_seq != 0)
            dir_seqs_set(&d->events, in->brief.id, in->event_seq);
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
    whole.event_seq = in->event_seq != 0 ? in->event_seq : dir_seqs_of(&d->events, in->brief.id);
    directory_put(d, &whole);
}

void directory_edited(struct directory *d, int64_t feed_id)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f != NULL)
        f->edition = ++d->edition & EDITION_BITS;
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
    d->n_kept -= dir_keys_kept(f);
    clear_feed(f);
    dir_seqs_set(&d->horizons, feed_id, 0);
    dir_seqs_set(&d->events, feed_id, 0);
    dir_seqs_set(&d->contents, feed_id, 0);
    if (--d->slabs[at]->n == 0) {
        mem_free(d->slabs[at]);
        d->slabs[at] = NULL;
    }
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
            fresh->slabs[i]->feeds[k].edition = ++d->edition & EDITION_BITS;
    SWAP(d->slabs, fresh->slabs, struct slab **);
    SWAP(d->cap, fresh->cap, size_t);
    SWAP(d->horizons, fresh->horizons, struct dir_seqs);
    SWAP(d->events, fresh->events, struct dir_seqs);
    SWAP(d->contents, fresh->contents, struct dir_seqs);
    SWAP(d->n_kept, fresh->n_kept, size_t);
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
        b = brief_at(d, f, d->unread[*at]);
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
        *out = brief_at(d, feed_at(d, found), found);
    pthread_rwlock_unlock(&d->lock);
    return found != 0;
}

bool directory_brief(struct directory *d, int64_t feed_id, struct feed_brief *out)
{
    const struct dir_feed *f;

    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL)
        *out = brief_at(d, f, feed_id);
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

/* Is the URL more of feed `a` than of feed `b`? */
static bool names_better(struct directory *d, struct str url, int64_t a, int64_t b)
{
    enum name_role role = feed_names_role(feed_at(d, a)->names, url);
    enum name_role other = feed_names_role(feed_at(d, b)->names, url);

    return role != other ? role < other : a < b;
}

size_t directory_find_named(struct directory *d, struct str url, int64_t *ids, size_t max)
{
    const struct name_index *x = &d->names_index;
    size_t n = 0, at;

    pthread_rwlock_rdlock(&d->lock);
    for (uint32_t id = name_index_first(x, url); id != 0; id = name_index_next(x, id, url)) {
        if (feed_names_role(feed_at(d, id)->names, url) >= NAME_SITE)
            continue;
        for (at = n; at > 0 && names_better(d, url, id, ids[at - 1]); at--)
            if (at < max)
                ids[at] = ids[at - 1];
        if (at < max)
            ids[at] = id;
        n += n < max;
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
    seq = all ? dir_seqs_highest(&d->horizons) : dir_seqs_highest_of(&d->horizons, ids, n);
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
            out[n_out++] = brief_at(d, f, ids[i]);
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
        if (f != NULL && (f->last_seq > seq || dir_seqs_of(&d->events, feeds[i].feed_id) > seq))
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
