/* model/view.h - a view: a question to the log.
 *
 * Each request is read into a view. Pulls, archives, streams, long polls and deliveries differ only
 * in the values of their views. Storage uses the feeds, the order, the range and the filter
 * (reader_rows()). Form and format say how the rows are written (api/views/).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/format.h"

enum view_order {
    VIEW_NEWEST,        /* entry date, newest first; then arrival, newest first */
    VIEW_LOG,           /* by seq, oldest first: every revision */
    VIEW_LOG_DESC,      /* by seq, newest first */
    VIEW_MODIFIED,      /* current revision of each entry by seq, oldest first */
    VIEW_CREATED,       /* current revision of each entry by the seq of its first, oldest first */
    VIEW_MODIFIED_DESC, /* the exact reverses of these two */
    VIEW_CREATED_DESC,
    VIEW_RECEIVED, /* by date, as VIEW_NEWEST, but the date is when the entry first came in */
    VIEW_CHANGED,  /* the same, when its newest revision came in */
};

/* What a revision becomes in a document: one for each protocol. */
enum form {
#define FORM(id, path, entry_path, draw, entry, traits) FORM_##id,
#include "model/forms.def"
#undef FORM
    FORM_COUNT_
};

/* How much of an entry's text is shown. The names are those of the parameter `content`. */
enum content_shown {
    SHOWN_FULL,
    SHOWN_TEXT, /* plain text, perhaps the beginning only */
    SHOWN_NONE, /* no summary either */
};

struct filter;
struct likeness;

struct view {
#define IDS(ids, n)                                                                                \
    const int64_t *ids;                                                                            \
    size_t n;
#define NUMBER(type, name) type name;
#define FILTER(name) const struct filter *name;
#define LIKENESS(name) const struct likeness *name;
#define TEXT(name) struct str name;
#include "model/view_fields.def"
#undef IDS
#undef NUMBER
#undef FILTER
#undef LIKENESS
#undef TEXT
};

/* Are entries shown as they are, with everything? */
static inline bool view_shows_all(const struct view *v)
{
    return v->content == SHOWN_FULL && str_is_null(v->fields);
}

/* Views by date: the newest first. They never show deletions. */
static inline bool order_is_by_date(enum view_order order)
{
    return order == VIEW_NEWEST || order == VIEW_RECEIVED || order == VIEW_CHANGED;
}

/* Current revisions by numbers of the log: by creation or by change, from old to new or back. */
static inline bool order_is_by_creation(enum view_order order)
{
    return order == VIEW_CREATED || order == VIEW_CREATED_DESC || order == VIEW_RECEIVED;
}

static inline bool order_descends(enum view_order order)
{
    return order == VIEW_MODIFIED_DESC || order == VIEW_CREATED_DESC || order == VIEW_RECEIVED ||
           order == VIEW_CHANGED;
}

static inline enum view_order order_of_items(bool by_creation, bool descends)
{
    return by_creation ? (descends ? VIEW_CREATED_DESC : VIEW_CREATED)
                       : (descends ? VIEW_MODIFIED_DESC : VIEW_MODIFIED);
}

/* Sort the ids in place, remove doubles, and return how many ids are left. */
size_t view_ids_sort(int64_t *ids, size_t n);
/* Is the id among these, which are ascending? */
bool view_ids_have(const int64_t *ids, size_t n, int64_t id);

/* A view of the newest entries, without the first `skip` of them. */
static inline struct view view_of_newest(size_t len, size_t skip)
{
    return (struct view){.order = VIEW_NEWEST, .before_seq = INT64_MAX, .len = len, .skip = skip};
}
