/* storage/pg/collect.c - see collect.h. */
#include "storage/pg/collect.h"

#include "base/mem.h"
#include "storage/hub_feeds.h"
#include "storage/rows_past.h"
#include "storage/rows_hub.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_tokens.h"
#include "storage/rows_views.h"
#include "storage/rows_upstreams.h"

static void add(struct collected *c, enum pg_save kind, const void *row)
{
    c->rows[kind] = mem_grow(c->rows[kind], &c->cap[kind], c->n[kind] + 1, sizeof(void *));
    c->rows[kind][c->n[kind]++] = row;
}

void collected_release(struct collected *c)
{
    for (size_t i = 0; i < SAVE_KINDS; i++) {
        mem_free(c->rows[i]);
        map_forget(&c->lines[i]);
    }
}

/* The line with these two numbers, of zeros if it is new. */
static void *line_of(struct collected *c, struct arena *a, enum pg_save kind, int64_t x, int64_t y,
                     size_t size, bool *is_new)
{
    const int64_t numbers[] = {x, y};
    struct str key = str_of((const char *)numbers, sizeof numbers);
    void *line = map_get(&c->lines[kind], key);

    *is_new = line == NULL;
    if (line == NULL) {
        line = arena_zalloc(a, size);
        map_put(&c->lines[kind], key, line);
        add(c, kind, line);
    }
    return line;
}

static bool has_key(const int64_t *keys, size_t n, int64_t key)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i] == key)
            return true;
    return false;
}

static void add_keys(struct collected *c, struct arena *a, enum pg_save kind,
                     const struct entry_row *e, const int64_t *keys, size_t n,
                     const int64_t *except, size_t n_except)
{
    for (size_t i = 0; i < n; i++) {
        struct line_key *line;

        if (has_key(except, n_except, keys[i]))
            continue;
        line = ARENA_NEW(a, struct line_key);
        *line = (struct line_key){e->feed_id, keys[i], e->id};
        add(c, kind, line);
    }
}

/* The keys under which the entry is found have changed with its marks. */
static void collect_keys(struct collected *c, struct arena *a, const struct held_entry *e)
{
    int64_t old[MARKS_KEYS], new[MARKS_KEYS];
    size_t n_old = e->had_marks ? marks_keys(&e->old_marks, old) : 0;
    size_t n_new = marks_keys(&e->row.marks, new);

    if (!e->row.has_marks || (e->had_marks && marks_same(&e->row.marks, &e->old_marks)))
        return;
    add_keys(c, a, SAVE_KEYS_GONE, &e->row, old, n_old, new, n_new);
    add_keys(c, a, SAVE_KEYS, &e->row, new, n_new, old, n_old);
}

static void collect_overlay(struct collected *c, struct arena *a, const struct held_entry *e)
{
    struct line_overlay *line;

    if (e->was_seq != 0 && e->was_seq != e->row.seq) {
        line = ARENA_NEW(a, struct line_overlay);
        line->seq = e->was_seq;
        add(c, SAVE_OVERLAYS_GONE, line);
    }
    if (e->has_new_overlay) {
        line = ARENA_NEW(a, struct line_overlay);
        *line = (struct line_overlay){e->row.seq, e->overlay_doc, e->overlay_ext};
        add(c, SAVE_OVERLAYS, line);
    }
}

static void collect_entry(struct pg_ids *ids, struct collected *c, struct arena *a,
                          struct held_entry *e)
{
    if (e->row.id == 0) {
        e->row.id = pg_ids_entry(ids);
        add(c, SAVE_NEW_ENTRIES, &e->row);
    } else {
        add(c, SAVE_ENTRIES, &e->row);
    }
    collect_keys(c, a, e);
    collect_overlay(c, a, e);
    if (e->has_new_content) {
        struct line_content *line = ARENA_NEW(a, struct line_content);

        *line = (struct line_content){e->content, e->row.id};
        add(c, e->has_content ? SAVE_CONTENTS : SAVE_CONTENTS_GONE, line);
    }
}

static void collect_revision(struct pg_ids *ids, struct collected *c, struct arena *a,
                             const struct held_revision *r)
{
    struct line_revision *line = ARENA_NEW(a, struct line_revision);

    *line = (struct line_revision){r->row, r->entry->row.id, pg_ids_body(ids)};
    add(c, SAVE_BODIES, line);
    add(c, SAVE_REVISIONS, line);
}

static void collect_feed(struct collected *c, const struct held_feed *f)
{
    if (f->is_new) {
        add(c, SAVE_NEW_FEEDS, &f->row);
        return;
    }
    if (f->saves_row)
        add(c, SAVE_FEEDS, &f->row);
    if (f->saves_identity)
        add(c, SAVE_IDENTITIES, &f->row);
    if (f->saves_head)
        add(c, SAVE_HEADS, &f->row);
    if (f->saves_urls)
        add(c, SAVE_URLS, &f->row);
    if (f->saves_count)
        add(c, SAVE_COUNTS, &f->row);
}

/* PostgreSQL sees for each row whether another feed has its URL. So feeds that swap their URLs must
 * leave them first. */
