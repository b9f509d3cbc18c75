/* storage/pg/load.h - reads the rows that operations will look at, by sets (storage/wants.h).
 *
 * pg_load_queue() queues the statements of one trip, for what is not held yet; after pg_run(),
 * pg_load_take() holds what they gave. Of feeds, the row that a source has read before does not
 * count: it is read again under the lock. */
#pragma once

#include "storage/pg/link.h"
#include "storage/rows.h"
#include "storage/wants.h"

struct pg_load {
    int64_t *feeds, *heads; /* ids of feeds: to be locked and read, and those with their heads */
    int64_t *counts, *n_graves; /* of which documents of the past, or tombstones, are counted */
    /* ids of subscriptions: to be locked and read; those whose lists of feeds are read; those whose
     * dead letters are; and those of which the rows of these feeds are locked and read */
    int64_t *subs, *listed, *deads, *whole;
    int64_t *ids, *newest; /* of entries: to be read, and their newest revisions */
    const struct want_past **pasts;
    const struct want_key *keys;
    const struct want_match *matches;
    const struct want_name *names;
    const int64_t *times, *intents, *websubs;
    int64_t *callers; /* tokens of callers: to be locked and read */
    int64_t *leased;  /* subscriptions whose lease is read */
    const struct want_hub_name *hub_names;
    struct str *tokens; /* of upstream subscriptions */
    int64_t due_at;     /* what the sweep of leases finds at this time; 0: it is not asked for */
    bool counts_intents, counts_tokens, has_views;
    struct want_rows entries, archives, graves, places;
    size_t n_feeds, n_heads, n_counts, n_n_graves, n_ids, n_newest, n_pasts, n_keys;
    size_t n_subs, n_listed, n_deads, n_whole, n_matches, n_names, n_times;
    size_t n_intents, n_websubs, n_leased, n_hub_names, n_tokens, n_callers;
    struct pg_answer feed_rows, head_rows, count_rows, n_grave_rows, past_rows;
    struct pg_answer name_rows, time_rows, intent_rows, n_intent_rows, n_token_rows, lease_rows,
        hub_name_rows;
    struct pg_answer websub_rows, ended_rows, renew_rows, due_rows, token_rows, caller_rows,
        view_rows;
    struct pg_answer locked_rows; /* feeds that were found when they were locked */
    struct pg_answer sub_rows, listed_rows, whole_rows, match_rows, dead_rows, entry_rows, id_rows,
        key_rows, newest_rows, archive_rows, grave_rows, place_rows;
};

/* What is wanted and not held. Lists are in the arena. False: nothing. */
bool pg_load_plan(struct pg_load *load, const struct wants *w, struct rows *r);
void pg_load_queue(struct pg_load *load, struct pg_link *l, struct pg_params *p);
/* RC_AGAIN: a URL has got to another feed after the feeds were locked. */
enum rc pg_load_take(const struct pg_load *load, struct rows *r, struct err *err) NODISCARD;
