/* fetcher/diff.h - compares a parsed document with the known entries of its feed. Pure, any thread.
 *
 * Call diff_begin() first. As long as diff_ask() returns true, ask the store its question and pass
 * the result to diff_learn(). Then call diff_document().
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "feed/identity/identity.h"
#include "model/document.h"
#include "storage/store.h"

struct diff {
    const struct feed_doc *doc;
    struct identity_policy policy; /* after diff_document(): the policy from now on */
    bool policy_changed;           /* some member of `policy` has changed */
    bool metadata;                 /* set by the caller: the entries are metadata records */
    const int64_t *dates;          /* set by the caller: dates for undated entries, used instead of
                                      received_at; NULL: received_at is used */
    bool by_id; /* the document is a piece of a Smart Feed: its ids are unique and never change */
    /* the rest is private */
    struct identity_entry *entries;
    struct entry_marks *tombstone_marks; /* of each tombstone */
    struct known_entry *known;
    size_t n_known;
    struct str *uids; /* the uid of each entry; null when the document has the entry twice */
    int n_asked;
};

/* `policy` is that of the feed; the first document of the feed sets it. `now` is in Unix seconds.
 */
void diff_begin(struct arena *a, struct diff *d, const struct feed_doc *doc,
                const struct identity_policy *policy, int64_t now);

/* Get the next question to the store (reader_known()). The first question has only ids, which are
 * enough for most entries. The second has all other marks of the remaining entries. Returns false
 * when there is nothing more to ask. */
struct diff_question {
    struct str *uids;
    int64_t *keys;
    size_t n_uids, n_keys;
};
bool diff_ask(struct arena *a, struct diff *d, struct diff_question *q);
void diff_learn(struct arena *a, struct diff *d, const struct known_entry *known, size_t n);

/* Find the changes and return their number. *out has them in document order, deletions last.
 * `received_at` (Unix seconds) is the date of undated entries that are new or changed; their
 * documents are completed with it (feed/identity/complete.h). *out and all strings are in the arena
 * or the document. Only the `doc` of each change is in `docs`, so that it can be handed on without
 * the rest.
 *
 * An entry whose essence is known, but whose bytes or marks are different, becomes a volatile_only
 * change. The same happens to an entry with the same title, date and texts when all ids or links of
 * the document have changed. A tombstone deletes a known entry, unless the document shows that
 * entry with a later `updated` (RFC 6721 §3). A tombstone without a time, or for an unknown entry,
 * does nothing. An entry over LIMIT_ENTRY loses its content. When the document ends within an
 * entry, that entry is taken only if it is new. */
size_t diff_document(struct arena *a, struct arena *docs, struct diff *d, int64_t received_at,
                     struct entry_change **out);

/* Make the change that deletes an entry. `when_at` is the time of the deletion; `ext` is the
 * tombstone as XML, or empty. The change borrows both strings.
 */
struct entry_change diff_deletion(struct str uid, int64_t when_at, struct str ext);
