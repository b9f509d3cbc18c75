/* model/document.h - a parsed feed document, which a parser makes and a writer reads.
 *
 * Plain structs in one arena. `obj` dicts have the object form of model/value.h. `ext` is what the
 * object form cannot carry without loss: the foreign elements of a feed or entry (everything that
 * is not of the document's own format) as one well-formed, namespace-complete UTF-8 XML fragment,
 * each top element declaring the namespaces it needs, so that a writer can copy it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"
#include "model/value.h"

enum feed_family { FAMILY_NONE, FAMILY_RSS, FAMILY_RDF, FAMILY_ATOM, FAMILY_CDF, FAMILY_JSON };

/* One entry of a document. The parser takes the normalized fields from `obj`. */
struct doc_entry {
    struct value *obj;
    struct str ext;     /* XML fragment, empty when there are no foreign elements */
    struct str id;      /* the publisher's own id, trimmed; null when there is none */
    struct str title;   /* normalized: as in obj; null when absent, like the next three */
    struct str link;    /* absolute where a base was known */
    struct str summary; /* description or summary, else the first content */
    struct str author;
    int64_t published_at; /* Unix seconds; TIME_UNKNOWN */
    int64_t updated_at;
    bool is_cut;       /* the document ended in the middle of this entry */
    bool is_metadata;  /* no content, but an alternate link with a type: Atom-PMH
                        (feed/lists/history.h) */
    size_t item_index; /* among the items, of a piece of a stream */
    bool is_blank;     /* an empty content element and no alternate link: there, a deletion */
};

/* A deletion announced by the document (RFC 6721 at:deleted-entry, Atom-PMH deletion entry). */
struct doc_tombstone {
    struct str ref;
    int64_t when_at;   /* TIME_UNKNOWN when missing or unreadable */
    int64_t when_us;   /* and the fraction of that second */
    struct str ext;    /* the element as XML */
    size_t item_index; /* among the items, of a piece of a stream */
};

/* What the document asks of programs that poll it. 0 or empty: the document does not say. */
struct doc_hints {
    int64_t ttl_s;       /* RSS ttl, as seconds */
    int64_t sy_period_s; /* sy:updatePeriod / sy:updateFrequency, as seconds */
    uint32_t skip_hours; /* bit h: do not poll in UTC hour h */
    uint8_t skip_days;   /* bit d: do not poll on weekday d, 0 = Monday */
};

struct feed_doc {
    enum feed_family family;
    struct str version;  /* "rss20", "atom10", ... ; "" when it is not a feed */
    struct str encoding; /* the encoding with which the document was read */
    bool bozo;           /* not well-formed, or its declared encoding was wrong */
    struct str bozo_why; /* one sentence; null when !bozo */
    bool broken;        /* the markup was not well-formed, so the end of the document may be lost */
    bool cut;           /* broken, and the text does not end where a feed ends */
    bool open;          /* cut, and the last entry lacks its end */
    struct value *feed; /* dict of the head; never NULL */
    struct str ext;     /* foreign elements of the head */
    struct value *namespaces; /* dict prefix -> URI as declared */
    struct doc_entry *entries;
    size_t n_entries;
    struct doc_tombstone *tombstones;
    size_t n_tombstones;
    bool complete; /* fh:complete: an entry that is absent is gone */
    bool archive;  /* fh:archive */
    /* A piece of a Smart Feed, which is of a document only when `cursor` is not null: */
    struct str cursor; /* where it ends (last_cursor); empty: before the first item */
    struct str
        prev_cursor; /* of a push: where the one before it ended; null when it does not say */
    bool has_next;   /* the piece has a link to the next piece */
    int64_t n_total; /* items of the whole feed, as the document says; 0: it does not say */
    struct doc_hints hints;
    /* The publisher's word that the feed has moved: RSS newLocation in a document of its own
     * (`redirect`) or in the head, or itunes:new-feed-url. Absolute http(s); null: no such word. */
    struct str moved_to;
    size_t n_cut; /* entries beyond LIMIT_FEED_ENTRIES that were left out */
};
