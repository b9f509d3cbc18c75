/* storage/feed_names.h - the URLs and secrets of a feed in one block of memory, and an index of all
 * feeds by URL.
 *
 * A URL may mean many feeds, so those that have it form a chain. The index has one slot of twelve
 * bytes for each chain; the chain itself and the text are in the blocks of its feeds. One thread at
 * a time, or under the owner's lock.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* What a text is for a feed. Of the URLs a role wins over those after it; secrets are no URLs and
 * are not in the index. */
enum name_role { NAME_URL, NAME_ALIAS, NAME_PAGE, NAME_SITE, NAME_CREDENTIAL, NAME_ACCESS_KEY };

struct name {
    enum name_role role;
    struct str head, rest; /* the text is the one and then the other; borrowed from the block */
};

struct feed_names;

/* A name that goes into a block; empty ones are left out. */
struct name_given {
    enum name_role role;
    struct str text;
};

/* A new block; the first name given is the feed's URL, which is not empty. Free with mem_free(). */
struct feed_names *feed_names_new(const struct name_given *given, size_t n);

/* Have both blocks the same names in the same order? */
bool feed_names_same(const struct feed_names *a, const struct feed_names *b);

/* The next name; begin with *at = 0. False: there are no more. */
bool feed_names_next(const struct feed_names *b, size_t *at, struct name *out);

/* Find the first name with this role. False: there is none. */
bool feed_names_find(const struct feed_names *b, enum name_role role, struct name *out);

/* What a URL is first of all for the feed; NAME_CREDENTIAL: the feed does not have it. */
enum name_role feed_names_role(const struct feed_names *b, struct str url);

bool name_is(const struct name *n, struct str text);
struct str name_text(const struct name *n, struct arena *a);

/* ---- the index ------------------------------------------------------------------------------- */

/* The block of a feed that is in the index. */
typedef struct feed_names *feed_names_of_fn(const void *ctx, uint32_t feed_id);

struct name_slot;

/* Zeroed, but for the first two, it is empty. */
struct name_index {
    feed_names_of_fn *of;
    const void *ctx;
    struct name_slot *slots;
    size_t cap; /* slots */
    size_t n;   /* so many are used */
};

void name_index_release(struct name_index *x);

/* A feed gets other names: name_index_leave() while `of` still gives the old block, then
 * name_index_join() when it gives the new one. Only what differs is changed, because a chain may be
 * long. `old` is NULL for a feed that comes, which has nothing to leave; `new` for one that goes. */
void name_index_leave(struct name_index *x, uint32_t feed_id, struct feed_names *old,
                      struct feed_names *new);
void name_index_join(struct name_index *x, uint32_t feed_id, struct feed_names *new,
                     struct feed_names *old);

/* The first feed that has this URL, and the next one after a feed that has it. 0: there is none. */
uint32_t name_index_first(const struct name_index *x, struct str url);
uint32_t name_index_next(const struct name_index *x, uint32_t feed_id, struct str url);
