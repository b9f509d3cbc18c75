/* feed/read/builder.h - turns a stream of elements into the object form. Shared by the files of the
 * XML parser.
 *
 * xml_reader.c calls builder_start(), builder_text() and builder_end(); starts and ends are
 * balanced. Tables of rows (elements.c, ext_*.c) say what an element means: how it starts, where
 * its text goes, and how it ends. The state kept here is the state of the Universal Feed Parser: an
 * element means the same in every format, unless the elements around it change its meaning.
 *
 * Internal to feed/. Each document has one builder, and each builder one thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "feed/read/parse.h"
#include "model/document.h"

struct builder;
struct frame;
struct element;

/* A name of an element or attribute in the document. It is made once, however often it occurs. */
struct name {
    struct str prefix, local, uri; /* as written; uri null: no namespace, or an undeclared prefix */
    struct str tag;                /* lower case, with the customary prefix: "media:thumbnail" */
    struct str key;                /* the tag with '_' for ':': the member for an unknown element */
    struct str attrs_key;          /* the key and '_': the member for its attributes */
    struct str attr; /* the name as an attribute: a prefix only if its namespace is known */
    bool is_foreign; /* has a namespace that does not belong to a feed format */
    bool is_barred;  /* neither it nor its content is kept as XML: see xml_reader.c */
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
    EL_MAPPED = 1,     /* foreign, but its member holds all of it: not kept in ext */
    EL_KEEPS_AREA = 2, /* does not end an image or textinput in which it stands */
    EL_UNWRITTEN = 4   /* of a format, but no writer writes it in an entry: kept in ext */
};

/* How one element is read. */
struct element {
    const char *tag; /* as in struct name */
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
    bool collects;     /* text in the element is kept */
    bool stores;       /* builder_pop() puts it into `member` of the context */
    bool is_container; /* an entry or a head: its foreign children go to ext */
    bool is_content;   /* elements in it are markup of its text */
    bool is_markup, is_void;
    struct buf *ext; /* the element is being copied to it; a child has the same one */
    size_t ext_at;   /* of the outermost copied element: where it begins in `ext` */
    bool is_unknown; /* copied; in the format's namespace or in none: see NS_UNKNOWN */
    bool is_xml;     /* in content that is XML; the text keeps the XML as it came */
    bool is_inner;   /* copied as feed/text/kept.h says */
    bool is_opaque;  /* elements in it have no meaning for the feed */
    size_t n_scope;  /* builder.n_scope before the element */
    struct str base, lang;
    struct value *attributes; /* of an element without a row; NULL: no attributes */
};

struct text_construct { /* of the text construct being read */
    struct str type, lang, base;
    struct str src; /* null: none */
    bool is_base64, is_type_given;
    size_t depth;        /* frames open when it began; deeper elements are its markup */
    size_t n_top;        /* number of its children */
    bool has_body;       /* one of the children is a body */
    size_t div_open_end; /* a leading div: end of its start tag, begin of its end tag, ... */
    size_t div_close_at, div_close_end;
};

#define SCOPE_MAX 64
#define SEEN_MAX 64

struct builder {
    struct arena *a;
    struct feed_doc *doc;
    struct str url;
    bool raw_html; /* as in struct parse_input */
    /* Whether the texts of the document are doubled: UTF-8 was taken for Latin-1 and encoded
     * as UTF-8 once more. */
    struct doubling {
        bool is_sure;               /* an earlier reading has decided: mend what may be doubled */
        bool is_half;               /* the current text may lack half a letter */
        size_t n_sure, n_may, n_no; /* texts surely doubled; perhaps doubled; not doubled */
    } doubling;
    bool is_over;    /* the document has ended: elements still open lack their end */
    struct buf text; /* text of all open elements, innermost last */
    struct buf entry_ext, head_ext, tombstone_ext;
    struct frame *frames; /* LIMIT_XML_DEPTH + 1 */
    size_t depth;
    struct str base, lang;
    size_t uri_grown;     /* as in uri_resolve_within() */
    struct value *entry;  /* NULL outside of entries */
    struct value *source; /* collects a source element */
    struct text_construct content;
    bool in_content, in_feed, in_entry, in_source, in_image, in_textinput;
    bool in_author, in_contributor, in_publisher, in_chapters;
    bool has_content;                        /* the entry has a content element */
    bool has_alternate, has_typed_alternate; /* the entry has an alternate link; one with a type */
    bool summary_is_content;                 /* the summary being read goes to content */
    bool repeats_summaries;                  /* the head has content: see unite_summaries() */
    bool guid_is_link;
    bool is_new_author; /* nothing is known yet of the author being read */
    uint64_t id_amps;   /* bit set: this '&' of the current id was written "&amp;" */
    unsigned n_id_amps; /* number of '&' in the current id so far */
    struct written_id { /* ids that differ when the document is not well-formed */
        struct value *obj;
        struct str id;
        struct written_id *next;
    } * written_ids;
    ssize_t title_depth; /* of the first title of the context; -1: none yet */
    struct seen {        /* members of the entry, and the depth of their elements */
        struct str member;
        size_t depth;
    } seen[SEEN_MAX];
    size_t n_seen;
    enum geometry { GEO_NONE, GEO_POINT, GEO_LINE, GEO_POLYGON } geometry;
    struct str last_prefix, last_uri; /* of the namespace declaration seen last */
    struct ns_decl scope[SCOPE_MAX];  /* namespaces written in the fragment being copied */
    size_t n_scope;
    struct doc_entry *entries;        /* on the heap while they grow; builder_finish() moves them */
    size_t n_entry_kept, n_head_kept; /* feed/text/kept.h */
    size_t entries_cap, tombstones_cap;
};

