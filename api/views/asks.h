/* api/views/asks.h - what a subscription follows: feeds that are named by a folder, a subscription, a view, or by
 * all that its maker has. So its feeds and its filter change with them.
 *
 * It is kept as text: the role and the owner of who asked, and the question as a query, with a space between
 * them ("subscribe -2 folder=News&q=harbour"). Any thread; what a set has is looked up in the books (sub_book.h). */
#pragma once

#include "api/views/feeds_asked.h"

/* Returns the text of an ask: its feeds, as it names them, and its own filter, as text. Arena. */
struct str asks_write(const struct ask *ask, struct str filter);

/* Make it an ask again, which reads the parameters of /feeds, without `api` and `cfg`. Pure. False: it is not such a
 * text. */
bool asks_read(struct arena *a, struct str text, struct ask *out) NODISCARD;

/* Its own filter, as a subscription stores it; null: none. Pure. */
struct str asks_filter(struct arena *a, struct str text);

/* The names of the views that it names, each once. Pure; arena. */
struct str_list asks_views(struct arena *a, struct str text);

/* Find a subscription that follows this view itself; *id 0: there is none. On a reader thread. */
enum rc asks_user(struct reader *r, struct str view, int64_t *id, struct err *err) NODISCARD;

/* What it comes to now: feeds that are known, ascending, and the filter of the whole. */
struct asks_found {
    struct sub_feed *feeds; /* ids and URLs */
    size_t n;
    struct str filter; /* null: none */
};

/* Find it; the books must be fresh. PROBLEM_NOT_FOUND: a view that it names is not there. Arena. */
bool asks_find(struct api *api, struct arena *a, struct str text, struct asks_found *out,
               struct problem *p) NODISCARD;

/* The same of feeds that were gathered; without sets only of those that can be shown. `lasting`: the ask's own
 * filter. */
void asks_take(const struct ask *ask, const struct feeds_asked *asked, const struct gathered *items, size_t n,
               const struct filter *lasting, struct asks_found *out);
