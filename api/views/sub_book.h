/* api/views/sub_book.h - the subscriptions, in memory: whose they are, and which feeds they have in
 * which folders. So a request that names feeds by a folder needs no query.
 *
 * The book is filled when it is asked for the first time. A commit notice marks the subscriptions
 * that it names, and these are read again before the next request that needs them is handled. Any
 * thread, unless noted. */
#pragma once

#include "api/http/caller.h"
#include "api/http/request.h"
#include "api/views/view_book.h"

struct sub_book;

struct sub_book *sub_book_new(struct store *s);
void sub_book_free(struct sub_book **bp);

/* After a commit. Quick. */
void sub_book_notice(struct sub_book *b, const struct commit_notice *notice);

/* The named views. They are renewed together with the subscriptions. */
struct view_book *sub_book_views(struct sub_book *b);

/* Grows whenever a subscription or a named view may have changed. */
int64_t sub_book_edition(struct sub_book *b);

/* Returns the edition of what the book says now; it may be older. */
int64_t sub_book_shown(struct sub_book *b);

/* Does the book have all that was told? */
bool sub_book_is_fresh(struct sub_book *b);

/* Read what has changed; it is done when this returns. For threads that have a reader. RC_IO,
 * RC_AGAIN: the book stays as it was. */
enum rc sub_book_refresh(struct sub_book *b, struct reader *r, struct err *err) NODISCARD;

/* Have the book refreshed before the request is handled; it knows then what any node has
 * acknowledged before. True: `handle` will be called, unless the client leaves. False: the book is
 * fresh already, or was refreshed for this request. The request's loop. */
bool sub_book_prepare(struct request *req, request_handler_fn *handle);

/* Have the book refreshed for a request that was handled before and waits: `then` is called with `ctx`, unless the client
 * leaves; perhaps at once. If the database is away, what was known will do. The request's loop; the request is
 * held. */
typedef void sub_book_fn(struct request *req, void *ctx);
void sub_book_renew(struct request *req, sub_book_fn *then, void *ctx);

/* ---- asking: which feeds. Each call adds ids to a list; doubles are possible ----------------- */

struct feed_ids {
    struct arena *a;
    int64_t *list;
    size_t n, cap;
};
void feed_ids_add(struct feed_ids *ids, int64_t id);

/* Add the feeds of the caller's subscriptions that are in this folder or below it. `path`: the
 * names with a slash after each ("News/World/"); empty: all feeds of these subscriptions. `with_followers`:
 * also of those that follow something (asks.h). */
void sub_book_folder(struct sub_book *b, const struct caller *c, struct str path, bool with_followers,
                     struct feed_ids *out);

/* The feeds of the caller's subscriptions, each once, ascending by id, with the path of the first
 * folder that one of them gives it; empty: it is in none. Arena. */
struct feed_place {
    int64_t feed_id;
    struct str path; /* "News/World/" */
};
size_t sub_book_places(struct sub_book *b, const struct caller *c, struct arena *a,
                       struct feed_place **out);

/* The names that the caller's subscriptions give to these feeds. If several name a feed, the one with the lowest id
 * counts. Arena. */
struct own_names {
    int64_t *ids; /* ascending */
    size_t n;
    struct str *names;
};
struct own_names sub_book_names(struct sub_book *b, const struct caller *c, const int64_t *ids, size_t n,
                                struct arena *a);

/* Empty: it has none. */
struct str own_name(const struct own_names *o, int64_t feed_id);

/* The ids of the caller's subscriptions that have this feed, ascending. Arena. */
size_t sub_book_subs_of(struct sub_book *b, const struct caller *c, int64_t feed_id,
                        struct arena *a, int64_t **out);

/* The owners of the subscriptions that have this feed, each once. Arena. */
size_t sub_book_owners(struct sub_book *b, int64_t feed_id, struct arena *a, int64_t **out);

/* Does a subscription of the caller have this feed? */
bool sub_book_has(struct sub_book *b, const struct caller *c, int64_t feed_id);

/* Add the feeds of one subscription. False: there is none that the caller has. Without `with_followers`, one that
 * follows something adds none, as with sub_book_folder(). */
bool sub_book_sub(struct sub_book *b, const struct caller *c, int64_t id, bool with_followers,
                  struct feed_ids *out);
