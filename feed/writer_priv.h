/* feed/writer_priv.h - what the writers of all formats share: a head or entry read off the object
 * form and made fit to leave. Pure.
 *
 * The object form is liberal; a view is strict: references are absolute and valid, texts know
 * whether they are HTML, links and categories are without doubles, persons have names.
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/map.h"
#include "feed/kept.h"
#include "feed/writer.h"

/* `at` below: the place in the list of the object form, for kept_get(). */

struct view_text {
    struct str value; /* null: absent */
    struct str lang;  /* null: that of the document */
    bool html;
};

struct view_person {
    struct str name;       /* never empty */
    struct str email, uri; /* null: unknown */
    size_t at;
};

struct view_link {
    struct str rel, type, href, hreflang, title; /* rel is lower case or an IRI; else null */
    int64_t length;                              /* -1: unknown */
    size_t at;
};

struct view_tag {
    struct str term, label; /* term is never empty; label null: none */
    struct str scheme;      /* an absolute IRI, or null */
    struct str domain;      /* the same as the publisher wrote it, an IRI or not; null: none */
    size_t at;
};

struct out_view {
    struct view_text title, summary, content, rights; /* summary: subtitle of a head */
    struct view_text subtitle;                        /* of an entry */
    bool is_summary_content;                          /* null since the content says the same */
    struct str content_src, content_type;             /* content that is elsewhere; else null */
    struct view_person *authors, *contributors;
    size_t n_authors, n_contributors;
    struct view_link *links; /* alternates, enclosures, replies and what else is registered */
    size_t n_links;
    struct str link; /* the first alternate; null */
    struct view_tag *tags;
    size_t n_tags;
    struct str image, icon, lang, comments; /* null: absent */
    struct str publisher, created;          /* as the publisher wrote them; null: absent */
    struct str generator, generator_uri, generator_version;
    const struct kept *kept; /* never NULL */
};

/* Read a head (`head`) or an entry with its foreign elements. `base`: the feed's URL. `obj` may be
 * NULL. */
void out_view_read(struct arena *a, const struct value *obj, struct str ext, struct str base,
                   bool head, struct out_view *out);

/* The entry's dict, parsed from its text when it was not given; NULL when that is unreadable. */
const struct value *out_entry_object(struct arena *a, const struct out_entry *e);

/* Plain text of a text construct: references decoded, white space single; null when absent. */
struct str view_plain(struct arena *a, struct view_text t);

/* HTML of a text construct: plain text escaped; null when absent. */
struct str view_html(struct arena *a, struct view_text t);

/* A title for what has none: the beginning of its text, else its link, else "Untitled". */
struct str view_title(struct arena *a, const struct out_view *v);

/* Name to stand for authors when nobody is named: the feed's title, else its host. */
struct str out_feed_name(struct arena *a, struct str title, struct str url);

/* The time shown as `updated` of an entry: never unknown. In a stream that of its last change here.
 */
int64_t out_entry_updated(const struct out_entry *e);

/* When a merged document's feed changed last, by its own word or ours. */
int64_t out_feed_updated(const struct out_feed *feed);

/* False when the entry's id has been met in this document already, under another feed's name. */
bool out_entry_is_first(struct arena *a, struct map *seen, const struct out_doc *doc,
                        const struct out_entry *e);

/* Which foreign elements a format must not be given: those it writes itself. */
enum ext_use { EXT_ATOM_HEAD, EXT_ATOM_ENTRY, EXT_RSS_HEAD, EXT_RSS_ITEM };
void out_ext_write(struct buf *out, struct str ext, enum ext_use use);

/* The id of an entry as it leaves. In the arena, or the entry's own. */
struct str out_entry_id(struct arena *a, const struct out_entry *e);

/* fh:complete, fh:archive, fh:Stateful of the head. */
void out_history_write(struct buf *out, const struct out_doc *doc);

/* The entries that are tombstones: they belong to the head, before any entry. */
void out_tombstones_write(struct buf *out, const struct out_doc *doc);

/* "updated" of an entry or head, RFC 3339: to the microsecond when that is given. */
void out_time_write(struct buf *out, const char *name, int64_t at, int64_t at_us, struct str kept);

/* fo:total and the cursors of a stream's head; fo:id and fo:deleted of its entries. */
void out_stream_write(struct buf *out, const struct out_stream *s);
void out_stream_entry_write(struct buf *out, struct str id, const struct out_entry *e);

#define NS_FANOUT "http://fanout.org/protocol/atom"
#define NS_TOMBSTONES "http://purl.org/atompub/tombstones/1.0"
/* Is there an element of this name among the foreign ones? */
bool out_ext_has(struct str ext, const char *ns, const char *local);

/* What the view knows and the format has no element for, as elements of Dublin Core and Media RSS,
 * unless the foreign elements say it already. */
void out_extra_write(struct buf *out, const struct out_view *v, struct str ext, enum ext_use use);

/* The publisher's own source of an entry made complete: id, title and an address, as a feed whose
 * head is `*out`. False when there is none. */
bool out_source_read(struct arena *a, const struct value *obj, struct str base,
                     struct out_feed *feed, struct out_view *out);

/* ---- parts of Atom that RSS takes over, with `atom:` in front of their names or not ---- */
void atom_person(struct buf *out, const char *name, const struct view_person *p,
                 const struct kept *m, enum kept_on on);
void atom_link(struct buf *out, const char *name, const struct view_link *l, struct str kept);
void atom_tag(struct buf *out, const char *name, const struct view_tag *t, struct str kept);

/* A text construct; nothing when it is absent. Markup is never in a "text": what looks like it is
 * said to be HTML and escaped once more, so that no reader takes it for markup. `lang`: that of the
 * document. */
void atom_text(struct arena *a, struct buf *out, const char *name, struct view_text t,
               struct str lang, struct str kept);

/* atom:source and all in it, without prefixes, from a head. `ns`: it has to declare Atom's
 * namespace. */
void atom_source(struct arena *a, struct buf *out, const struct out_feed *feed,
                 const struct out_view *v, int64_t updated_at, bool ns);

#define NS_ATOM "http://www.w3.org/2005/Atom"
#define NS_CONTENT "http://purl.org/rss/1.0/modules/content/"
#define NS_DC "http://purl.org/dc/elements/1.1/"
#define NS_DCTERMS "http://purl.org/dc/terms/"
#define NS_MEDIA "http://search.yahoo.com/mrss/"
#define NS_ITUNES "http://www.itunes.com/dtds/podcast-1.0.dtd"
#define NS_HISTORY "http://purl.org/syndication/history/1.0"

void write_atom(struct buf *out, const struct out_doc *doc);
void write_atom_entry(struct buf *out, const struct out_entry *e);
void write_rss(struct buf *out, const struct out_doc *doc);
void write_jsonfeed(struct buf *out, const struct out_doc *doc);
void write_activities(struct buf *out, const struct out_doc *doc);
void write_json(struct buf *out, const struct out_doc *doc, bool array_only);
