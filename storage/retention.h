/* storage/retention.h - what retention takes from a feed: a pure decision.
 *
 * Everything up to a seq, the limit, is old enough. Of that it takes all revisions but these: the
 * newest one of an entry that the publisher's document still shows, and the first and the newest
 * one of an entry that stays. The first one stays so that views in the order of creation have the
 * entry. With its newest revision an entry loses its first one, too.
 *
 * What a document shows is remembered as text (model/shown.h).
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct old_revision {
    int64_t seq, at_us, entry_id;
    int64_t first_seq, last_seq; /* of its entry */
    int64_t last_at_us;          /* event time of last_seq */
    bool lives;                  /* the entry's newest revision is not a deletion */
    struct str uid;
};

struct retention {
    int64_t limit;    /* seq */
    struct str shown; /* null: not known, so that every entry may be shown */
};

/* What is to go. */
struct taken {
    int64_t *seqs;    /* revisions, each once */
    int64_t *entries; /* those that have none any more */
    size_t n, n_entries;
    size_t n_live;                /* of the entries, those that were not deleted */
    int64_t last_seq, last_at_us; /* the highest of the revisions */
};

/* An entry of which retention has taken everything. Its identity is still known. */
struct gone_entry {
    int64_t id, gone_at; /* Unix seconds: it was taken then, or seen in the document since */
    struct str uid;
};

/* So long who it was is known after its document has shown it for the last time. What a document
 * shows is looked at once a day, so a day is added. */
#define RETENTION_KNOWN_S (30 * 86400)
#define RETENTION_LOOK_S 86400

struct ended {
    int64_t *ended, *shown; /* ids: nothing is known of these any more; these are shown again */
    size_t n_ended, n_shown;
};

/* Two feeds become one: an entry that both have, of the feed that goes and of the one that stays.
 */
struct twin_pair {
    int64_t mine, theirs; /* ids */
    bool mine_gone, theirs_gone;
};
struct twins_end {
    int64_t *mine, *theirs; /* these go; `theirs` may be there twice */
    size_t n_mine, n_theirs;
};

/* Of each entry one is left: that of the feed that stays, unless retention has taken all that this
 * one had, and the other one still has something. The pairs of an entry of the feed that goes stand
 * together. Arena. */
void retention_merge(const struct twin_pair *pairs, size_t n, struct arena *a,
                     struct twins_end *out);

/* Decide on these entries of one feed at `now`. `shown` as above. Arena. */
void retention_end(const struct gone_entry *rows, size_t n, struct str shown, int64_t now,
                   struct arena *a, struct ended *out);

/* Decide on these rows of one feed, ascending by seq. Arena. */
void retention_choose(const struct retention *how, const struct old_revision *rows, size_t n,
                      struct arena *a, struct taken *out);