static void collect_moves(struct collected *c)
{
    for (size_t i = 0; c->n[SAVE_URLS] > 1 && i < c->n[SAVE_URLS]; i++)
        add(c, SAVE_URLS_LEFT, c->rows[SAVE_URLS][i]);
}

/* Of two heads from the same row of the log on, the later one counts. */
static void collect_heads(struct collected *c, struct arena *a, const struct rows *r)
{
    bool is_new;

    for (size_t i = 0; i < r->n_heads; i++) {
        const struct held_head *h = &r->heads[i];
        struct line_head *line =
            line_of(c, a, SAVE_HEAD_LOG, h->feed->id, h->since_seq, sizeof *line, &is_new);

        *line = (struct line_head){*h->feed, h->since_seq};
    }
}

static void collect_archives(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_archive *a = (const struct held_archive *)s->touched[i];

        if (a->was_there)
            add(c, SAVE_ARCHIVES_GONE, &a->row);
        if (a->is_there)
            add(c, SAVE_ARCHIVES, &a->row);
    }
}

static void collect_graves(struct collected *c, const struct shelf *pasts,
                           const struct shelf *graves)
{
    for (size_t i = 0; i < pasts->n_touched; i++)
        if (((const struct held_past *)pasts->touched[i])->drops_graves)
            add(c, SAVE_GRAVES_OF_FEED_GONE, pasts->touched[i]);
    for (size_t i = 0; i < graves->n_touched; i++) {
        if (((const struct held_grave *)graves->touched[i])->when_us == TIME_UNKNOWN)
            continue; /* the whole feed has none any more */
        add(c, SAVE_GRAVES_GONE, graves->touched[i]);
        add(c, SAVE_GRAVES, graves->touched[i]);
    }
}

static void collect_aliases(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_place *p = (const struct held_place *)s->touched[i];

        if (p->was_alias)
            add(c, SAVE_ALIASES_GONE, p);
        if (p->alias_of != 0)
            add(c, SAVE_ALIASES, p);
    }
}

/* What has happened to the hubs of feeds, one after the other, as statements of SQLite do it. */
static void collect_news(struct collected *c, struct arena *a, struct rows *r)
{
    for (size_t i = 0; i < r->n_upstreams; i++) {
        const struct held_upstream *u = &r->upstreams[i];
        bool is_new;
        struct line_upstream *line =
            line_of(c, a, SAVE_UPSTREAM_NEWS, u->feed_id, 0, sizeof *line, &is_new);

        if (is_new)
            *line = (struct line_upstream){u->feed_id, u->before.delivered_at, u->before.trust};
        if (u->delivered_at != 0)
            line->trust = TRUST_FULL;
        if (u->delivered_at != 0 || u->announced_at != 0)
            line->delivered_at = u->delivered_at != 0 ? u->delivered_at : u->announced_at;
        else if (line->trust == u->trust_was)
            line->trust = u->trust;
    }
}

/* No column of texts but two may be NULL. */
static struct upstream *line_of_upstream(struct arena *a, const struct upstream *row)
{
    struct upstream *line = ARENA_NEW(a, struct upstream);
    struct str *const texts[] = {&line->base_url, &line->secret, &line->hub, &line->topic};

    *line = *row;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (str_is_null(*texts[i]))
            *texts[i] = STR("");
    return line;
}

static void collect_upstream(struct collected *c, struct arena *a,
                             const struct held_upstream_row *u)
{
    struct upstream *line = line_of_upstream(a, &u->row), *others;

    if (u->held.changes & UPSTREAM_TAKES_CURRENT) {
        others = ARENA_NEW(a, struct upstream);
        *others = (struct upstream){.feed_id = u->row.feed_id, .is_current = false};
        add(c, SAVE_UPSTREAMS_NOT_CURRENT, others);
    }
    if (u->held.exists)
        add(c, SAVE_UPSTREAMS, line);
    else if (u->held.is_stored)
        add(c, SAVE_UPSTREAMS_GONE, line);
    if (u->held.exists && u->held.changes & UPSTREAM_WRITES_TRUST)
        add(c, SAVE_UPSTREAMS_TRUST, line);
}

static void collect_dead(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_dead *d = (const struct held_dead *)s->touched[i];

        if (!d->held.exists && d->held.is_stored)
            add(c, SAVE_DEAD_GONE, &d->row);
        else if (d->held.exists && !d->held.is_stored)
            add(c, SAVE_DEAD, &d->row);
        else if (d->held.exists)
            add(c, d->held.changes & DEAD_WRITES_REFUSAL ? SAVE_DEAD_REFUSED : SAVE_DEAD_WANTED,
                &d->row);
    }
}

/* Of lines with the same place, the later one counts. */
static void collect_notes(struct collected *c, struct arena *a, const struct shelf *s)
{
    bool is_new;

    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_note *note = (const struct held_note *)s->touched[i];
        struct line_note *line =
            line_of(c, a, SAVE_NOTES, note->sub_id, note->slot, sizeof *line, &is_new);

        *line = (struct line_note){*note->note, note->sub_id, note->slot};
    }
}

