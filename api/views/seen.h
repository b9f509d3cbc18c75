/* api/views/seen.h - which feeds a caller sees who names none: those that everybody may see, and the
 * protected ones that it has subscribed to.
 *
 * Who has a protected feed is looked up when something of it is read, so nothing has to be told when
 * subscriptions change. */
#pragma once

#include "api/http/caller.h"
#include "api/views/sub_book.h"
#include "model/feed.h"

/* The owners of the subscriptions that have protected feeds. In an arena. */
struct seen {
    struct feed_owner *owners; /* by feed */
    size_t n;
};

/* Look up the owners of those feeds of the rows that are protected, if there are any. For threads that have a
 * reader. */
enum rc seen_read(struct store *s, struct sub_book *b, struct reader *r, const struct revision *rows, size_t n,
                  struct arena *a, struct seen *out, struct err *err) NODISCARD;

/* Has one of these the caller as its owner? All of them are of one feed. */
bool seen_by(const struct caller *c, const struct feed_owner *owners, size_t n);

/* Does the caller see this feed, one of those rows? */
bool seen_has(const struct seen *seen, struct store *s, const struct caller *c, int64_t feed_id);

/* The owners of a feed among them. */
const struct feed_owner *seen_owners(const struct seen *seen, int64_t feed_id, size_t *n);
