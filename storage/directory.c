/* storage/directory.c - a table of feeds by id and one by URL, with one lock.
 *
 * Ids are given out in order and never used again, so the table by id is an array. A URL has a
 * chain of meanings: it can be the own URL of one feed, the web page of another, and the site of
 * many. */
#include "storage/directory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "storage/brief.h"

/* What a URL is for a feed. A role wins over those after it. */
enum role { ROLE_URL, ROLE_ALIAS, ROLE_PAGE, ROLE_SITE };

/* A feed that a URL means. */
struct meaning {
    struct meaning *next; /* of the same URL */
    int64_t feed_id;
    enum role role;
};

struct dir_feed {
    struct feed_brief brief;
    char *credential, *access_key; /* NULL when none */
    struct link {
        char *url;
        enum role role;
    } * links;
    size_t n_links;
    int64_t last_seq, event_seq;
    struct merge_key *keys; /* newest first */
    size_t n_keys, cap_keys;
    bool complete; /* the feed has no other keys */
};

struct directory {
    pthread_rwlock_t lock;   /* guards everything below */
    struct dir_feed **feeds; /* by id; NULL: none */
    size_t cap;              /* of `feeds` */
    struct map meanings;     /* URL -> chain of struct meaning */
    int64_t last_seq;
    int64_t *unread; /* feeds that had no document when they were put here; perhaps they have one
                        now, or are gone */
    size_t n_unread, cap_unread;
    int64_t edition;      /* the last one that was given out */
    atomic_llong changes; /* grows whenever the lock was held to change anything */
    atomic_llong names;   /* grows when a URL means other feeds than before, or a feed has been
                             fetched for the first time; written with the lock held */
};

struct directory *directory_new(void)
{
    struct directory *d = NEW(struct directory);
    pthread_rwlockattr_t attr;

    /* Without this, the storer might never get the lock, because there is always some reader. */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&d->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    return d;
}

static void free_feed(struct dir_feed *f)
{
    for (size_t i = 0; i < f->n_links; i++)
        mem_free(f->links[i].url);
    mem_free(f->links);
    mem_free(f->credential);
    mem_free(f->access_key);
    mem_free(f->keys);
    mem_free(f);
}

static void free_chain(void *chain)
{
    struct meaning *p = chain, *next;

    for (; p != NULL; p = next) {
        next = p->next;
        mem_free(p);
    }
}

