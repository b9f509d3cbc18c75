/* feed/history.h - what a document says of its place in the history of its feed, and what the
 * entries of one id in it come to. Pure.
 *
 * RFC 5005 sections 2 and 4 with its drafts 0 to 11 (flags and links have other names there), and
 * Atom-PMH, whose entries describe records: a link to each of their forms, and no content.
 */
#pragma once

#include "base/arena.h"
#include "model/document.h"

struct feed_history {
    struct str older;       /* the document with what came before; null: none */
    struct str current;     /* the one that is subscribed to; null: not told */
    bool complete;          /* an entry that is absent is gone */
    bool archive;           /* an archive document, not one to subscribe to */
    bool records;           /* entries are records of Atom-PMH */
    int64_t oldest, newest; /* dates of its entries and tombstones, Unix seconds; TIME_UNKNOWN */
};

/* `records`: the feed is known for them. URLs are as the document gives them, resolved. */
void history_read(const struct feed_doc *doc, bool records, struct feed_history *out);

/* Where the entries of a document of the past stand that have no date of their own: as the next
 * dated one above them, else below; in a document without dates at its own, unless that was made
 * with the answer; else before `oldest`, the date of all that is known (TIME_UNKNOWN: nothing is).
 * Dates of all entries, in the arena, none later than `received`. */
const int64_t *history_places(struct arena *a, const struct feed_doc *doc, int64_t oldest,
                              int64_t received);

/* Keep of the entries that share an id the one that was updated last, the upper of equals; entries
 * without id or date stay. With `records`, a deletion entry becomes a tombstone when it is the last
 * word. For documents of a history only: elsewhere equal ids are a publisher's mistake. */
void history_settle(struct arena *a, struct feed_doc *doc, bool records);
