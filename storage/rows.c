/* storage/rows.c - see rows.h. A row is found by its key in a map. Before the first change after a
 * mark it is copied, so that an undo can put the copy back. */
#include "storage/rows.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

struct entry_copy {
    struct held_entry *at, row;
};

struct feed_copy {
    struct held_feed *at, row;
};

void rows_forget(struct rows *r)
{
    map_forget(&r->entries);
    map_forget(&r->feeds);
    r->n_touched = r->n_saved = r->n_revisions = r->n_heads = r->n_events = r->n_upstreams = 0;
    r->n_entry_copies = r->n_feed_copies = 0;
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
    mem_free(r->touched);
    mem_free(r->saved);
    mem_free(r->revisions);
    mem_free(r->heads);
    mem_free(r->events);
    mem_free(r->upstreams);
    mem_free(r->entry_copies);
    mem_free(r->feed_copies);
    *r = (struct rows){.generation = 0};
}

/* ---- what was loaded ------------------------------------------------------------------------- */

static struct str feed_key(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

/* The key of an entry, in the arena: the bytes of the feed's id, then the uid. */
static struct str entry_key(struct arena *a, int64_t feed_id, struct str uid)
{
    return str_concat(a, feed_key(&feed_id), uid);
}

struct held_entry *rows_entry(struct rows *r, int64_t feed_id, struct str uid)
{
    struct arena_mark m = arena_mark(&r->arena);
    struct held_entry *e = map_get(&r->entries, entry_key(&r->arena, feed_id, uid));

    arena_rewind(&r->arena, m);
    return e;
}

struct held_feed *rows_feed(struct rows *r, int64_t id)
{
    return map_get(&r->feeds, feed_key(&id));
}

struct held_entry *rows_add_entry(struct rows *r, int64_t feed_id, struct str uid)
{
    struct held_entry *e = ARENA_NEW(&r->arena, struct held_entry);
    struct str key = entry_key(&r->arena, feed_id, uid);
    void *old = map_put(&r->entries, key, e);

    ASSERT(old == NULL);
    e->row = (struct entry_row){.feed_id = feed_id,
                                .uid = str_slice(key, sizeof feed_id, key.len),
                                .updated_us = TIME_UNKNOWN,
                                .dead_at = TIME_UNKNOWN};
    e->shown_at = TIME_UNKNOWN;
    return e;
}

struct held_feed *rows_add_feed(struct rows *r, int64_t id)
{
    struct held_feed *f = ARENA_NEW(&r->arena, struct held_feed);
    void *old = map_put(&r->feeds, feed_key(&id), f);

    ASSERT(old == NULL);
    f->row.feed.id = id;
    return f;
}

/* ---- changes --------------------------------------------------------------------------------- */

void rows_touch_entry(struct rows *r, struct held_entry *e)
{
    if (e->version != r->version) {
        r->entry_copies = mem_grow(r->entry_copies, &r->cap_entry_copies, r->n_entry_copies + 1,
                                   sizeof *r->entry_copies);
        r->entry_copies[r->n_entry_copies++] = (struct entry_copy){e, *e};
        e->version = r->version;
    }
    if (e->is_touched)
        return;
    e->is_touched = true;
    r->touched = mem_grow(r->touched, &r->cap_touched, r->n_touched + 1, sizeof(void *));
    r->touched[r->n_touched++] = e;
}

/* The feed, which is now as in *row. */
static struct held_feed *change_feed(struct rows *r, const struct feed_row *row)
{
    struct held_feed *f = rows_feed(r, row->feed.id);

    ASSERT(f != NULL && !f->is_missing);
    if (f->version != r->version) {
        r->feed_copies = mem_grow(r->feed_copies, &r->cap_feed_copies, r->n_feed_copies + 1,
                                  sizeof *r->feed_copies);
        r->feed_copies[r->n_feed_copies++] = (struct feed_copy){f, *f};
        f->version = r->version;
    }
    if (!f->is_touched) {
        f->is_touched = true;
        r->saved = mem_grow(r->saved, &r->cap_saved, r->n_saved + 1, sizeof(void *));
        r->saved[r->n_saved++] = f;
    }
    f->row = *row;
    return f;
}

void rows_append(struct rows *r, struct held_entry *e, const struct revision *revision)
{
    ASSERT(e->is_touched);
    e->has_new_overlay = false;
    e->shown_at = revision->updated_at != TIME_UNKNOWN     ? revision->updated_at
                  : revision->published_at != TIME_UNKNOWN ? revision->published_at
                                                           : revision->at_us / 1000000;
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

void rows_add_upstream(struct rows *r, const struct held_upstream *u)
{
    r->upstreams =
        mem_grow(r->upstreams, &r->cap_upstreams, r->n_upstreams + 1, sizeof *r->upstreams);
    r->upstreams[r->n_upstreams++] = *u;
}

void rows_past_changed(struct rows *r, int64_t feed_id)
{
    struct held_feed *f = rows_feed(r, feed_id);

    if (f != NULL)
        f->is_past_known = false;
}

bool rows_is_dirty(const struct rows *r)
{
    return r->n_touched + r->n_saved + r->n_revisions + r->n_heads + r->n_events + r->n_upstreams >
           0;
}

void rows_written(struct rows *r)
{
    for (size_t i = 0; i < r->n_touched; i++) {
        struct held_entry *e = r->touched[i];

        e->was_seq = e->row.seq;
        e->had_marks = e->row.has_marks;
        e->old_marks = e->row.marks;
        e->has_new_content = e->has_new_overlay = e->is_touched = false;
    }
    for (size_t i = 0; i < r->n_saved; i++) {
        struct held_feed *f = r->saved[i];

        f->saves_row = f->saves_identity = f->saves_head = f->is_touched = false;
    }
    r->n_touched = r->n_saved = r->n_revisions = r->n_heads = r->n_events = r->n_upstreams = 0;
    r->n_entry_copies = r->n_feed_copies = 0;
}

/* ---- undo ------------------------------------------------------------------------------------ */

struct rows_mark rows_mark(struct rows *r)
{
    r->version++;
    r->n_entry_copies = r->n_feed_copies = 0;
    return (struct rows_mark){r->n_touched, r->n_saved,  r->n_revisions,
                              r->n_heads,   r->n_events, r->n_upstreams};
}

void rows_undo(struct rows *r, struct rows_mark mark)
{
    for (size_t i = 0; i < r->n_entry_copies; i++)
        *r->entry_copies[i].at = r->entry_copies[i].row;
    for (size_t i = 0; i < r->n_feed_copies; i++)
        *r->feed_copies[i].at = r->feed_copies[i].row;
    r->n_entry_copies = r->n_feed_copies = 0;
    r->n_touched = mark.n_touched;
    r->n_saved = mark.n_saved;
    r->n_revisions = mark.n_revisions;
    r->n_heads = mark.n_heads;
    r->n_events = mark.n_events;
    r->n_upstreams = mark.n_upstreams;
}
