/* feed/writer.h - stored entries to documents: RSS 2.0, Atom 1.0, JSON (object form), JSON
 * Feed 1.1, ActivityStreams 1.0.
 *
 * Pure. Strict out: whatever came in, what leaves is valid (RFC 4287, RSS 2.0 and the Advisory
 * Board's profile, jsonfeed.org 1.1). Entries come as the object form (`obj`, as stored) with their
 * foreign elements (`ext`), and leave in the given order.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "model/value.h"
#include "model/view.h"

struct out_feed {       /* a feed whose entries appear */
    struct str url;     /* the feed's URL, without credentials */
    struct str id_url;  /* the first it had, for derived ids; null: url */
    struct value *obj;  /* the dict of its head */
    struct str ext;     /* foreign elements of its head */
    struct value *meta; /* JSON only: version, encoding, bozo, namespaces, href, status, ... */
    int64_t updated_at; /* newest change of its content as the daemon saw it */
};

struct out_link {
    struct str rel, type, href;
};

/* What an entry is written as. Tombstones and what stands for them exist in Atom and RSS only. */
enum out_kind {
    OUT_ENTRY,     /* whole */
    OUT_TOMBSTONE, /* at:deleted-entry of the head (RFC 6721); `at_us` is its time, `ext` may hold
                      by, comment, links and source */
    OUT_EMPTY,  /* a deletion as an entry: nothing but id, title, time, links, and empty content */
    OUT_RECORD, /* metadata: id, title, time and links; no content (Atom-PMH) */
};

struct out_entry {
    enum out_kind kind;
    struct str id;                /* in the place of the permanent id; null */
    int64_t at_us;                /* > 0: this time is `updated`, to the microsecond */
    const struct out_link *links; /* further ones */
    size_t n_links;
    const struct out_feed *feed;
    struct value *obj; /* parsed document; may be NULL when `json` is given and suffices */
    struct str json;   /* the same, as stored text */
    struct str ext;
    struct str uid;       /* identity within the feed */
    struct str id_url;    /* in the place of the feed's; null: that */
    int64_t published_at; /* Unix seconds; TIME_UNKNOWN */
    int64_t updated_at;   /* TIME_UNKNOWN */
    int64_t created_at;   /* streams: when we first saw it */
    int64_t changed_at;   /* streams: when we saw its newest revision; 0: no stream */
    int64_t received_at;  /* when the middleware first saw it; the date of undated entries */
    int64_t sort_at;
};

/* What a document that is a piece of a stream tells (Smart Feeds). */
struct out_stream {
    int64_t total;          /* items of the whole feed, deleted ones included */
    struct str last_cursor; /* of the last item here */
    struct str prev_cursor; /* of a push: the last one before it; null */
    struct str next;        /* URL of the items that follow; null */
};

struct out_doc {
    bool merged;         /* several feeds: entries carry their source */
    struct str self_url; /* absolute request URL with an explicit type, no credentials */
    struct str id;       /* merged: the document's id (absolute IRI); single: null = the
                            feed's own id when valid, else derived from its URL */
    struct str title;    /* merged: the document's title */
    const struct out_feed *feeds;
    size_t n_feeds;
    const struct out_entry *entries;
    size_t n_entries;
    const struct out_link *links; /* further links of the head: hub, prev-archive, ... */
    size_t n_links;
    int64_t updated_at;              /* never before any change shown */
    int64_t updated_us;              /* > 0: the same to the microsecond */
    int64_t ttl_s;                   /* RSS ttl; 0: none */
    struct str next_url;             /* JSON Feed next_url; null: none */
    const struct out_stream *stream; /* NULL: it is no stream */
    bool complete;                   /* fh:complete */
    bool archive;                    /* fh:archive */
    bool repeats;                    /* an id may appear more than once: a log, no state */
    enum { OUT_PLAIN, OUT_STATEFUL, OUT_STATELESS } state; /* fh:Stateful of draft-00 */
    bool partial;                                          /* JSON "partial": true */
};

/* Write the document. `out` overflows (buf_ok) when its maximum is passed. Any thread. */
void feed_write(struct buf *out, enum feed_format format, const struct out_doc *doc);

/* One entry as a document of its own: an Atom Entry Document (RFC 4287 section 2) with its feed as
 * its source, the object form, or a page to read (HTML, complete, with nothing active in it).
 * e->links may name the document itself (self). */
enum entry_format { ENTRY_ATOM, ENTRY_JSON, ENTRY_HTML };
void feed_write_entry(struct buf *out, enum entry_format format, const struct out_entry *e);

/* A Deleted Entry Document (RFC 6721 section 4) of a deletion, as OUT_TOMBSTONE. */
void feed_write_deleted(struct buf *out, const struct out_entry *e);

/* The valid, permanent Atom id of an entry: its uid when that is an absolute IRI, else urn:uuid
 * version 5 of the first URL of its feed and uid (ATOM-08). Same in all formats. */
struct str feed_entry_iri(struct arena *a, struct str id_url, struct str uid);
struct str out_entry_iri(struct arena *a, const struct out_entry *e);

/* The permanent id of a feed: its own when that is an IRI fit to be one, else from its URL. */
struct str feed_iri(struct arena *a, const struct out_feed *feed);

/* Media type with charset of a format, and its value of `type=`. */
const char *feed_format_media_type(enum feed_format format);
const char *feed_format_name(enum feed_format format);
