/* feed/builder.h - from a stream of elements to the object form; shared by the XML parsers' files.
 *
 * xml_reader.c drives it: builder_start(), builder_text(), builder_end(), balanced. What an element
 * means stands in tables of rows (elements.c, ext_*.c): how it starts, where its text goes, how it
 * ends. The state kept here is that of the Universal Feed Parser's reading of feeds, where an
 * element means the same in every format unless its surroundings say otherwise.
 *
 * Internal to feed/. One builder a document, one thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "feed/parse.h"
#include "model/document.h"

struct builder;
struct frame;
struct element;

/* A name of the document, made once for each that occurs. */
struct name {
    struct str prefix, local, uri; /* as written; uri null: none, or its prefix is not declared */
    struct str tag;                /* lower case with customary prefix: "media:thumbnail" */
    struct str key;                /* the same with '_': the member of an unknown element */
    struct str attrs_key;          /* the key and '_': the member of its attributes */
    struct str attr;               /* as an attribute: prefix only of known namespaces */
    bool is_foreign;               /* has a namespace, which is not that of a feed format */
    bool is_barred;                /* never kept as XML, with all within it: see xml_reader.c */
    const struct element *element;
};

struct attr {
    const struct name *name;
    struct str value; /* borrowed for the call */
};

struct attrs {
    const struct attr *list;
    size_t n;
};

struct ns_decl {
    struct str prefix, uri; /* prefix empty: default namespace */
};

enum element_flags {
    EL_MAPPED = 1,     /* foreign, but its member carries all of it: not kept in ext */
    EL_KEEPS_AREA = 2, /* may stand in image and textinput without ending them */
    EL_UNWRITTEN = 4   /* of a format, but not in an entry as any writer knows it: kept in ext */
};

/* How one element is read. */
struct element {
    const char *tag; /* as struct name */
    void (*start)(struct builder *b, struct frame *f, const struct attrs *at);
    void (*end)(struct builder *b, struct frame *f);
    const char *member; /* for start functions that serve several elements */
    const char *type;   /* default media type of its content, or another argument */
    unsigned flags;
};

struct element_table {
    const struct element *rows;
    size_t n;
};
extern const struct element_table elements_core, elements_ext, elements_media, elements_geo;

struct frame {
    const struct name *name;
    struct str member; /* where the text goes; null: nowhere */
    size_t text_at;    /* its text begins here in builder.text */
    bool collects;     /* text within is kept */
    bool stores;       /* builder_pop() puts it into `member` of the context */
    bool is_container; /* an entry or a head: foreign elements directly within go to ext */
    bool is_content;   /* elements within are markup of its text */
    bool is_markup, is_void;
    struct buf *ext; /* this element is being recorded there; the same as that of its parent */
    size_t ext_at;   /* of the outermost one: where it begins in `ext` */
    bool is_unknown; /* recorded, but of the format's namespace or none: see NS_UNKNOWN */
    bool is_inner;   /* recorded as feed/kept.h says */
    bool is_opaque;  /* elements within mean nothing to the feed */
    size_t n_scope;  /* builder.scope before it */
    struct str base, lang;
    struct value *attributes; /* of an element without a row; NULL: it has none */
};

struct content { /* of the text construct being read */
    struct str type, lang, base;
    struct str src; /* null: none */
    bool is_base64;
    size_t depth;        /* frames open when it began; markup deeper than this is its own */
    size_t n_top;        /* elements directly in it */
    bool has_body;       /* one of them is a body */
    size_t div_open_end; /* a leading div: end of its start tag, begin of its end tag, ... */
    size_t div_close_at, div_close_end;
};

#define SCOPE_MAX 64
#define SEEN_MAX 64

struct builder {
    struct arena *a;
    struct feed_doc *doc;
    struct str url;
    bool raw_html;   /* as in struct parse_input */
    bool is_over;    /* the document has ended: what is still open lacks its end */
    struct buf text; /* of all open elements, innermost last */
    struct buf entry_ext, head_ext, tombstone_ext;
    struct frame *frames; /* LIMIT_XML_DEPTH + 1 */
    size_t depth;
    struct str base, lang;
    size_t uri_grown;     /* as in uri_resolve_within() */
    struct value *entry;  /* NULL outside of entries */
    struct value *source; /* collects a source element */
    struct content content;
    bool in_content, in_feed, in_entry, in_source, in_image, in_textinput;
    bool in_author, in_contributor, in_publisher, in_chapters;
    bool has_content;                        /* the entry has a content element */
    bool has_alternate, has_typed_alternate; /* the entry has such a link; one that says its type */
    bool summary_is_content;                 /* the summary being read goes to content */
    bool repeats_summaries;                  /* the head has content: see unite_summaries() */
    bool guid_is_link;
    uint64_t id_amps;   /* of the id being read: the '&' that were written "&amp;" */
    unsigned n_id_amps; /* its '&' so far */
    struct written_id { /* ids that look otherwise when the document is not well-formed */
        struct value *obj;
        struct str id;
        struct written_id *next;
    } * written_ids;
    ssize_t title_depth; /* of the first title of the context; -1: none yet */
    struct seen {        /* members of the entry and how deep their elements were */
        struct str member;
        size_t depth;
    } seen[SEEN_MAX];
    size_t n_seen;
    enum geometry { GEO_NONE, GEO_POINT, GEO_LINE, GEO_POLYGON } geometry;
    struct str last_prefix, last_uri; /* of the namespace declaration seen last */
    struct ns_decl scope[SCOPE_MAX];  /* namespaces written in the fragment being recorded */
    size_t n_scope;
    struct doc_entry *entries;        /* on the heap while they grow; builder_finish() moves them */
    size_t n_entry_kept, n_head_kept; /* feed/kept.h */
    size_t entries_cap, tombstones_cap;
};