void builder_init(struct builder *b, struct arena *a, const struct parse_input *in,
                  struct feed_doc *doc);
void builder_release(struct builder *b);

/* Start an element. `decls`: the namespaces that are declared on this element. */
void builder_start(struct builder *b, const struct name *name, const struct attrs *at,
                   const struct ns_decl *decls, size_t n_decls);
void builder_text(struct builder *b, const char *p, size_t len);
void builder_end(struct builder *b);

/* End the document. Elements that are still open were cut off: their entries are kept, but not the
 * texts that are incomplete. */
void builder_finish(struct builder *b);

/* The row for a tag; NULL: the tag has none in the tables. */
const struct element *element_find(struct str tag);

/* ---- for the rows of the tables ---- */

/* Begin to collect the text of this element. builder_pop() returns the text and, if `stores`, puts
 * it into `member` of the context. */
void builder_push(struct frame *f, struct str member, bool stores);

/* The same for a text construct or content: elements in it are markup of its text. `type` is the
 * default media type. */
void builder_push_content(struct builder *b, struct frame *f, struct str member,
                          const struct attrs *at, const char *type, bool stores);
struct str builder_pop(struct builder *b, struct frame *f);

/* Returns true for an atom:content of an XML media type other than HTML. Its text is collected as
 * XML. */
bool builder_is_xml_content(const struct builder *b, const struct frame *f);

/* The text collected so far, with its white space. Borrowed until the element ends. */
struct str builder_raw(const struct builder *b, const struct frame *f);

/* ---- fragments.c ---- */

/* Decide whether the element that has just begun is kept as XML. If so, begin to copy it. */
void builder_choose_ext(struct builder *b, struct frame *f, const struct attrs *at);

/* The element that has just begun is a child of content of an XML media type: copy the element with
 * its content into the text, as XML. Leave out parts that may not be kept as XML. */
void builder_copy_content(struct builder *b, struct frame *f, const struct attrs *at);

/* Keep the foreign attributes of an element that belongs to the feed format (feed/text/kept.h), if
 * it is an entry, a head, or a child of one. `n_tags`: the number of tags that the entry or head
 * had before. */
void builder_keep_attributes(struct builder *b, const struct frame *f, const struct attrs *at,
                             size_t n_tags);

/* Append text (valid UTF-8) as XML. `in_attribute`: quotes, tabs and line ends are escaped too. */
void builder_put_escaped(struct buf *out, struct str s, bool in_attribute);

/* Copy this element with its content to `out` as XML, from its start to builder_copy_end(). If
 * another copy has not ended, it is dropped. */
void builder_copy(struct builder *b, struct frame *f, struct buf *out, const struct attrs *at);
void builder_copy_end(struct builder *b, struct frame *f);

/* Stop the copy and drop what was copied: the element contains something that is read on its own,
 * such as an entry, so it is not foreign. */
void builder_copy_drop(struct builder *b);

/* `s` without white space at its ends. No-break spaces and similar characters count as white space.
 */
struct str builder_trim(struct builder *b, struct str s);

/* Repair text that was encoded as UTF-8 twice (b->doubling), and C1 controls. Returns `s` itself
 * when it has neither, else an arena string. */
struct str builder_mend_characters(struct builder *b, struct str s);

/* Replace C1 controls by the windows-1252 characters that were meant. Returns `s` itself when it
 * has no C1 controls. */
struct str builder_mend_c1(struct builder *b, struct str s);

/* For a document that was not well-formed: set its ids to the text as written, including "&amp;".
 * The Universal Feed Parser does the same, and ids are only compared. */
void builder_restore_ids(struct builder *b);

/* Store `text`, which comes from elsewhere, in the same way as builder_pop() stores text. */
void builder_store(struct builder *b, struct str member, struct str text);

/* The dict that gets the members now: that of the source, image, textinput, entry or feed. */
struct value *builder_context(struct builder *b);

void builder_add_tag(struct builder *b, struct str term, struct str scheme, struct str label);
void builder_begin_entry(struct builder *b);
void builder_finish_entry(struct builder *b);

/* The text `member` and "<member>_parsed", if it is a date. */
void builder_set_date(struct builder *b, const char *parsed_member, struct str text);

/* `ref`, resolved against the base that is in force. */
struct str builder_resolve(struct builder *b, struct str ref);

/* Fill in "author" or "publisher" from its details, or the details from its text. */
void builder_sync_person(struct builder *b, const char *key);
void builder_merge_person(struct builder *b,
                          struct str list_key); /* merge the last person if it was named before */
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

/* The same, but `url` and `uri` are renamed to href, and href is resolved. */
struct value *attrs_dict_href(struct builder *b, const struct attrs *at);

/* The generic rows. */
void start_text(struct builder *b, struct frame *f, const struct attrs *at);
void start_raw(struct builder *b, struct frame *f, const struct attrs *at);
void start_construct(struct builder *b, struct frame *f, const struct attrs *at);
void end_pop(struct builder *b, struct frame *f);

/* For elements that only contain others. */
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
