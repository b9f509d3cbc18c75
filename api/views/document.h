/* api/views/document.h - struct document_spec describes a document by everything on which its bytes
 * depend.
 *
 * The code for a GET, a topic of the hub or a delivery fills in a spec; draw_document() makes the
 * bytes. Pure. Strings belong to the code that filled in the spec; document_copy() makes an
 * independent copy.
 */
#pragma once

#include "api/views/cursor_spec.h"
#include "base/arena.h"
#include "base/str.h"
#include "model/view.h"

/* How much of the view is shown. */
enum document_extent {
    EXTENT_WHOLE,
    EXTENT_DELTA, /* what is new to a client that has everything up to view.after_seq (RFC 3229) */
    EXTENT_DELIVERY, /* the same for a subscriber of the hub; no bytes if nothing is new */
};

/* Which part of the log a document made of pages shows. */
enum log_part {
    PART_NEWEST, /* the newest page, under the URL of the entry document */
    PART_PAGE,   /* a page by its number, as it is now */
    PART_STATE,  /* a page as it was when it had log_rows rows; page 0 without rows: an empty log */
    PART_ALL,    /* all current entries, under the URL of the entry document (Atom-PMH) */
};

struct document_spec {
#define VIEW(name) struct view name;
#define NUMBER(type, name) type name;
#define TEXT(name) struct str name;
#define CURSOR(name) struct cursor_spec name;
#include "api/views/document_fields.def"
#undef VIEW
#undef NUMBER
#undef TEXT
#undef CURSOR
    struct str key; /* its name in the cache, made of all other members; set by document_name() */
};

/* Returns true when the document is shown at the URL of the entry document (form_ops.entry_path).
 */
static inline bool document_is_entry(const struct document_spec *spec)
{
    return spec->part == PART_NEWEST || spec->part == PART_ALL;
}

/* The name of the document in a log (`log_id`) at a version of its feeds, in the arena. Documents
 * with the same name have the same bytes. The name includes the version of the program, because
 * another version may write other bytes. */
struct str document_key(struct arena *a, struct str log_id, const struct document_spec *spec,
                        int64_t version);

/* A copy of a view, with its feeds and its filter in the arena. */
void document_copy_view(struct arena *a, const struct view *from, struct view *to);

/* A copy with all strings in the arena; `key` is left null. */
void document_copy(struct arena *a, const struct document_spec *from, struct document_spec *to);
