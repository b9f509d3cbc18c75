/* storage/rows.c - see rows.h. */
#include "storage/rows.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "storage/rows_hub.h"
#include "storage/rows_past.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_tokens.h"
#include "storage/rows_views.h"
#include "storage/rows_upstreams.h"
#include "storage/tables.h"

static void entry_written(void *row)
{
    struct held_entry *e = row;

    e->was_seq = e->row.seq;
    e->had_marks = e->row.has_marks;
    e->old_marks = e->row.marks;
    e->has_new_content = e->has_new_overlay = false;
}

static void feed_written(void *row)
{
    struct held_feed *f = row;

    f->saves_row = f->saves_identity = f->saves_head = f->saves_urls = f->saves_count = false;
    f->is_new = false;
}

static void past_written(void *row)
{
    struct held_past *p = row;

    p->drops_graves = false;
}

static void archive_written(void *row)
{
    struct held_archive *a = row;

    a->was_there = a->is_there;
}

static void place_written(void *row)
{
    struct held_place *p = row;

    p->was_alias = p->alias_of != 0;
}

/* `written` (may be NULL): the row was written, so it is now as it is in the database. */
static const struct {
    size_t size;
    void (*written)(void *row);
} kinds[ROW_KINDS] = {
    [ROW_ENTRY] = {sizeof(struct held_entry), entry_written},
    [ROW_ENTRY_ID] = {sizeof(struct held_entry_id), NULL},
    [ROW_FEED] = {sizeof(struct held_feed), feed_written},
    [ROW_PAST] = {sizeof(struct held_past), past_written},
    [ROW_ARCHIVE] = {sizeof(struct held_archive), archive_written},
    [ROW_GRAVE] = {sizeof(struct held_grave), NULL},
    [ROW_PLACE] = {sizeof(struct held_place), place_written},
    [ROW_NAMES] = {sizeof(struct held_names), NULL},
    [ROW_TIME] = {sizeof(struct held_time), NULL},
    [ROW_NOTE] = {sizeof(struct held_note), NULL},
    [ROW_SUB] = {sizeof(struct held_sub), NULL},
    [ROW_SUB_FEED] = {sizeof(struct held_sub_feed), NULL},
    [ROW_DEAD] = {sizeof(struct held_dead), NULL},
    [ROW_INTENT] = {sizeof(struct held_intent), NULL},
    [ROW_LEASE] = {sizeof(struct held_lease), NULL},
    [ROW_UPSTREAM] = {sizeof(struct held_upstream_row), NULL},
    [ROW_HUB_NAME] = {sizeof(struct held_hub_name), NULL},
    [ROW_WEBSUBS] = {sizeof(struct held_websubs), NULL},
    [ROW_MATCH] = {sizeof(struct held_match), NULL},
    [ROW_TOKEN] = {sizeof(struct held_token), NULL},
    [ROW_VIEW] = {sizeof(struct held_view), NULL},
    [ROW_HOST] = {sizeof(struct held_host), NULL},
};

void rows_forget(struct rows *r)
{
    for (size_t i = 0; i < ROW_KINDS; i++)
        shelf_clear(&r->shelves[i]);
    memset(r->ids, 0, sizeof r->ids);
    r->hub_due = NULL;
    r->n_revisions = r->n_heads = r->n_events = r->n_upstreams = 0;
    r->generation++;
}

void rows_reset(struct rows *r)
{
    rows_forget(r);
    arena_release(&r->arena);
}

void rows_release(struct rows *r)
{
    rows_reset(r);
    for (size_t i = 0; i < ROW_KINDS; i++)
        shelf_release(&r->shelves[i]);
    mem_free(r->revisions);
    mem_free(r->heads);
    mem_free(r->events);
    mem_free(r->upstreams);
    *r = (struct rows){.generation = 0};
}

/* ---- what was loaded ------------------------------------------------------------------------- */

/* The key of a row, in the arena: the bytes of the number, then the text. */
static struct str row_key(struct arena *a, int64_t id, struct str text)
{
    return str_concat(a, str_of((const char *)&id, sizeof id), text);
}

void *rows_find(struct rows *r, enum row_kind kind, int64_t id, struct str text)
{
    struct arena_mark m = arena_mark(&r->arena);
    void *row = shelf_find(&r->shelves[kind], row_key(&r->arena, id, text));

    arena_rewind(&r->arena, m);
    return row;
}

void *rows_add(struct rows *r, enum row_kind kind, int64_t id, struct str text)
{
    return shelf_add(&r->shelves[kind], &r->arena, row_key(&r->arena, id, text), kinds[kind].size);
}

void *rows_add_hidden(struct rows *r, enum row_kind kind)
{
    return shelf_add(&r->shelves[kind], &r->arena, STR_NULL, kinds[kind].size);
}

