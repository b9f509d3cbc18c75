/* api/views/seen.h - which feeds a caller that names none sees: those that everybody may see, and the
 * protected ones that it has subscribed to.
 *
 * Who has a protected feed is looked up when something of it is read, so nothing has to be told when
 * subscriptions change. For threads that have a reader. */
#pragma once

#include "api/http/caller.h"
#include "api/views/sub_book.h"
#include "model/feed.h"

/* Keep only the rows that the caller sees without naming their feeds. Sets how many are left. */
enum rc seen_keep(struct store *s, struct sub_book *b, struct reader *r, const struct caller *c, struct revision *rows,
                  size_t n, size_t *kept, struct err *err) NODISCARD;

/* Who may see a row that is shown to several callers. */
struct seen {
    bool by_all;
    const int64_t *owners; /* else: of the subscriptions that have its feed */
    size_t n_owners;
};

/* For each of the rows. Arena. */
enum rc seen_read(struct store *s, struct sub_book *b, struct reader *r, const struct revision *rows, size_t n,
                  struct arena *a, struct seen *out, struct err *err) NODISCARD;

/* Does this caller see it? Pure; any thread. */
bool seen_by(const struct seen *seen, const struct caller *c);
