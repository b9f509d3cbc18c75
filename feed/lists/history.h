/* feed/lists/history.h - reads which place a document has in the history of its feed, and settles
 * which of its entries count when several have the same id. Pure.
 *
 * Sources: RFC 5005, sections 2 and 4, with its drafts 0 to 11, in which flags and links have other
 * names; and Atom-PMH, whose entries are metadata records: each has a link to every alternate, and
 * no content.
 */
#pragma once

#include "base/arena.h"
#include "model/document.h"

struct feed_history {
    struct str older;       /* URL of the document with older entries; null: there is none */
    struct str current;     /* URL of the document to subscribe to; null: not given */
    bool complete;          /* the feed has only these entries: any other was deleted */
    bool archive;           /* it is an archive document: do not subscribe to it */
    bool metadata;          /* its entries are metadata records (Atom-PMH) */
    int64_t oldest, newest; /* dates of its entries and tombstones, Unix seconds; TIME_UNKNOWN */
};

/* Read the place of a document in its feed's history. `metadata`: the feed is known to have
 * metadata records. URLs are those in the document, made absolute. */
void history_read(const struct feed_doc *doc, bool metadata, struct feed_history *out);

/* Dates by which the entries of an older document are ordered, one for each entry, as Unix seconds.
 * An entry with a date has that date. An entry without one gets the date of the nearest dated entry
 * above it, or, if there is none, of the nearest one below it. If no entry has a date, all get the
 * date of the document, unless it is so recent that the server may have set it while it answered.
 * Otherwise all get a date just before `oldest`, the date of the oldest known entry, or `received`
 * when no entry is known (TIME_UNKNOWN). No date is later than `received`. In the arena. */
const int64_t *history_dates(struct arena *a, const struct feed_doc *doc, int64_t oldest,
                             int64_t received);

/* Of the entries that share an id, keep the one that was updated last; if several have the same
 * date, keep the first of them. Entries without an id or a date stay. With `metadata`, a deletion
 * entry becomes a tombstone when it is the latest entry with its id. Only for documents of a
 * history: in other documents, equal ids are a mistake of the publisher. */
void history_settle(struct arena *a, struct feed_doc *doc, bool metadata);