void directory_free(struct directory **dp)
{
    struct directory *d = *dp;

    if (d == NULL)
        return;
    for (size_t i = 0; i < d->cap; i++)
        if (d->feeds[i] != NULL)
            free_feed(d->feeds[i]);
    mem_free(d->feeds);
    mem_free(d->unread);
    map_release(&d->meanings, free_chain);
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

static struct dir_feed *feed_at(const struct directory *d, int64_t id)
{
    return id > 0 && (uint64_t)id < d->cap ? d->feeds[id] : NULL;
}

/* ---- meanings of URLs ------------------------------------------------------------------------ */

static void add_meaning(struct directory *d, struct str url, int64_t feed_id, enum role role)
{
    struct meaning *p = NEW(struct meaning);

    *p = (struct meaning){.next = map_get(&d->meanings, url), .feed_id = feed_id, .role = role};
    map_put(&d->meanings, url, p);
    atomic_fetch_add(&d->names, 1);
}

static void drop_meaning(struct directory *d, struct str url, int64_t feed_id, enum role role)
{
    struct meaning *head = map_get(&d->meanings, url), *gone, **at = &head;

    while (*at != NULL && ((*at)->feed_id != feed_id || (*at)->role != role))
        at = &(*at)->next;
    ASSERT(*at != NULL);
    gone = *at;
    *at = gone->next;
    mem_free(gone);
    atomic_fetch_add(&d->names, 1);
    if (head == NULL)
        map_del(&d->meanings, url);
    else
        map_put(&d->meanings, url, head);
}

/* Is the link in the list? It looks first near index `hint`, because the lists before and after a
 * change are nearly the same. */
static bool has_link(const struct link *links, size_t n, const struct link *wanted, size_t hint)
{
    size_t at = hint < 4 ? 0 : hint - 4;

    for (size_t i = 0; i < n; i++, at++) {
        if (at >= n)
            at = 0;
        if (links[at].role == wanted->role && strcmp(links[at].url, wanted->url) == 0)
            return true;
    }
    return false;
}

static void add_link(struct link *links, size_t *n, struct str url, enum role role)
{
    if (url.len > 0)
        links[(*n)++] = (struct link){mem_strndup(url.ptr, url.len), role};
}

/* Update the URLs of a feed. Most of the time none has changed, and there is nothing to do. */
static void set_links(struct directory *d, struct dir_feed *f, const struct directory_feed *in)
{
    struct link *links = mem_alloc((3 + in->n_aliases) * sizeof *links);
    size_t n = 0;

    add_link(links, &n, in->url, ROLE_URL);
    add_link(links, &n, in->page_url, ROLE_PAGE);
    add_link(links, &n, in->site_url, ROLE_SITE);
    for (size_t i = 0; i < in->n_aliases; i++)
        add_link(links, &n, in->aliases[i], ROLE_ALIAS);
    for (size_t i = 0; i < n; i++)
        if (!has_link(f->links, f->n_links, &links[i], i))
            add_meaning(d, str_from(links[i].url), in->brief.id, links[i].role);
    for (size_t i = 0; i < f->n_links; i++)
        if (!has_link(links, n, &f->links[i], i))
            drop_meaning(d, str_from(f->links[i].url), in->brief.id, f->links[i].role);
    for (size_t i = 0; i < f->n_links; i++)
        mem_free(f->links[i].url);
    mem_free(f->links);
    f->links = links;
    f->n_links = n;
}

/* ---- the storer ------------------------------------------------------------------------------ */

static void set_brief(struct directory *d, struct dir_feed *f, const struct feed_brief *brief)
{
    if (f->brief.fetched != brief->fetched)
        atomic_fetch_add(&d->names, 1);
    f->brief = *brief;
    f->brief.edition = ++d->edition;
}

void directory_put(struct directory *d, const struct directory_feed *in)
{
    struct dir_feed *f = feed_at(d, in->brief.id);
    size_t old = d->cap;

    ASSERT(in->brief.id > 0);
    if (f == NULL) {
        if ((uint64_t)in->brief.id >= d->cap) {
            d->feeds = mem_grow(d->feeds, &d->cap, (size_t)in->brief.id + 1, sizeof *d->feeds);
            memset(d->feeds + old, 0, (d->cap - old) * sizeof *d->feeds);
        }
        f = d->feeds[in->brief.id] = NEW(struct dir_feed);
        f->complete = true;
        if (!in->brief.fetched) {
            d->unread = mem_grow(d->unread, &d->cap_unread, d->n_unread + 1, sizeof *d->unread);
            d->unread[d->n_unread++] = in->brief.id;
        }
        if (in->credential.len > 0)
            f->credential = mem_strndup(in->credential.ptr, in->credential.len);
        if (in->access_key.len > 0)
            f->access_key = mem_strndup(in->access_key.ptr, in->access_key.len);
    }
    set_brief(d, f, &in->brief);
    f->last_seq = in->last_seq;
    f->event_seq = in->event_seq;
    set_links(d, f, in);
}

/* Has the feed the same URLs as before, aliases aside? */
static bool has_same_urls(const struct dir_feed *f, const struct directory_feed *in)
{
    const struct str urls[] = {
        [ROLE_URL] = in->url, [ROLE_PAGE] = in->page_url, [ROLE_SITE] = in->site_url};
    int missing = (in->url.len > 0) + (in->page_url.len > 0) + (in->site_url.len > 0);

    for (size_t i = 0; i < f->n_links; i++) {
        if (f->links[i].role == ROLE_ALIAS)
            continue;
        if (!str_eqz(urls[f->links[i].role], f->links[i].url))
            return false;
        missing--;
    }
    return missing == 0;
}

void directory_renew(struct directory *d, const struct directory_feed *in)
{
    struct dir_feed *f = feed_at(d, in->brief.id);
    struct directory_feed whole = *in;
    struct str *aliases;

    ASSERT(f != NULL);
    set_brief(d, f, &in->brief);
    if (in->last_seq != 0)
        f->last_seq = in->last_seq;
    if (in->event_seq != 0)
        f->event_seq = in->event_seq;
    if (has_same_urls(f, in))
        return;
    aliases = mem_alloc((f->n_links + 1) * sizeof *aliases);
    whole.aliases = aliases;
    whole.n_aliases = 0;
    for (size_t i = 0; i < f->n_links; i++)
        if (f->links[i].role == ROLE_ALIAS)
            aliases[whole.n_aliases++] = str_from(f->links[i].url);
    set_links(d, f, &whole);
    mem_free(aliases);
}

void directory_edited(struct directory *d, int64_t feed_id)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f != NULL)
        f->brief.edition = ++d->edition;
}

