/* api/views/document.c - see document.h. All functions are made from the same lists of members. */
#include "api/views/document.h"

#include "base/assert.h"
#include "base/buf.h"
#include "feed/filter/filter.h"
#include "model/likeness.h"

/* Numbers are written as they are in memory, because a key is only compared and hashed. */
static void key_number(struct buf *key, int64_t n)
{
    buf_append(key, (const char *)&n, sizeof n);
}

/* The length comes first, so that two texts next to each other cannot be split in another way. */
static void key_text(struct buf *key, struct str s)
{
    key_number(key, str_is_null(s) ? -1 : (int64_t)s.len);
    buf_str(key, s);
}

static void key_ids(struct buf *key, const int64_t *ids, size_t n)
{
    key_number(key, (int64_t)n);
    buf_append(key, (const char *)ids, n * sizeof *ids);
}

/* A filter is known by its text. */
static void key_filter(struct buf *key, const struct filter *f)
{
    key_text(key, f != NULL ? f->text : STR_NULL);
}

static void key_likeness(struct buf *key, const struct likeness *l)
{
    key_text(key, l != NULL ? str_from(l->name) : STR_NULL);
}

static const struct filter *copy_filter(struct arena *a, const struct filter *f)
{
    const struct filter *copy = f != NULL ? filter_read(a, f->text) : NULL;

    ASSERT((copy != NULL) == (f != NULL));
    return copy;
}

static struct str copy_text(struct arena *a, struct str s)
{
    return str_is_null(s) ? STR_NULL : str_dup(a, s);
}

#define IDS(ids, n) key_ids(key, s->ids, s->n);
#define NUMBER(type, name) key_number(key, (int64_t)s->name);
#define TEXT(name) key_text(key, s->name);
#define FILTER(name) key_filter(key, s->name);
#define LIKENESS(member) key_likeness(key, s->member);
#define VIEW(name) key_view(key, &s->name);
#define CURSOR(name) key_cursor(key, &s->name);

static void key_view(struct buf *key, const struct view *s)
{
#include "model/view_fields.def"
}

static void key_cursor(struct buf *key, const struct cursor_spec *s)
{
#include "api/views/cursor_fields.def"
}

static void key_spec(struct buf *key, const struct document_spec *s)
{
#include "api/views/document_fields.def"
}

struct str document_key(struct arena *a, struct str log_id, const struct document_spec *spec,
                        int64_t version)
{
    AUTO(buf_release) struct buf key = BUF_INIT(BUF_ANY);

    buf_puts(&key, "view\n" FEEDMILL_VERSION "\n");
    key_text(&key, log_id);
    key_number(&key, version);
    key_spec(&key, spec);
    return str_dup(a, buf_view(&key));
}

#undef IDS
#undef NUMBER
#undef TEXT
#undef FILTER
#undef LIKENESS
#undef VIEW
#undef CURSOR
#define IDS(ids, n)                                                                                \
    to->ids = (const int64_t *)(const void *)arena_copy(a, from->ids, from->n * sizeof *from->ids);
#define NUMBER(type, name)
#define TEXT(name) to->name = copy_text(a, from->name);
#define FILTER(name) to->name = copy_filter(a, from->name);
#define LIKENESS(name)
#define VIEW(name) document_copy_view(a, &from->name, &to->name);
#define CURSOR(name) copy_cursor(a, &from->name, &to->name);

void document_copy_view(struct arena *a, const struct view *from, struct view *to)
{
    *to = *from;
#include "model/view_fields.def"
}

static void copy_cursor(struct arena *a, const struct cursor_spec *from, struct cursor_spec *to)
{
    *to = *from;
#include "api/views/cursor_fields.def"
}

void document_copy(struct arena *a, const struct document_spec *from, struct document_spec *to)
{
    *to = *from;
    to->key = STR_NULL;
#include "api/views/document_fields.def"
}
