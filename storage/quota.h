/* storage/quota.h - how many new entries each feed has brought within a day, so that one publisher
 * cannot fill the disk. Only the storer's thread uses it. What counts is said in apply_entries.c.
 *
 * A day of a feed begins with its first new entry, and lasts for 24 hours. It is kept in memory: a
 * restart begins all days anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quotas;

/* `most`: new entries of a feed within a day; 0: no bound. */
struct quotas *quotas_new(int64_t most);
void quotas_free(struct quotas **qp);

int64_t quotas_most(const struct quotas *q);

/* How many more the feed may bring. NULL: there is no bound. `now`: Unix seconds. */
int64_t quotas_room(const struct quotas *q, int64_t feed_id, int64_t now);

/* When the feed's day ends, Unix seconds. */
int64_t quotas_until(const struct quotas *q, int64_t feed_id, int64_t now);

/* The feed has brought `n` more; they are stored. */
void quotas_take(struct quotas *q, int64_t feed_id, int64_t n, int64_t now);

/* Entries of a hub's delivery were left out: was the feed's event of that told in this day? It is
 * told once a day. */
bool quotas_has_told(const struct quotas *q, int64_t feed_id, int64_t now);
void quotas_tell(struct quotas *q, int64_t feed_id, int64_t now);
