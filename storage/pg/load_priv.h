/* storage/pg/load_priv.h - what the files that load rows share (storage/pg/load.h): a file for each
 * subject. Each queues the statements of its rows, and holds what they gave. */
#pragma once

#include "storage/pg/columns.h"
#include "storage/pg/load.h"

#define FEEDS                                                                                      \
    "SELECT " FEED_FIXED(PG_WORD_F) FEED_SAVED(PG_WORD_F)                                          \
        FEED_UPSTREAM(PG_WORD_U) "f.n_subscriptions FROM feeds f LEFT JOIN upstreams u"            \
                                 " ON u.feed_id = f.id AND u.is_current = 1 WHERE f.id = "
#define FEED_LETTERS FEED_FIXED(PG_LETTER) FEED_SAVED(PG_LETTER) FEED_UPSTREAM(PG_LETTER) "i"

/* The URL of a table is that of `w`: found by its hash, for it may be long. */
#define SAME_URL(column) "md5(" column ") = md5(w.url) AND " column " = w.url"

/* Queue a statement of a list of ids, or of feeds and texts, unless the list is empty. */
void pg_load_ids(struct pg_link *l, struct pg_params *p, const char *sql, const int64_t *ids,
                 size_t n, const char *letters, struct pg_answer *out);
void pg_load_rows(struct pg_link *l, struct pg_params *p, const char *sql,
                  const struct want_rows *rows, const char *letters, struct pg_answer *out);

/* Subscriptions, and feeds as far as these lead to them, are locked first. */
void pg_queue_locks(struct pg_load *load, struct pg_link *l, struct pg_params *p);
bool pg_were_locked(const struct pg_load *load, struct arena *a);

/* The rest is taken when the rows of the feeds are held. First entries: */
void pg_queue_entries(struct pg_load *load, struct pg_link *l, struct pg_params *p);
void pg_take_entries(const struct pg_load *load, struct rows *r);

/* Documents of the past, and tombstones. */
void pg_queue_past(struct pg_load *load, struct pg_link *l, struct pg_params *p);
void pg_take_past(const struct pg_load *load, struct rows *r);

void pg_queue_subs(struct pg_load *load, struct pg_link *l, struct pg_params *p);
void pg_take_subs(const struct pg_load *load, struct rows *r);

/* What URLs mean, and the times of positions in the log. */
void pg_queue_places(struct pg_load *load, struct pg_link *l, struct pg_params *p);
void pg_take_places(const struct pg_load *load, struct rows *r);

/* Requests at our hub, leases, and our own subscriptions at hubs. */
void pg_queue_hub(struct pg_load *load, struct pg_link *l, struct pg_params *p);
void pg_take_hub(const struct pg_load *load, struct rows *r);

/* Tokens of callers. */
void pg_queue_callers(struct pg_load *load, struct pg_link *l, struct pg_params *p);
void pg_take_callers(const struct pg_load *load, struct rows *r);
void pg_queue_views(struct pg_load *load, struct pg_link *l);
void pg_take_views(const struct pg_load *load, struct rows *r);