struct held_entry *rows_entry(struct rows *r, int64_t feed_id, struct str uid)
{
    return rows_find(r, ROW_ENTRY, feed_id, uid);
}

struct held_feed *rows_feed(struct rows *r, int64_t id)
{
    return rows_find(r, ROW_FEED, id, STR_NULL);
}

struct held_entry *rows_entry_by_id(struct rows *r, int64_t id)
{
    return ((struct held_entry_id *)rows_find(r, ROW_ENTRY_ID, id, STR_NULL))->entry;
}

struct held_entry *rows_add_entry(struct rows *r, int64_t feed_id, struct str uid)
{
    struct held_entry *e = rows_add(r, ROW_ENTRY, feed_id, uid);

    e->row = (struct entry_row){.feed_id = feed_id,
                                .uid = str_dup(&r->arena, uid),
                                .updated_us = TIME_UNKNOWN,
                                .dead_at = TIME_UNKNOWN,
                                .gone_at = TIME_UNKNOWN};
    e->shown_at = TIME_UNKNOWN;
    return e;
}

void rows_add_entry_id(struct rows *r, int64_t id, struct held_entry *entry)
{
    ((struct held_entry_id *)rows_add(r, ROW_ENTRY_ID, id, STR_NULL))->entry = entry;
}

struct held_feed *rows_add_feed(struct rows *r, int64_t id)
{
    struct held_feed *f = rows_add(r, ROW_FEED, id, STR_NULL);

    f->row.feed.id = id;
    return f;
}

/* ---- changes --------------------------------------------------------------------------------- */

void rows_touch(struct rows *r, enum row_kind kind, void *row)
{
    shelf_touch(&r->shelves[kind], r->version, row);
}

void rows_change(struct rows *r, enum row_kind kind, void *row, unsigned changes)
{
    struct held *held = row;

    rows_touch(r, kind, row);
    held->changes |= changes;
}

void rows_create(struct rows *r, enum row_kind kind, void *row)
{
    struct held *held = row;

    rows_touch(r, kind, row);
    held->exists = true;
}

void rows_drop(struct rows *r, enum row_kind kind, void *row)
{
    struct held *held = row;

    rows_touch(r, kind, row);
    held->exists = false;
}

int64_t rows_draw(struct rows *r, enum new_row kind)
{
    struct row_ids *ids = &r->ids[kind];

    if (ids->used < ids->n)
        return ids->drawn[ids->used++];
    ASSERT(ids->next != 0);
    return ids->next++;
}

int64_t rows_draw_free(struct rows *r, enum new_row kind)
{
    struct row_ids *ids = &r->ids[kind];

    return ids->next == 0 ? 0 : ids->next++;
}

/* A member of a new row, by its kind in the lists of storage/tables.h: a number is 0 and a text is
 * null. */
#define FRESH(kind, column, member) FRESH_##kind(row->member)
#define FRESH_TIME(member) (member) = TIME_UNKNOWN;
#define FRESH_INT(member)
#define FRESH_TEXT(member)
#define FRESH_EMPTY(member)
#define FRESH_OCTETS(member)
#define FRESH_HASH(member)
#define FRESH_SEQ(member)
#define FRESH_VERSION(member)

struct held_feed *rows_new_feed(struct rows *r)
{
    int64_t id = rows_draw(r, NEW_FEED);
    struct held_feed *f = rows_feed(r, id);
    struct feed_row *row;

    if (f == NULL) {
        f = rows_add_feed(r, id);
        f->is_missing = true; /* an undo goes back to this */
    }
    rows_touch(r, ROW_FEED, f);
    f->is_missing = false;
    f->is_new = f->has_head = true;
    row = &f->row;
    *row = (struct feed_row){.feed = {.id = id, .level = 1, .upstream.is_current = true}};
    FEED_FIXED(FRESH)
    FEED_SAVED(FRESH)
    FEED_UPSTREAM(FRESH)
    return f;
}

/* The feed, which is now as in *row. */
static struct held_feed *change_feed(struct rows *r, const struct feed_row *row)
{
    struct held_feed *f = rows_feed(r, row->feed.id);

    ASSERT(f != NULL && !f->is_missing);
    rows_touch(r, ROW_FEED, f);
    f->row = *row;
    return f;
}

/* The time of a row of the log, in seconds. While that is not known, it is the time of this
 * machine.
 */
static int64_t event_s(int64_t at_us)
{
    return at_us < NUMBERS_HERE ? at_us / 1000000 : clock_now_s();
}

