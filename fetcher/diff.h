/* fetcher/diff.h - a parsed document against what is known of its feed. Pure, any thread.
 *
 * diff_begin(); then, as often as diff_ask() says so, ask the store and diff_learn(); then
 * diff_document().
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "feed/identity.h"
#include "model/document.h"
#include "storage/store.h"

struct diff {
    const struct feed_doc *doc;
    struct identity_policy policy; /* after diff_document(): as it is from now on */
    bool policy_changed;           /* anything in it */
    bool records;                  /* set by the caller: entries lead to the contents of records */
    const int64_t *places;         /* set by the caller: dates of undated entries, instead of
                                      received_at; NULL: none */
    bool by_id;                    /* a piece of a Smart Feed: ids are unique, and there for ever */
    /* the rest is private */
    struct identity_entry *entries;
    struct entry_marks *graves; /* of each tombstone */
    struct known_entry *known;
    size_t n_known;
    struct str *uids; /* of each entry; null for doubles */
    int n_asked;
};

/* `policy`: the feed's; the first document sets it. `now`: Unix seconds. */
void diff_begin(struct arena *a, struct diff *d, const struct feed_doc *doc,
                const struct identity_policy *policy, int64_t now);

/* What the store is to be asked for (reader_known()). First by ids alone, which settle most
 * entries; then by all else for those that are left. False when nothing is missing. */
struct diff_question {
    struct str *uids;
    int64_t *keys;
    size_t n_uids, n_keys;
};
bool diff_ask(struct arena *a, struct diff *d, struct diff_question *q);
void diff_learn(struct arena *a, struct diff *d, const struct known_entry *known, size_t n);

/* The changes, in document order, deletions last. `received_at`: Unix seconds, the date of undated
 * entries that are new or changed; their documents are completed with it (feed/complete.h). Returns
 * their number; *out and all strings are in the arena or the document, but each change's `doc` is
 * in `docs`, so that it can travel alone.
 *
 * A known essence in other bytes, or with other marks, becomes a volatile_only change; so does an
 * entry with the same title, date and texts in a document whose ids or links have changed as a
 * whole. A tombstone deletes an entry that is known and that the document does not show with a
 * later `updated` (RFC 6721 §3); one without time, or for an unknown entry, does nothing. An entry
 * over LIMIT_ENTRY loses its content. One within which the document ends is new or nothing. */
size_t diff_document(struct arena *a, struct arena *docs, struct diff *d, int64_t received_at,
                     struct entry_change **out);

/* The deletion of an entry at a time; `ext`: the tombstone as XML, or empty. Borrows its strings.
 */
struct entry_change diff_deletion(struct str uid, int64_t when_at, struct str ext);