static void collect_sub(struct collected *c, const struct held_sub *sub)
{
    if (!sub->held.exists && sub->held.is_stored) {
        add(c, SAVE_NOTES_OF_SUB_GONE, &sub->row);
        add(c, SAVE_SUBS_GONE, &sub->row);
    } else if (sub->held.exists && !sub->held.is_stored) {
        add(c, SAVE_NEW_SUBS, sub);
    } else if (sub->held.exists && sub->held.changes & SUB_WRITES_TERMS) {
        add(c, SAVE_WHOLE_SUBS, sub);
    } else if (sub->held.exists) {
        add(c, SAVE_SUBS, &sub->row);
    }
}

static void collect_subs(struct collected *c, const struct rows *r)
{
    const struct shelf *subs = &r->shelves[ROW_SUB], *feeds = &r->shelves[ROW_SUB_FEED];

    for (size_t i = 0; i < subs->n_touched; i++)
        collect_sub(c, (const struct held_sub *)subs->touched[i]);
    for (size_t i = 0; i < feeds->n_touched; i++)
        if (feeds->touched[i]->exists)
            add(c, feeds->touched[i]->is_stored ? SAVE_SUB_FEEDS : SAVE_NEW_SUB_FEEDS,
                feeds->touched[i]);
        else if (feeds->touched[i]->is_stored)
            add(c, SAVE_SUB_FEEDS_GONE, feeds->touched[i]);
}

static void collect_intent(struct collected *c, struct arena *a, const struct held_intent *in)
{
    AUTO(buf_release) struct buf feeds = BUF_INIT(BUF_ANY);
    struct line_intent *line;

    if (!in->held.exists && !in->held.is_stored)
        return;
    line = ARENA_NEW(a, struct line_intent);
    line->row = in->row;
    if (!in->held.exists) {
        add(c, SAVE_INTENTS_GONE, line);
        return;
    }
    hub_feeds_write(&feeds, &in->row);
    line->feeds = str_dup(a, buf_view(&feeds));
    if (str_is_null(line->row.topic)) /* of a registration at the cloud */
        line->row.topic = STR("");
    add(c, in->row.id == 0 ? SAVE_UNNAMED_INTENTS : SAVE_INTENTS, line);
}

/* The lease of a subscription that has ended went with it. */
static void collect_hub(struct collected *c, struct arena *a, const struct rows *r)
{
    const struct shelf *intents = &r->shelves[ROW_INTENT], *leases = &r->shelves[ROW_LEASE];

    for (size_t i = 0; i < intents->n_touched; i++)
        collect_intent(c, a, (const struct held_intent *)intents->touched[i]);
    for (size_t i = 0; i < leases->n_touched; i++)
        if (leases->touched[i]->exists)
            add(c, SAVE_LEASES, leases->touched[i]);
}

static void collect_tokens(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_token *token = (const struct held_token *)s->touched[i];

        if (token->held.exists)
            add(c, SAVE_TOKENS, &token->row);
        else if (token->held.is_stored)
            add(c, SAVE_TOKENS_GONE, &token->row);
    }
}

static void collect_views(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_view *v = (const struct held_view *)s->touched[i];

        if (v->held.exists)
            add(c, SAVE_VIEWS, &v->row);
        else if (v->held.is_stored)
            add(c, SAVE_VIEWS_GONE, &v->row);
    }
}

void collect_rows(struct pg_ids *ids, struct collected *c, struct arena *a, struct rows *r)
{
    const struct shelf *entries = &r->shelves[ROW_ENTRY], *feeds = &r->shelves[ROW_FEED];
    const struct shelf *upstreams = &r->shelves[ROW_UPSTREAM];

    for (size_t i = 0; i < entries->n_touched; i++)
        collect_entry(ids, c, a, (struct held_entry *)entries->touched[i]);
    for (size_t i = 0; i < r->n_revisions; i++)
        collect_revision(ids, c, a, &r->revisions[i]);
    for (size_t i = 0; i < feeds->n_touched; i++)
        collect_feed(c, (const struct held_feed *)feeds->touched[i]);
    collect_moves(c);
    collect_heads(c, a, r);
    for (size_t i = 0; i < r->n_events; i++)
        add(c, SAVE_EVENTS, &r->events[i]);
    collect_news(c, a, r);
    for (size_t i = 0; i < upstreams->n_touched; i++)
        collect_upstream(c, a, (const struct held_upstream_row *)upstreams->touched[i]);
    collect_aliases(c, &r->shelves[ROW_PLACE]);
    collect_archives(c, &r->shelves[ROW_ARCHIVE]);
    collect_graves(c, &r->shelves[ROW_PAST], &r->shelves[ROW_GRAVE]);
    collect_subs(c, r);
    collect_dead(c, &r->shelves[ROW_DEAD]);
    collect_notes(c, a, &r->shelves[ROW_NOTE]);
    collect_hub(c, a, r);
    collect_tokens(c, &r->shelves[ROW_TOKEN]);
    collect_views(c, &r->shelves[ROW_VIEW]);
}