void directory_remove(struct directory *d, int64_t feed_id)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f == NULL)
        return;
    for (size_t i = 0; i < f->n_links; i++)
        drop_meaning(d, str_from(f->links[i].url), feed_id, f->links[i].role);
    free_feed(f);
    d->feeds[feed_id] = NULL;
}

static void drop_key(struct dir_feed *f, int64_t seq)
{
    size_t i = 0;

    while (i < f->n_keys && f->keys[i].seq != seq)
        i++;
    if (i == f->n_keys)
        return;
    f->n_keys--;
    memmove(&f->keys[i], &f->keys[i + 1], (f->n_keys - i) * sizeof *f->keys);
}

static void add_key(struct dir_feed *f, const struct merge_key *k)
{
    size_t low = 0, high = f->n_keys, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (merge_key_before(&f->keys[middle], k))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == f->n_keys && !f->complete)
        return; /* keys that are only in the database may come before it */
    if (f->n_keys == DIRECTORY_KEYS) {
        f->complete = false;
        if (low == f->n_keys)
            return;
        f->n_keys--;
    }
    f->keys = mem_grow(f->keys, &f->cap_keys, f->n_keys + 1, sizeof *f->keys);
    memmove(&f->keys[low + 1], &f->keys[low], (f->n_keys - low) * sizeof *f->keys);
    f->keys[low] = *k;
    f->n_keys++;
}

void directory_key(struct directory *d, const struct directory_key *k)
{
    struct dir_feed *f = feed_at(d, k->feed_id);

    if (f == NULL)
        return;
    if (k->old_seq != 0)
        drop_key(f, k->old_seq);
    if (k->key.seq != 0)
        add_key(f, &k->key);
}

void directory_set_keys(struct directory *d, int64_t feed_id, const struct merge_key *keys,
                        size_t n, bool complete)
{
    struct dir_feed *f = feed_at(d, feed_id);

    if (f == NULL)
        return;
    ASSERT(n <= DIRECTORY_KEYS);
    mem_free(f->keys);
    f->keys = mem_alloc(n * sizeof *keys + 1);
    if (n > 0)
        memcpy(f->keys, keys, n * sizeof *keys);
    f->n_keys = f->cap_keys = n;
    f->complete = complete;
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
        if (fresh->feeds[i] != NULL)
            fresh->feeds[i]->brief.edition = ++d->edition;
    SWAP(d->feeds, fresh->feeds, struct dir_feed **);
    SWAP(d->cap, fresh->cap, size_t);
    SWAP(d->meanings, fresh->meanings, struct map);
    SWAP(d->unread, fresh->unread, int64_t *);
    SWAP(d->n_unread, fresh->n_unread, size_t);
    SWAP(d->cap_unread, fresh->cap_unread, size_t);
    d->last_seq = fresh->last_seq;
    atomic_fetch_add(&d->names, 1);
    directory_unlock(d);
}

bool directory_wants_keys(struct directory *d, int64_t feed_id)
{
    const struct dir_feed *f = feed_at(d, feed_id);

    return f != NULL && !f->complete && f->n_keys < DIRECTORY_KEYS / 2;
}

size_t directory_strays(struct directory *d, int64_t before, size_t *at, int64_t *ids, size_t max)
{
    size_t n = 0;

    directory_lock(d);
    for (size_t i = 0; i < max && *at < d->n_unread; i++) {
        const struct dir_feed *f = feed_at(d, d->unread[*at]);

        if (f == NULL || f->brief.fetched) {
            d->unread[*at] = d->unread[--d->n_unread];
            continue;
        }
        if (brief_is_stray(&f->brief, before))
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
    if (credential.len == 0)
        return f->credential == NULL;
    return f->credential != NULL && (str_eqz(credential, f->credential) ||
                                     (!str_is_null(key) && str_eqz(key, f->access_key)));
}

bool directory_find(struct directory *d, struct str url, struct str credential,
                    struct feed_brief *out)
{
    struct str key = access_key_of(credential);
    const struct meaning *p, *best = NULL;

    pthread_rwlock_rdlock(&d->lock);
    for (p = map_get(&d->meanings, url); p != NULL; p = p->next) {
        if (p->role == ROLE_SITE || !opens(d->feeds[p->feed_id], credential, key))
            continue;
        if (best == NULL || p->role < best->role ||
            (p->role == best->role && p->feed_id < best->feed_id))
            best = p;
    }
    if (best != NULL)
        *out = d->feeds[best->feed_id]->brief;
    pthread_rwlock_unlock(&d->lock);
    return best != NULL;
}

bool directory_brief(struct directory *d, int64_t feed_id, struct feed_brief *out)
{
    const struct dir_feed *f;

    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL)
        *out = f->brief;
    pthread_rwlock_unlock(&d->lock);
    return f != NULL;
}

