/* feed/write/writer.h - writes stored entries as documents: RSS 2.0, Atom 1.0, JSON (object form),
 * JSON Feed 1.1, ActivityStreams 1.0, HTML; and their feeds as OPML.
 *
 * Pure. The output is always valid, even if the publisher's document was not (RFC 4287, RSS 2.0 and
 * the Advisory Board's profile, jsonfeed.org 1.1). Entries come in the object form (`obj`, as
 * stored) with their foreign elements (`ext`). They are written in the given order.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "model/value.h"
#include "model/view.h"

struct out_feed {       /* a feed whose entries appear */
    struct str url;     /* the feed's URL, without credentials */
    struct str id_url;  /* the feed's first URL, from which ids are derived; null: use `url` */
    struct value *obj;  /* the dict of its head */
    struct str ext;     /* foreign elements of its head */
    struct value *meta; /* JSON only: version, encoding, bozo, namespaces, href, status, ... */
    int64_t updated_at; /* newest change of its content as the daemon saw it */
};

struct out_link {
    struct str rel, type, href;
};

/* Where one registers to be told of changes (rssCloud). RSS only. */
struct out_cloud {
    struct str domain, path; /* null domain: there is none */
    int port;
};

/* How an entry is written. OUT_TOMBSTONE, OUT_EMPTY and OUT_METADATA exist in Atom and RSS only. */
enum out_kind {
    OUT_ENTRY,     /* the whole entry */
    OUT_TOMBSTONE, /* at:deleted-entry of the head (RFC 6721); `at_us` is its time, `ext` may hold
                      by, comment, links and source */
    OUT_EMPTY,     /* a deletion, as an entry with only id, title, time, links, and empty content */
    OUT_METADATA,  /* a metadata record: id, title, time and links; no content (Atom-PMH) */
};

struct out_entry {
    enum out_kind kind;
    struct str id;                /* replaces the permanent id; null: keep that */
    int64_t at_us;                /* > 0: this time is `updated`, to the microsecond */
    const struct out_link *links; /* links besides the entry's own */
    size_t n_links;
    const struct out_feed *feed;
    struct value *obj; /* parsed document; may be NULL when `json` is given and suffices */
    struct str json;   /* the same document, as stored text */
    struct str ext;
    struct str uid;       /* identity within the feed */
    struct str id_url;    /* replaces feed->id_url; null: keep that */
    int64_t published_at; /* Unix seconds; TIME_UNKNOWN */
    int64_t updated_at;   /* TIME_UNKNOWN */
    int64_t created_at;   /* streams: when we first saw it */
    int64_t changed_at;   /* streams: when we saw its newest revision; 0: no stream */
    int64_t received_at;  /* when Feedmill first saw it; the date of entries without one */
    int64_t sort_at;
};

/* Members of a document that is a part of a stream (Smart Feeds). */
struct out_stream {
    int64_t total;          /* items of the whole feed, deleted ones included; -1: not known */
    struct str last_cursor; /* cursor of the last item in the document */
    struct str prev_cursor; /* of a delivery: cursor of the last item before it; null */
    struct str next;        /* URL of the items that follow; null: none follow */
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
    int64_t updated_at;  /* not earlier than any change in the document */
    int64_t updated_us;  /* > 0: the same time in microseconds */
    int64_t ttl_s;       /* RSS ttl; 0: none */
    struct str next_url; /* JSON Feed next_url; null: none */
    struct out_cloud cloud;
    const struct out_stream *stream; /* NULL: the document is not part of a stream */
    bool complete;                   /* fh:complete */
    bool archive;                    /* fh:archive */
    bool repeats; /* an id may appear more than once: the document lists changes */
    enum { OUT_PLAIN, OUT_STATEFUL, OUT_STATELESS } state; /* fh:Stateful of draft-00 */
    bool partial;                                          /* JSON "partial": true */
    struct str fields; /* JSON: members of entries to show (model/view_fields.def); null: all */
};

/* Write the document. If it is larger than the maximum of `out`, the buffer overflows (buf_ok() is
 * then false). Any thread. */
void feed_write(struct buf *out, enum feed_format format, const struct out_doc *doc);

/* Write one entry as a document of its own: an Atom Entry Document (RFC 4287 section 2) that names
 * the entry's feed as source; the object form; or a complete HTML page without active content.
 * e->links may contain a link to the document itself (self). */
enum entry_format {
#define ENTRY_FORMAT(id, suffix, media_type, writer) ENTRY_##id,
#include "feed/write/entry_formats.def"
#undef ENTRY_FORMAT
    ENTRY_FORMAT_COUNT_
};
void feed_write_entry(struct buf *out, enum entry_format format, const struct out_entry *e);

/* The end of such a document's address (".atom"), and its media type with and without parameters.
 */
const char *entry_format_suffix(enum entry_format format);
const char *entry_format_media_type(enum entry_format format);
struct str entry_format_bare_type(enum entry_format format);

/* Write one item of a stream as an Atom entry that may stand in another document: without an XML
 * declaration, with its feed as source, its fo:id, and fo:deleted if it is deleted. */
void feed_write_item(struct buf *out, const struct out_entry *e);

/* Write a deletion as a Deleted Entry Document (RFC 6721 section 4). The members of `e` are used as
 * for OUT_TOMBSTONE. */
void feed_write_deleted(struct buf *out, const struct out_entry *e);

/* The valid, permanent Atom id of an entry: its uid if that is an absolute IRI, else a urn:uuid
 * (version 5) made of the first URL of its feed and the uid (ATOM-08). It is the same in all
 * formats. */
struct str feed_entry_iri(struct arena *a, struct str id_url, struct str uid);
struct str out_entry_iri(struct arena *a, const struct out_entry *e);

/* The permanent id of a feed: its own id if that is an IRI that can be permanent, else one that is
 * derived from its URL. */
struct str feed_iri(struct arena *a, const struct out_feed *feed);
