/* feed/write/writer_priv.h - what the writers of all formats share: reading a head or an entry from
 * the object form, and making it valid for output. Pure.
 *
 * The object form is liberal, the output is strict: references are absolute and valid, each text
 * says whether it is HTML, links and categories have no doubles, and persons have names.
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/map.h"
#include "feed/text/kept.h"
#include "feed/write/writer.h"

/* The members `at` below are indexes in the lists of the object form, for kept_get(). */

struct part_text {
    struct str value; /* null: absent */
    struct str lang;  /* null: the language of the document */
    bool html;
};

struct part_person {
    struct str name;       /* never empty */
    struct str email, uri; /* null: unknown */
    size_t at;
};

struct part_link {
    struct str rel, type, href, hreflang, title; /* rel is lower case or an IRI; else null */
    int64_t length;                              /* -1: unknown */
    struct str original; /* the publisher's address of a mirrored file; null: it is `href` */
    size_t at;
};

struct part_tag {
    struct str term, label; /* term is never empty; label null: none */
    struct str scheme;      /* an absolute IRI, or null */
    struct str domain; /* the scheme as the publisher wrote it; may not be an IRI; null: none */
    size_t at;
};

struct out_parts {
    struct part_text title, summary, content, rights; /* summary: subtitle of a head */
    struct part_text subtitle;                        /* of an entry */
    bool is_summary_content; /* the summary is null because the content says the same */
    struct str content_src, content_type;     /* content that is elsewhere; else null */
    struct str content_xml, content_xml_type; /* content that is one element of XML; else null */
    struct part_person *authors, *contributors;
    size_t n_authors, n_contributors;
    struct part_link *links; /* alternates, enclosures, replies and other registered relations */
    size_t n_links;
    struct str link; /* the first alternate; null */
    struct part_tag *tags;
    size_t n_tags;
    struct str image, icon, lang, comments; /* null: absent */
    struct str publisher, created;          /* as the publisher wrote them; null: absent */
    struct str generator, generator_uri, generator_version;
    const struct kept *kept; /* never NULL */
};

/* Read a head (`head`) or an entry with its foreign elements. `base`: the feed's URL. `obj` may be
 * NULL. */
void out_parts_read(struct arena *a, const struct value *obj, struct str ext, struct str base,
                    bool head, struct out_parts *out);

/* The entry's dict. If only its text was given, the text is parsed; NULL: the text is unreadable.
 */
const struct value *out_entry_object(struct arena *a, const struct out_entry *e);

/* Plain text of a text construct: references decoded, white space single; null when absent. */
struct str part_plain(struct arena *a, struct part_text t);

/* HTML of a text construct: plain text escaped; null when absent. */
struct str part_html(struct arena *a, struct part_text t);

/* A title for an entry or head without one: the beginning of its text, else its link, else
 * "Untitled". */
struct str parts_title(struct arena *a, const struct out_parts *v);

/* Returns true when `s` can be an atom:id unchanged: it is an absolute IRI without a byte that must
 * be escaped (RFC 4287 section 4.2.6). */
bool out_is_atom_id(struct arena *a, struct str s);

/* The name to use when no author is named: the feed's title, else its host. */
struct str out_feed_name(struct arena *a, struct str title, struct str url);

/* The time that is shown as `updated` of an entry; never unknown. In a stream it is the time of the
 * entry's last change in this log. */
int64_t out_entry_updated(const struct out_entry *e);

/* The time of the last change of a feed in a merged document, from the feed itself or as Feedmill
 * saw it. */
int64_t out_feed_updated(const struct out_feed *feed);

/* False when an entry of another feed with the same id has already come in this document. */
bool out_entry_is_first(struct arena *a, struct map *seen, const struct out_doc *doc,
                        const struct out_entry *e);

/* Where foreign elements are written. Elements that the format writes itself are left out. */
enum ext_use { EXT_ATOM_HEAD, EXT_ATOM_ENTRY, EXT_RSS_HEAD, EXT_RSS_ITEM };
void out_ext_write(struct buf *out, struct str ext, enum ext_use use);