void rows_append(struct rows *r, struct held_entry *e, const struct revision *revision)
{
    ASSERT(e->held.is_touched);
    e->has_new_overlay = false;
    e->shown_at = revision->updated_at != TIME_UNKNOWN     ? revision->updated_at
                  : revision->published_at != TIME_UNKNOWN ? revision->published_at
                                                           : event_s(revision->at_us);
    r->revisions =
        mem_grow(r->revisions, &r->cap_revisions, r->n_revisions + 1, sizeof *r->revisions);
    r->revisions[r->n_revisions++] = (struct held_revision){*revision, e};
}

void rows_save_feed(struct rows *r, const struct feed_row *row)
{
    change_feed(r, row)->saves_row = true;
}

void rows_save_identity(struct rows *r, const struct feed_row *row)
{
    change_feed(r, row)->saves_identity = true;
}

void rows_save_head(struct rows *r, const struct feed_row *row)
{
    struct held_feed *f = change_feed(r, row);

    f->has_head = f->saves_head = true;
}

void rows_save_urls(struct rows *r, const struct feed_row *row)
{
    change_feed(r, row)->saves_urls = true;
}

void rows_count_subs(struct rows *r, int64_t feed_id, int more)
{
    struct held_feed *f = rows_feed(r, feed_id);

    ASSERT(f != NULL && !f->is_missing);
    rows_touch(r, ROW_FEED, f);
    f->row.feed.n_subscriptions += more;
    f->saves_count = true;
}

void rows_add_head(struct rows *r, int64_t since_seq, const struct feed *feed)
{
    struct feed *copy = ARENA_NEW(&r->arena, struct feed);

    *copy = *feed;
    r->heads = mem_grow(r->heads, &r->cap_heads, r->n_heads + 1, sizeof *r->heads);
    r->heads[r->n_heads++] = (struct held_head){since_seq, copy};
}

void rows_add_event(struct rows *r, const struct feed_event *event)
{
    r->events = mem_grow(r->events, &r->cap_events, r->n_events + 1, sizeof *r->events);
    r->events[r->n_events++] = *event;
}

void rows_list_upstream(struct rows *r, const struct held_upstream *u)
{
    r->upstreams =
        mem_grow(r->upstreams, &r->cap_upstreams, r->n_upstreams + 1, sizeof *r->upstreams);
    r->upstreams[r->n_upstreams++] = *u;
}

void rows_rest_host(struct rows *r, struct str host, int64_t cool_until_ms, int64_t gentle_until_ms)
{
    struct held_host *h = rows_find(r, ROW_HOST, 0, host);

    if (h == NULL)
        h = rows_add(r, ROW_HOST, 0, host);
    rows_touch(r, ROW_HOST, h);
    h->name = host;
    if (h->cool_until_ms < cool_until_ms)
        h->cool_until_ms = cool_until_ms;
    if (h->gentle_until_ms < gentle_until_ms)
        h->gentle_until_ms = gentle_until_ms;
}

bool rows_is_dirty(const struct rows *r)
{
    size_t n = r->n_revisions + r->n_heads + r->n_events + r->n_upstreams;

    for (size_t i = 0; i < ROW_KINDS; i++)
        n += r->shelves[i].n_touched;
    return n > 0;
}

void rows_written(struct rows *r)
{
    for (size_t i = 0; i < ROW_KINDS; i++) {
        struct shelf *s = &r->shelves[i];

        for (size_t k = 0; k < s->n_touched && kinds[i].written != NULL; k++)
            kinds[i].written(s->touched[k]);
        shelf_written(s);
    }
    r->n_revisions = r->n_heads = r->n_events = r->n_upstreams = 0;
}

/* ---- undo ------------------------------------------------------------------------------------ */

struct rows_mark rows_mark(struct rows *r)
{
    struct rows_mark mark = {.n_revisions = r->n_revisions,
                             .n_heads = r->n_heads,
                             .n_events = r->n_events,
                             .n_upstreams = r->n_upstreams};

    mark.n_intents = r->n_intents;
    mark.n_tokens = r->n_tokens;
    memcpy(mark.ids, r->ids, sizeof mark.ids);
    r->version++;
    for (size_t i = 0; i < ROW_KINDS; i++) {
        shelf_mark(&r->shelves[i]);
        mark.n_touched[i] = r->shelves[i].n_touched;
    }
    return mark;
}

void rows_undo(struct rows *r, struct rows_mark mark)
{
    for (size_t i = 0; i < ROW_KINDS; i++)
        shelf_undo(&r->shelves[i], mark.n_touched[i]);
    r->n_intents = mark.n_intents;
    r->n_tokens = mark.n_tokens;
    memcpy(r->ids, mark.ids, sizeof r->ids);
    r->n_revisions = mark.n_revisions;
    r->n_heads = mark.n_heads;
    r->n_events = mark.n_events;
    r->n_upstreams = mark.n_upstreams;
}