struct str directory_access_key(struct directory *d, int64_t feed_id, struct arena *a)
{
    struct str key = STR_NULL;
    const struct dir_feed *f;

    pthread_rwlock_rdlock(&d->lock);
    f = feed_at(d, feed_id);
    if (f != NULL && f->access_key != NULL)
        key = str_dup(a, str_from(f->access_key));
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
    for (size_t i = 0; f != NULL && i < f->n_links; i++)
        if (f->links[i].role == ROLE_URL)
            url = str_dup(a, str_from(f->links[i].url));
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
    if (f != NULL && f->credential != NULL) {
        credential = str_dup(a, str_from(f->credential));
        for (size_t i = 0; i < f->n_links; i++)
            if (f->links[i].role == ROLE_PAGE ||
                (f->links[i].role == ROLE_URL && str_is_null(*given_at)))
                *given_at = str_dup(a, str_from(f->links[i].url));
    }
    pthread_rwlock_unlock(&d->lock);
    return credential;
}

/* Is this the first role of the URL for the feed? A feed may have a URL in several roles, and the
 * first one counts. */
static bool is_first_role(const struct dir_feed *f, struct str url, enum role role)
{
    for (size_t i = 0; i < f->n_links; i++)
        if (f->links[i].role < role && str_eqz(url, f->links[i].url))
            return false;
    return true;
}

bool directory_has_alias(struct directory *d, struct str name)
{
    const struct meaning *p;

    pthread_rwlock_rdlock(&d->lock);
    p = map_get(&d->meanings, name);
    while (p != NULL && p->role != ROLE_ALIAS)
        p = p->next;
    pthread_rwlock_unlock(&d->lock);
    return p != NULL;
}

size_t directory_find_any(struct directory *d, struct str url, int64_t *ids, size_t max)
{
    const struct meaning *p;
    size_t n = 0;

    pthread_rwlock_rdlock(&d->lock);
    for (p = map_get(&d->meanings, url); p != NULL; p = p->next) {
        if (!is_first_role(d->feeds[p->feed_id], url, p->role))
            continue;
        if (n < max)
            ids[n] = p->feed_id;
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

        if (f != NULL && f->brief.version > version)
            version = f->brief.version;
    }
    pthread_rwlock_unlock(&d->lock);
    return version;
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
            out[n_out++] = f->brief;
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
    *out = ARENA_ARRAY(a, int64_t, d->cap + 1);
    for (size_t i = 0; i < d->cap; i++)
        if (d->feeds[i] != NULL)
            (*out)[n++] = (int64_t)i;
    pthread_rwlock_unlock(&d->lock);
    return n;
}

bool directory_merge(struct directory *d, const int64_t *ids, size_t n,
                     const struct merge_range *range, struct arena *scratch, int64_t *out,
                     size_t *n_out)
{
    struct merge_run *runs = arena_alloc(scratch, n * sizeof *runs + 1);
    size_t n_runs = 0;
    bool deep_enough;

    pthread_rwlock_rdlock(&d->lock);
    for (size_t i = 0; i < n; i++) {
        const struct dir_feed *f = feed_at(d, ids[i]);

        if (f != NULL)
            runs[n_runs++] = (struct merge_run){f->keys, f->n_keys, f->complete};
    }
    deep_enough = merge_runs(runs, n_runs, range, scratch, out, n_out);
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

        if (f != NULL && f->brief.wanted_at < before)
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

        if (f == NULL || f->brief.wanted_at >= before)
            continue;
        f->brief.wanted_at = now;
        out[n_out++] = out[i];
    }
    pthread_rwlock_unlock(&d->lock);
    return n_out;
}