void builder_init(struct builder *b, struct arena *a, const struct parse_input *in,
                  struct feed_doc *doc);
void builder_release(struct builder *b);

/* The language of the whole feed; '_' is meant as '-'. */
void builder_set_language(struct builder *b, struct str lang);

/* `decls`: namespaces declared on this very element. */
void builder_start(struct builder *b, const struct name *name, const struct attrs *at,
                   const struct ns_decl *decls, size_t n_decls);
void builder_text(struct builder *b, const char *p, size_t len);
void builder_end(struct builder *b);

/* The document is over. Elements still open are those of a document that was cut off: entries are
 * kept, but not the texts that broke off in them. */
void builder_finish(struct builder *b);

/* The row of a tag, or NULL. */
const struct element *element_find(struct str tag);

/* ---- for the rows of the tables ---- */

/* Take the text of this element; builder_pop() returns it and, if `stores`, puts it into `member`
 * of the context. */
void builder_push(struct frame *f, struct str member, bool stores);

/* The same for a text construct or content, whose markup belongs to it. `type`: the default. */
void builder_push_content(struct builder *b, struct frame *f, struct str member,
                          const struct attrs *at, const char *type, bool stores);
struct str builder_pop(struct builder *b, struct frame *f);

/* Is this Atom's content, of an XML media type that is no HTML? Its text is collected as XML. */
bool builder_is_xml_content(const struct builder *b, const struct frame *f);

/* The text as it stands, with its white space; borrowed until the element ends. */
struct str builder_raw(const struct builder *b, const struct frame *f);

/* Copy this element and all within it to `out` as XML, from its start to builder_record_end(). A
 * recording under way is dropped. */
void builder_record(struct builder *b, struct frame *f, struct buf *out, const struct attrs *at);
void builder_record_end(struct builder *b, struct frame *f);

/* The element being recorded holds something that is read on its own, an entry say: it is not
 * foreign, and nothing of it is kept. */
void builder_record_drop(struct builder *b);

/* C1 controls as the windows-1252 characters they were meant to be; `s` itself when it has none. */
struct str builder_mend_c1(struct builder *b, struct str s);

/* The document was not well-formed: its ids are what was written, "&amp;" and all. The Universal
 * Feed Parser has it so, and an id is only ever compared. */
void builder_restore_ids(struct builder *b);

/* "&b;" in addresses comes from readers of "&b=" that knew better: without the ';'. In the arena.
 */
struct str builder_mend_link(struct arena *a, struct str s);

/* Store as builder_pop() does a text that comes from elsewhere. */
void builder_store(struct builder *b, struct str member, struct str text);

/* The dict that members go to now: source, image, textinput, entry or feed. */
struct value *builder_context(struct builder *b);

void builder_add_tag(struct builder *b, struct str term, struct str scheme, struct str label);
void builder_begin_entry(struct builder *b);
void builder_finish_entry(struct builder *b);

/* The text `member` and "<member>_parsed", if it is a date. */
void builder_set_date(struct builder *b, const char *parsed_member, struct str text);

/* `ref` against the base in force. */
struct str builder_resolve(struct builder *b, struct str ref);

/* "author", "publisher" from their details, or the details from the text. */
void builder_sync_person(struct builder *b, const char *key);
void builder_merge_person(struct builder *b,
                          struct str list_key); /* the last one, if named before */
void builder_person_part(struct builder *b, struct str key, struct str value);

/* Attribute by its lower-case name ("href", "rdf:about"); null when absent. */
static inline struct str attrs_get(const struct attrs *at, const char *name)
{
    for (size_t i = 0; i < at->n; i++)
        if (str_eqz(at->list[i].name->attr, name))
            return at->list[i].value;
    return STR_NULL;
}

/* All attributes as a dict, in the arena; rel and type in lower case. */
struct value *attrs_dict(struct builder *b, const struct attrs *at);

/* The same with `url` and `uri` called href, resolved. */
struct value *attrs_dict_href(struct builder *b, const struct attrs *at);

/* The generic rows. */
void start_text(struct builder *b, struct frame *f, const struct attrs *at);
void start_raw(struct builder *b, struct frame *f, const struct attrs *at);
void start_construct(struct builder *b, struct frame *f, const struct attrs *at);
void end_pop(struct builder *b, struct frame *f);

/* For elements that only frame others. */
void start_nothing(struct builder *b, struct frame *f, const struct attrs *at);

/* Rows that several namespaces share. */
void start_author(struct builder *b, struct frame *f, const struct attrs *at);
void end_author(struct builder *b, struct frame *f);
void start_category(struct builder *b, struct frame *f, const struct attrs *at);
void end_category(struct builder *b, struct frame *f);
void end_tag_list(struct builder *b, struct frame *f); /* "a, b"; the row's `type`: their scheme */
void start_contributor(struct builder *b, struct frame *f, const struct attrs *at);
void end_name(struct builder *b, struct frame *f);
void end_email(struct builder *b, struct frame *f);
void end_date(struct builder *b, struct frame *f);
void start_summary(struct builder *b, struct frame *f, const struct attrs *at);
void start_description(struct builder *b, struct frame *f, const struct attrs *at);
void end_summary(struct builder *b, struct frame *f);
void start_title(struct builder *b, struct frame *f, const struct attrs *at);
void end_title(struct builder *b, struct frame *f);
void start_content(struct builder *b, struct frame *f, const struct attrs *at);
void end_content(struct builder *b, struct frame *f);
void start_publisher(struct builder *b, struct frame *f, const struct attrs *at);
void end_publisher(struct builder *b, struct frame *f);