/* The id of an entry as it is written. In the arena, or the entry's own string. */
struct str out_entry_id(struct arena *a, const struct out_entry *e);

/* fh:complete, fh:archive, fh:Stateful of the head. */
void out_history_write(struct buf *out, const struct out_doc *doc);

/* Write the entries that are tombstones. They belong to the head, before all other entries. */
void out_tombstones_write(struct buf *out, const struct out_doc *doc);

/* "updated" of an entry or head, RFC 3339: to the microsecond when that is given. */
void out_time_write(struct buf *out, const char *name, int64_t at, int64_t at_us, struct str kept);

/* fo:total and the cursors of a stream's head; fo:id and fo:deleted of its entries. */
void out_stream_write(struct buf *out, const struct out_stream *s);
void out_stream_entry_write(struct buf *out, struct str id, const struct out_entry *e);

#define NS_FANOUT "http://fanout.org/protocol/atom"
#define NS_TOMBSTONES "http://purl.org/atompub/tombstones/1.0"

/* Write the members for which the format has no element, as elements of Dublin Core and Media RSS,
 * unless the foreign elements already have them. */
void out_extra_write(struct buf *out, const struct out_parts *v, struct str ext, enum ext_use use);

/* Complete the source that the publisher gave for an entry: id, title and an address. *feed is a
 * feed whose head is *out. False when the entry has no source. */
bool out_source_read(struct arena *a, const struct value *obj, struct str base,
                     struct out_feed *feed, struct out_parts *out);

/* How a format of XML writes the parts of a document. `lang` is the language of the document. */
struct out_xml_format {
    const char *begin; /* after the XML declaration, up to the attributes of the head's element */
    bool has_lang;     /* that element may have xml:lang */
    void (*head)(struct arena *a, struct buf *out, const struct out_doc *doc,
                 const struct out_feed *feed, const struct out_parts *v);
    void (*entry)(struct arena *a, struct buf *out, const struct out_doc *doc,
                  const struct out_entry *e, struct str lang);
    /* OUT_EMPTY and OUT_METADATA */
    void (*bare_entry)(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_entry *e, struct str lang);
    const char *end;
};

/* Write a document in such a format. */
void out_document_write(struct buf *out, const struct out_doc *doc,
                        const struct out_xml_format *format);

/* ---- parts of Atom that RSS takes over, with `atom:` in front of their names or not ---- */
void atom_person(struct buf *out, const char *name, const struct part_person *p,
                 const struct kept *m, enum kept_on on);
void atom_link(struct buf *out, const char *name, const struct part_link *l, struct str kept);
void atom_tag(struct buf *out, const char *name, const struct part_tag *t, struct str kept);

/* Write a text construct; nothing when it is absent. A "text" never contains what looks like
 * markup: such text is declared as HTML and escaped once more, so that no reader takes it for
 * markup. `lang`: the language of the document. */
void atom_text(struct arena *a, struct buf *out, const char *name, struct part_text t,
               struct str lang, struct str kept);

/* Write atom:source with its content, without prefixes, from a head. `ns`: it must declare Atom's
 * namespace. */
void atom_source(struct arena *a, struct buf *out, const struct out_feed *feed,
                 const struct out_parts *v, int64_t updated_at, bool ns);

#define NS_ATOM "http://www.w3.org/2005/Atom"
#define NS_CONTENT "http://purl.org/rss/1.0/modules/content/"
#define NS_DC "http://purl.org/dc/elements/1.1/"
#define NS_DCTERMS "http://purl.org/dc/terms/"
#define NS_MEDIA "http://search.yahoo.com/mrss/"
#define NS_ITUNES "http://www.itunes.com/dtds/podcast-1.0.dtd"
#define NS_HISTORY "http://purl.org/syndication/history/1.0"

/* The writer of each row of model/formats.def. */
#define FORMAT(id, name, media_type, accepts, suffix, writer, traits)                              \
    void writer(struct buf *out, const struct out_doc *doc);
#include "model/formats.def"
#undef FORMAT

void write_atom_entry(struct buf *out, const struct out_entry *e);
