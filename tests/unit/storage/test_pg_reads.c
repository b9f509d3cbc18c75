/* tests/unit/storage/test_pg_reads.c - both engines give the same answers.
 *
 * A store is filled by random operations and copied into PostgreSQL. Then every reading call is
 * made on both, with the same random arguments, and the answers are compared as texts.
 * FEEDMILL_ROUNDS: how many stores; 2 by default. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include "random_ops.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "storage/engine.h"
#include "storage/migrate.h"
#include "storage/pg/reader.h"
#include "storage/tables.h"

#define OPERATIONS 400
#define ASKS 60 /* of each call */

/* ---- answers as text ------------------------------------------------------------------------- */

static void show_number(struct buf *b, const char *name, int64_t n)
{
    buf_printf(b, " %s=%" PRId64, name, n);
}

static void show_text(struct buf *b, const char *name, struct str s)
{
    if (str_is_null(s))
        buf_printf(b, " %s=null", name);
    else
        buf_printf(b, " %s='%.*s'", name, STR_ARG(s));
}

static void show_digest(struct buf *b, const char *name, const unsigned char *p)
{
    char hex[33];

    digest_hex(p, 16, hex);
    buf_printf(b, " %s=%s", name, hex);
}

#define SHOW(kind, column, member) SHOW_##kind(#column, row->member);
#define SHOW_INT(name, member) show_number(b, name, (int64_t)(member))
#define SHOW_TIME SHOW_INT
#define SHOW_SEQ SHOW_INT
#define SHOW_EVENT_TIME SHOW_INT
#define SHOW_VERSION SHOW_INT
#define SHOW_TEXT(name, member) show_text(b, name, member)
#define SHOW_EMPTY SHOW_TEXT
#define SHOW_OCTETS SHOW_TEXT
#define SHOW_DIGEST(name, member) show_digest(b, name, member)
#define SHOW_HASH SHOW_DIGEST

static void show_revisions(struct buf *b, const struct revision *rows, size_t n)
{
    for (const struct revision *row = rows; row < rows + n; row++) {
        REVISION(SHOW)
        show_number(b, "first_seq", row->first_seq);
        show_number(b, "last_seq", row->last_seq);
        show_number(b, "gone", row->gone);
        show_text(b, "uid", row->uid);
        show_text(b, "id_url", row->id_url);
        buf_putc(b, '\n');
    }
}

static void show_feeds(struct buf *b, const struct feed *feeds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct feed_row whole = {.feed = feeds[i]}, *row = &whole;

        FEED_FIXED(SHOW)
        FEED_SAVED(SHOW)
        FEED_UPSTREAM(SHOW)
        show_number(b, "has_body_hash", feeds[i].has_body_hash);
        show_number(b, "n_subscriptions", feeds[i].n_subscriptions);
        show_number(b, "is_current", feeds[i].upstream.is_current);
        show_text(b, "head", feeds[i].head);
        show_text(b, "ext", feeds[i].ext);
        buf_putc(b, '\n');
    }
}

static void show_sub(struct buf *b, const struct subscription *row)
{
    SUB_FIXED(SHOW)
    SUB_SAVED(SHOW)
    show_text(b, "last_error", row->last_error);
    for (size_t i = 0; i < row->n_feeds; i++) {
        show_number(b, "feed", row->feeds[i].feed_id);
        show_text(b, "url", row->feeds[i].url);
        show_text(b, "name", row->feeds[i].name);
        show_text(b, "folder", row->feeds[i].folder);
        show_text(b, "category", row->feeds[i].category);
    }
    buf_putc(b, '\n');
}

static void show_event(struct buf *b, const struct feed_event *e)
{
    buf_printf(b, " event=%" PRId64 "/%" PRId64 "/%" PRId64 "/%d", e->seq, e->at_us, e->feed_id,
               (int)e->kind);
    show_text(b, "detail", e->detail);
}

static void show_numbers(struct buf *b, const int64_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(b, " %" PRId64, list[i]);
}

static void show_entry(struct buf *b, const struct entry_row *row)
{
    unsigned char packed[MARKS_BYTES] = {0};
    char hex[2 * MARKS_BYTES + 1];

    if (row->has_marks)
        marks_pack(&row->marks, packed);
    digest_hex(packed, sizeof packed, hex);
    ENTRY_KEY(SHOW)
    ENTRY_FIXED(SHOW)
    ENTRY_SAVED(SHOW)
    buf_printf(b, " id=%" PRId64 " marks=%d/%s\n", row->id, row->has_marks, hex);
}

/* ---- random arguments ------------------------------------------------------------------------ */

#define SEQ_MAX 300

static size_t random_ids(uint32_t *seed, struct arena *a, unsigned most, unsigned below,
                         int64_t **out)
{
    size_t n = draw(seed, most + 1);

    *out = ARENA_ARRAY(a, int64_t, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = 1 + draw(seed, below);
    return n;
}

/* Feeds, each once, ascending: as views have them. */
static size_t random_feeds(uint32_t *seed, struct arena *a, int64_t **out)
{
    size_t n = random_ids(seed, a, 6, 9, out);

    return view_ids_sort(*out, n);
}

static struct subscription random_wishes(uint32_t *seed)
{
    return (struct subscription){.position = draw(seed, SEQ_MAX),
                                 .events = draw(seed, 32),
                                 .with_initial = draw(seed, 2) != 0};
}

static struct str *random_uids(uint32_t *seed, struct arena *a, size_t *n)
{
    struct str *out = ARENA_ARRAY(a, struct str, 9);

    *n = draw(seed, 9);
    for (size_t i = 0; i < *n; i++)
        out[i] = str_printf(a, "urn:%u", draw(seed, 14));
    return out;
}

/* ---- every call ------------------------------------------------------------------------------ */

/* Make the call with arguments that follow from the seed; write its answer. */
typedef enum rc ask_fn(struct db *db, uint32_t seed, struct arena *a, struct buf *b);
#define ASK(name)                                                                                  \
    static enum rc ask_##name(struct db *db, uint32_t seed UNUSED, struct arena *a UNUSED,         \
                              struct buf *b)

ASK(last_seq)
{
    int64_t seq;
    enum rc rc = db->reads->last_seq(db, &seq, NULL);

    show_number(b, "last", rc == RC_OK ? seq : -1);
    return rc;
}

ASK(revisions)
{
    struct revision *rows;
    int64_t *seqs;
    size_t n = random_ids(&seed, a, 20, SEQ_MAX, &seqs);
    enum rc rc = db->reads->revisions_by_seq(db, seqs, n, draw(&seed, 2), a, &rows, &n, NULL);

    if (rc == RC_OK)
        show_revisions(b, rows, n);
    return rc;
}

ASK(times)
{
    int64_t *seqs, *times;
    size_t n = random_ids(&seed, a, 20, SEQ_MAX, &seqs);
    enum rc rc;

    times = ARENA_ARRAY(a, int64_t, n + 1);
    rc = db->reads->revisions_times(db, seqs, n, times, NULL);
    show_numbers(b, times, rc == RC_OK ? n : 0);
    return rc;
}

ASK(seq_at)
{
    int64_t time = 0, last = draw(&seed, SEQ_MAX), some = draw(&seed, SEQ_MAX), seq;
    enum rc rc = db->reads->revisions_times(db, &some, 1, &time, NULL);

    if (rc == RC_OK) /* near the time of a revision, or long before all */
        rc = db->reads->revisions_at(db, time + (int64_t)draw(&seed, 3) - 1, last, &seq, NULL);
    show_number(b, "seq", rc == RC_OK ? seq : -1);
    return rc;
}

static struct view random_view(uint32_t *seed, struct arena *a)
{
    struct view v = {.after_seq = draw(seed, SEQ_MAX) * draw(seed, 2),
                     .before_seq = draw(seed, 2) ? INT64_MAX : draw(seed, SEQ_MAX),
                     .with_deleted = draw(seed, 2) != 0,
                     .all_feeds = draw(seed, 4) == 0};
    int64_t *ids;

    v.n_feeds = random_feeds(seed, a, &ids);
    v.feed_ids = ids;
    v.order = (enum view_order)(1 + draw(seed, VIEW_CREATED_DESC));
    return v;
}

ASK(view)
{
    struct view v = random_view(&seed, a);
    size_t max = draw(&seed, 60), n;
    int64_t *seqs = ARENA_ARRAY(a, int64_t, max + 1);
    enum rc rc = db->reads->view_keys(db, &v, max, a, seqs, &n, NULL);

    show_numbers(b, seqs, rc == RC_OK ? n : 0);
    return rc;
}

ASK(newest)
{
    static const enum view_order orders[] = {VIEW_NEWEST, VIEW_RECEIVED, VIEW_CHANGED};
    struct view v = random_view(&seed, a);
    size_t max = draw(&seed, 60), n;
    int64_t *seqs = ARENA_ARRAY(a, int64_t, max + 1), *iris = ARENA_ARRAY(a, int64_t, max + 1);
    enum rc rc;

    v.order = orders[draw(&seed, 3)];
    v.all_feeds = false;
    rc = db->reads->newest_keys(db, &v, max, a, seqs, iris, &n, NULL);
    show_numbers(b, seqs, rc == RC_OK ? n : 0);
    show_numbers(b, iris, rc == RC_OK ? n : 0);
    return rc;
}

ASK(uids)
{
    struct uid_match *found;
    size_t n_uids, n_ids, n;
    struct str *uids = random_uids(&seed, a, &n_uids);
    int64_t *ids;
    enum rc rc;

    n_ids = random_ids(&seed, a, 6, 9, &ids);
    rc = db->reads->entries_of_uids(db, ids, n_ids, uids, n_uids, a, &found, &n, NULL);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_printf(b, " of=%zu %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %d", found[i].of,
                   found[i].feed_id, found[i].first_seq, found[i].seq, found[i].sort_at,
                   found[i].deleted, found[i].has_iri);
        show_digest(b, "essence", found[i].essence);
    }
    return rc;
}

ASK(known)
{
    AUTO(mem_autofree) struct entry_row *rows = NULL;
    int64_t keys[2 * MARKS_KEYS];
    struct entry_marks marks;
    size_t n_uids, n_keys = 0, n;
    struct str *uids = random_uids(&seed, a, &n_uids);
    enum rc rc;

    for (int i = 0; i < 2; i++) {
        marks = (struct entry_marks){.guid = 1 + draw(&seed, 5), .link = draw(&seed, 4)};
        n_keys += marks_keys(&marks, keys + n_keys);
    }
    rc = db->reads->entries_known(db, draw(&seed, 8), uids, n_uids, keys, n_keys,
                                  1 + draw(&seed, 4), a, &rows, &n, NULL);
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        show_entry(b, &rows[i]);
    return rc;
}

ASK(since)
{
    int64_t *ids, n_found, n_deleted;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    enum rc rc =
        db->reads->entries_since(db, ids, n, draw(&seed, SEQ_MAX), &n_found, &n_deleted, NULL);

    if (rc == RC_OK)
        buf_printf(b, "%" PRId64 " %" PRId64, n_found, n_deleted);
    return rc;
}

ASK(deletions)
{
    int64_t *ids;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    bool was_deleted = false;
    enum rc rc = db->reads->deletions_since(db, ids, n, draw(&seed, SEQ_MAX), &was_deleted, NULL);

    show_number(b, "deleted", rc == RC_OK ? was_deleted : -1);
    return rc;
}

ASK(between)
{
    int64_t *ids, found, from = draw(&seed, SEQ_MAX);
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    enum rc rc =
        db->reads->entries_between(db, ids, n, draw(&seed, 2), from, from + draw(&seed, SEQ_MAX),
                                   draw(&seed, 60), &found, NULL);

    show_number(b, "n", rc == RC_OK ? found : -1);
    return rc;
}

ASK(oldest)
{
    int64_t at;
    enum rc rc = db->reads->entries_oldest(db, draw(&seed, 9), &at, NULL);

    show_number(b, "at", rc == RC_OK ? at : -1);
    return rc;
}

ASK(content)
{
    struct pending_content c;
    enum rc rc = db->reads->content_pending(db, draw(&seed, 9), draw(&seed, 3) * 2000, a, &c, NULL);

    if (rc != RC_OK)
        return rc;
    buf_printf(b, "%" PRId64 " %" PRId64 " %d", c.entry_id, c.seq, c.form);
    show_text(b, "doc", c.doc);
    show_text(b, "ext", c.ext);
    return rc;
}

static void on_id(void *ctx, int64_t id)
{
    show_numbers(ctx, &id, 1);
}

ASK(content_feeds)
{
    return db->reads->content_feeds(db, on_id, b, NULL);
}

ASK(feeds)
{
    struct feed *feeds;
    int64_t *ids;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    enum rc rc =
        db->reads->feeds_by_id(db, draw(&seed, 5) == 0 ? NULL : ids, n, a, &feeds, &n, NULL);

    if (rc == RC_OK)
        show_feeds(b, feeds, n);
    return rc;
}

ASK(heads)
{
    struct feed feeds[6];
    int64_t seqs[6];
    size_t n = draw(&seed, 6);
    enum rc rc;

    for (size_t i = 0; i < n; i++) {
        feeds[i] = (struct feed){.id = draw(&seed, 9)};
        seqs[i] = draw(&seed, SEQ_MAX);
    }
    rc = db->reads->head_log_at(db, feeds, seqs, n, a, NULL);
    if (rc == RC_OK)
        show_feeds(b, feeds, n);
    return rc;
}

ASK(count)
{
    int64_t *ids, found;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    enum rc rc = db->reads->feeds_count(db, ids, n, draw(&seed, 2), &found, NULL);

    show_number(b, "n", rc == RC_OK ? found : -1);
    return rc;
}

ASK(name)
{
    struct str url, title;
    enum rc rc = db->reads->feeds_name(db, draw(&seed, 9), a, &url, &title, NULL);

    if (rc != RC_OK)
        return rc;
    show_text(b, "url", url);
    show_text(b, "title", title);
    return rc;
}

static void on_due(void *ctx, int64_t feed_id, int64_t at, enum fetch_reason reason)
{
    buf_printf(ctx, " %" PRId64 "@%" PRId64 "/%d", feed_id, at, (int)reason);
}

ASK(due)
{
    return db->reads->feeds_each_due(db, draw(&seed, 2) * 100000, on_due, b, NULL);
}

static void show_brief(struct buf *b, const struct directory_feed *d)
{
    const struct feed_brief *f = &d->brief;

    if (f->id == 0) {
        buf_printf(b, " none\n");
        return;
    }
    buf_printf(b, " %" PRId64 " v%" PRId64 " %d %d %d %d %d %d", f->id, f->version, (int)f->state,
               f->fetched, f->partial, f->last_status, f->level, f->n_subscriptions);
    show_numbers(b,
                 (int64_t[]){f->last_check_at, f->next_fetch_at, f->wanted_at, f->content_at,
                             d->last_seq, d->event_seq},
                 6);
    show_text(b, "url", d->url);
    show_text(b, "credential", d->credential);
    show_text(b, "key", d->access_key);
    show_text(b, "page", d->page_url);
    show_text(b, "site", d->site_url);
    for (size_t k = 0; k < d->n_aliases; k++)
        show_text(b, "alias", d->aliases[k]);
    buf_putc(b, '\n');
}

ASK(briefs)
{
    int64_t *ids;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    struct directory_feed *out = ARENA_ARRAY(a, struct directory_feed, n + 1);
    enum rc rc = db->reads->briefs_load(db, ids, NULL, n, a, out, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        show_brief(b, &out[i]);
    return rc;
}

ASK(keys)
{
    int64_t *ids;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    struct key_run *runs = ARENA_ARRAY(a, struct key_run, n + 1);
    enum rc rc =
        db->reads->briefs_keys(db, ids, n, (size_t)draw(&seed, DIRECTORY_KEYS) + 1, runs, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_printf(b, "\n%d:", runs[i].complete);
        for (size_t k = 0; k < runs[i].n; k++)
            show_numbers(
                b, (int64_t[]){runs[i].keys[k].sort_at, runs[i].keys[k].seq, runs[i].keys[k].iri},
                3);
    }
    return rc;
}

ASK(briefs_after)
{
    struct directory_feed out[8];
    size_t n;
    int64_t after = draw(&seed, 6);
    enum rc rc = db->reads->briefs_after(db, after, (size_t)draw(&seed, 8), a, out, &n, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        show_brief(b, &out[i]);
    return rc;
}

ASK(subs)
{
    struct subscription *subs;
    int64_t *ids;
    size_t n = random_ids(&seed, a, 9, 50, &ids);
    enum rc rc =
        draw(&seed, 3) == 0
            ? db->reads->subs_after(db, draw(&seed, 9), draw(&seed, 9), a, &subs, &n, NULL)
            : db->reads->subs_by_id(db, draw(&seed, 3) == 0 ? NULL : ids, n, a, &subs, &n, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        show_sub(b, &subs[i]);
    return rc;
}

ASK(subs_listed)
{
    struct sub_summary *subs;
    size_t n;
    enum rc rc = db->reads->subs_listed(db, draw(&seed, 9), (size_t)draw(&seed, 9), a, &subs, &n, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        buf_printf(b, "%lld %lld %lld %lld %d %.*s %.*s %lld\n", (long long)subs[i].id, (long long)subs[i].owner,
                   (long long)subs[i].created_at, (long long)subs[i].failing_since, subs[i].state,
                   STR_ARG(subs[i].endpoint), STR_ARG(subs[i].sink), (long long)subs[i].n_feeds);
    return rc;
}

ASK(pushed)
{
    struct push_sub list[9];
    int64_t *ids;
    size_t n = random_ids(&seed, a, 9, 50, &ids);
    enum rc rc;

    n = view_ids_sort(ids, n);
    for (size_t i = 0; i < n; i++)
        list[i] = (struct push_sub){.id = ids[i], .arena = a};
    rc = db->reads->subs_pushed(db, list, n, NULL);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        show_text(b, "credential", list[i].credential);
        show_text(b, "settings", list[i].settings);
        show_number(b, "wants_dead", list[i].wants_dead);
        if (list[i].sub != NULL)
            show_sub(b, list[i].sub);
    }
    return rc;
}

ASK(find)
{
    const struct str endpoints[] = {STR("http://end.example/"), STR("http://end.example"),
                                    STR("http://other.example/")};
    int64_t id, n_owned;
    enum rc rc = db->reads->subs_find(db, STR("xmlrpc"), endpoints[draw(&seed, 3)], STR("{}"),
                                      endpoints[draw(&seed, 3)], &id, &n_owned, NULL);

    if (rc == RC_OK)
        buf_printf(b, "%" PRId64 " %" PRId64, id, n_owned);
    return rc;
}

ASK(settings)
{
    struct str text;
    enum rc rc = db->reads->subs_settings(db, 1 + draw(&seed, 50), a, &text, NULL);

    show_text(b, "settings", rc == RC_OK ? text : STR_NULL);
    return rc;
}

ASK(leads)
{
    struct subscription sub = random_wishes(&seed);
    int64_t *ids;
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    struct push_lead *leads = ARENA_ARRAY(a, struct push_lead, n + 1);
    enum rc rc = db->reads->push_leads(db, ids, n, &sub, a, leads, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        show_number(b, "first", leads[i].first);
        show_event(b, &leads[i].event);
    }
    return rc;
}

ASK(batch)
{
    struct subscription sub = random_wishes(&seed);
    size_t max = 1 + draw(&seed, 9), n;
    int64_t *seqs = ARENA_ARRAY(a, int64_t, max + 1);
    enum rc rc = db->reads->push_batch(db, 1 + draw(&seed, FEEDS), &sub, draw(&seed, SEQ_MAX), max,
                                       seqs, &n, NULL);

    show_numbers(b, seqs, rc == RC_OK ? n : 0);
    return rc;
}

ASK(run)
{
    struct subscription sub = random_wishes(&seed);
    size_t max = 1 + draw(&seed, 40), n_seqs, n_events;
    int64_t *ids, *seqs = ARENA_ARRAY(a, int64_t, max + 1);
    size_t n = random_ids(&seed, a, 6, 9, &ids);
    struct feed_event *events;
    enum rc rc;

    n = view_ids_sort(ids, n);
    rc = db->reads->push_run(db, ids, n, &sub, max, a, seqs, &n_seqs, &events, &n_events, NULL);
    show_numbers(b, seqs, rc == RC_OK ? n_seqs : 0);
    for (size_t i = 0; i < n_events && rc == RC_OK; i++)
        show_event(b, &events[i]);
    return rc;
}

ASK(lag)
{
    struct subscription sub = random_wishes(&seed);
    int64_t *ids, found;
    size_t n = random_feeds(&seed, a, &ids);
    enum rc rc = db->reads->push_count(db, ids, n, &sub, 1 + draw(&seed, 90), &found, NULL);

    show_number(b, "n", rc == RC_OK ? found : -1);
    return rc;
}

ASK(event)
{
    struct feed_event event;
    enum rc rc = db->reads->feed_event(db, draw(&seed, SEQ_MAX), a, &event, NULL);

    if (rc == RC_OK)
        show_event(b, &event);
    return rc;
}

ASK(deliveries)
{
    struct delivery_note *rows;
    size_t n;
    enum rc rc =
        db->reads->deliveries_of(db, 1 + draw(&seed, 50), draw(&seed, 9), a, &rows, &n, NULL);

    for (const struct delivery_note *row = rows; rc == RC_OK && row < rows + n; row++) {
        DELIVERY_NOTE(SHOW)
        show_text(b, "error", row->error);
    }
    return rc;
}

ASK(dead)
{
    struct dead_letter *rows;
    int64_t sub = 1 + draw(&seed, 50);
    size_t n;
    enum rc rc = draw(&seed, 2) ? db->reads->dead_of(db, sub, draw(&seed, 9), a, &rows, &n, NULL)
                                : db->reads->dead_wanted(db, sub, a, &rows, &n, NULL);

    for (const struct dead_letter *row = rows; rc == RC_OK && row < rows + n; row++) {
        DEAD_LETTER(SHOW)
        show_number(b, "id", row->id);
    }
    return rc;
}

ASK(dead_counts)
{
    struct dead_count *rows;
    size_t n;
    int64_t first = draw(&seed, 9), last = draw(&seed, 3) ? first + draw(&seed, 5) : INT64_MAX;
    enum rc rc = db->reads->dead_counts(db, first, last, a, &rows, &n, NULL);

    for (size_t i = 0; i < n && rc == RC_OK; i++)
        show_number(b, "n", rows[i].sub_id * 1000 + rows[i].n);
    return rc;
}

ASK(intents)
{
    struct hub_intent *rows;
    size_t n;
    enum rc rc =
        db->reads->hub_intents_after(db, draw(&seed, 6), draw(&seed, 6), a, &rows, &n, NULL);

    for (const struct hub_intent *row = rows; rc == RC_OK && row < rows + n; row++) {
        HUB_INTENT(SHOW)
        for (size_t i = 0; i < row->n_feeds; i++) {
            show_number(b, "feed", row->feeds[i].feed_id);
            show_text(b, "url", row->feeds[i].url);
        }
    }
    return rc;
}

ASK(lease)
{
    struct hub_lease lease, *row = &lease;
    enum rc rc = db->reads->hub_lease(db, 1 + draw(&seed, 50), a, &lease, NULL);

    if (rc == RC_OK) {
        HUB_LEASE(SHOW)
    }
    return rc;
}

ASK(upstreams)
{
    struct upstream *rows;
    size_t n;
    enum rc rc = db->reads->upstreams(db, a, &rows, &n, NULL);

    for (const struct upstream *row = rows; rc == RC_OK && row < rows + n; row++) {
        UPSTREAM(SHOW)
    }
    return rc;
}

static const struct {
    const char *name;
    ask_fn *fn;
    int trips; /* at most */
} asks[] = {
#define ONE(name)                                                                                  \
    {                                                                                              \
#name, ask_##name, 1                                                                       \
    }
#define PAGED(name)                                                                                \
    {                                                                                              \
#name, ask_##name, 16                                                                      \
    }
    ONE(last_seq),    ONE(revisions),
    ONE(times),       {"seq_at", ask_seq_at, 2},
    ONE(view),        ONE(newest),
    ONE(uids),        ONE(known),
    ONE(since),       PAGED(deletions),
    ONE(between),     ONE(oldest),
    ONE(content),     PAGED(content_feeds),
    PAGED(feeds),     ONE(heads),
    ONE(count),       ONE(name),
    PAGED(due),       ONE(briefs),
    ONE(keys),        ONE(briefs_after),
    PAGED(subs),      PAGED(subs_listed),
    ONE(pushed),
    ONE(find),        ONE(settings),
    ONE(leads),       ONE(batch),
    ONE(run),         ONE(lag),
    ONE(event),       ONE(deliveries),
    ONE(dead),        ONE(dead_counts),
    ONE(intents),     ONE(lease),
    PAGED(upstreams),
};

/* ---- the store ------------------------------------------------------------------------------- */

static void add_hub_things(struct fixture *f, const int64_t *feeds)
{
    int64_t lasting = add_feed(f, "http://lasting.example/", NULL); /* others may have merged */
    struct answer a;

    for (int i = 0; i < 16; i++) {
        struct hub_settled settled = {.confirmed = true};
        struct sub_feed of = {.feed_id = lasting, .url = STR("http://a/x y")};
        struct hub_intent in = {.mode = HUB_SUBSCRIBE,
                                .topic = STR("http://topic.example/"),
                                .callback = str_printf(&f->arena, "http://call.example/%d", i),
                                .secret = i % 2 == 0 ? STR("s") : STR_NULL,
                                .lease_s = 100 + i,
                                .feeds = &of,
                                .n_feeds = 1};
        struct upstream u = {.token = str_printf(&f->arena, "token-%d", i),
                             .base_url = STR("http://base.example"),
                             .secret = STR("x"),
                             .hub = STR("http://hub.example/"),
                             .topic = STR("http://topic.example/"),
                             .feed_id = feeds[i % FEEDS],
                             .is_current = i < FEEDS,
                             .state = UPSTREAM_ACTIVE,
                             .lease_end_at = i == 1 ? TIME_UNKNOWN : 5000 + i,
                             .next_at = TIME_UNKNOWN,
                             .ended_at = TIME_UNKNOWN,
                             .delivered_at = TIME_UNKNOWN};

        WRITE(a, store_hub_request(f->store, &in, on_answer, &a));
        settled.intent_id = a.res.id;
        if (i % 2 == 0)
            WRITE(a, store_hub_settle(f->store, settled, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
        WRITE(a, store_upstream_put(f->store, &u, UPSTREAM_ANY, on_answer, &a));
    }
}

/* Subscriptions of every kind, with deliveries that were made, failed or were refused. */
static void add_subs(struct fixture *f, uint32_t *seed)
{
    struct answer a;

    for (int i = 0; i < 5; i++) {
        struct feed_ref refs[2] = {
            {.url = str_printf(&f->arena, "http://%u.example/", draw(seed, FEEDS)),
             .shown_url = STR("http://shown.example/"),
             .details = {.name = STR("name"), .folder = i == 2 ? STR("[\"a\"]") : STR_NULL}},
            {.url = STR("http://new.example/"), .credential = STR("user:other")}};
        struct sub_request req = {.endpoint = i == 3 ? STR_NULL : STR("http://end.example/"),
                                  .endpoint_credential = i == 1 ? STR("u:p") : STR_NULL,
                                  .sink = STR("xmlrpc"),
                                  .sink_settings = i == 2 ? STR("{}") : STR_NULL,
                                  .events = draw(seed, 32),
                                  .batch = i,
                                  .feeds = refs,
                                  .n_feeds = 2,
                                  .level = 1,
                                  .from_given = i % 2 == 0,
                                  .from_seq = i};
        struct push_outcome o = {.position = 1 + draw(seed, 50),
                                 .next_try_at = i == 4 ? 99 : TIME_UNKNOWN,
                                 .failed = i == 4,
                                 .error = i == 4 ? STR("no answer") : STR_NULL,
                                 .has_note = true,
                                 .is_dead = i < 2,
                                 .dead = {.uid = STR("u"), .answer = STR("no")}};

        WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
        o.sub_id = o.dead.sub_id = a.res.id;
        for (int k = 0; k < 3; k++) {
            o.note = (struct delivery_note){.at_us = 1000 - k, .status = 200 + k, .error = o.error};
            o.dead.at = (struct log_mark){10 + k, 10 + k};
            WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
        }
        if (i == 1)
            WRITE(a, store_dead_retry(f->store, o.sub_id, 0, on_answer, &a));
    }
}

/* Fill the store, and close it. */
static void fill(struct fixture *f, uint32_t seed)
{
    struct answer a = answer_init(OPERATIONS);
    int64_t feeds[FEEDS];

    for (int i = 0; i < FEEDS; i++)
        feeds[i] = add_feed(f, arena_printf(&f->arena, "http://%d.example/", i),
                            i == 2 ? "user:secret" : NULL);
    for (int i = 0; i < OPERATIONS; i++)
        push_random(f, feeds, &seed, &a);
    answer_wait(&a);
    add_hub_things(f, feeds);
    add_subs(f, &seed);
    fixture_close(f);
}

static void empty_server(void)
{
    struct server_link super = connected(SUPER);

    script_ok(super.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    link_end(&super);
}

static void migrate_ok(const char *from, const char *to, bool check)
{
    struct migrate_cfg cfg = {.from = from, .to = to, .check = check};
    struct err err = ERR_INIT;

    if (migrate_run(&cfg, NULL, NULL, &err) != RC_OK)
        fail_msg("%s", err.text);
}

/* Returns the length of the answer. */
static size_t check_call(struct db *file, struct db *pg, size_t i, uint32_t seed)
{
    AUTO(buf_release) struct buf x = BUF_INIT(BUF_ANY), y = BUF_INIT(BUF_ANY);
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t trips = pg_trips(pg_reader_link(pg));
    enum rc rc = asks[i].fn(file, seed, &a, &x);

    assert_int_equal(rc, asks[i].fn(pg, seed, &a, &y));
    assert_true(pg_trips(pg_reader_link(pg)) - trips <= asks[i].trips);
    if (!str_eq(buf_view(&x), buf_view(&y)))
        fail_msg("%s(%u)\n%.*s\n-- PostgreSQL:\n%.*s", asks[i].name, seed, STR_ARG(buf_view(&x)),
                 STR_ARG(buf_view(&y)));
    return x.len;
}

static int n_rounds(void)
{
    const char *text = getenv("FEEDMILL_ROUNDS");

    return text == NULL ? 2 : atoi(text);
}

/* `said`: the bytes of all answers of each call so far. */
static void compare_engines(const char *path, const char *uri, uint32_t seed, size_t *said)
{
    struct db *file = NULL, *pg = NULL;

    assert_int_equal(RC_OK, engine_sqlite.open_reader(path, &file, NULL));
    assert_int_equal(RC_OK, engine_postgresql.open_reader(uri, &pg, NULL));
    for (size_t i = 0; i < ARRAY_LEN(asks); i++)
        for (uint32_t k = 0; k < ASKS; k++)
            said[i] += check_call(file, pg, i, seed * 1000 + k);
    pg->reads->close(&pg);
    file->reads->close(&file);
}

static void test_pg_reads__both_engines_give_the_same_answers(void **state)
{
    struct fixture *f = *state;
    const char *uri = getenv(PLAIN);
    size_t said[ARRAY_LEN(asks)] = {0};

    if (uri == NULL)
        skip();
    for (int i = 0; i < n_rounds(); i++) {
        unlink(f->path);
        empty_server();
        fixture_close(f);
        unlink(f->path);
        fixture_open(f);
        fill(f, 77 + (uint32_t)i);
        migrate_ok(f->path, uri, false);
        migrate_ok(f->path, uri, true);
        compare_engines(f->path, uri, 77 + (uint32_t)i, said);
        fixture_open(f);
    }
    for (size_t i = 0; i < ARRAY_LEN(asks); i++)
        if (said[i] == 0)
            fail_msg("%s: no answer says anything", asks[i].name);
}

/* All revisions, as text. */
static struct str show_log(struct db *db, struct arena *a)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    int64_t seqs[SEQ_MAX];
    struct revision *rows;
    size_t n = 0;

    for (int64_t seq = 1; seq <= SEQ_MAX; seq++)
        seqs[seq - 1] = seq;
    assert_int_equal(RC_OK,
                     db->reads->revisions_by_seq(db, seqs, SEQ_MAX, false, a, &rows, &n, NULL));
    show_revisions(&b, rows, n);
    return str_dup(a, buf_view(&b));
}

/* A node of a program that did not know the column wrote rows meanwhile, and the step to the newer
 * schema leaves it empty: each row still names the one before it. */
static void test_pg_reads__the_row_before_is_found_where_it_is_not_noted(void **state)
{
    static const char forget[] = "UPDATE revisions SET prev_seq = 0 WHERE seq % 4 > 0";
    struct fixture *f = *state;
    const char *uri = getenv(PLAIN);
    struct db *file = NULL, *pg = NULL;
    struct server_link s;
    struct str all;
    sqlite3 *sq;

    if (uri == NULL)
        skip();
    empty_server();
    fill(f, 79);
    migrate_ok(f->path, uri, false);
    assert_int_equal(RC_OK, engine_sqlite.open_reader(f->path, &file, NULL));
    assert_int_equal(RC_OK, engine_postgresql.open_reader(uri, &pg, NULL));
    all = show_log(file, &f->arena);
    s = connected(PLAIN);
    script_ok(s.l, forget);
    link_end(&s);
    assert_int_equal(SQLITE_OK, sqlite3_open_v2(f->path, &sq, SQLITE_OPEN_READWRITE, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, forget, NULL, NULL, NULL));
    assert_true(sqlite3_changes(sq) > 50);
    sqlite3_close(sq);
    assert_string_equal(all.ptr, show_log(pg, &f->arena).ptr);
    assert_string_equal(all.ptr, show_log(file, &f->arena).ptr);
    pg->reads->close(&pg);
    file->reads->close(&file);
    fixture_open(f);
}

/* ---- there and back -------------------------------------------------------------------------- */

static int add_row(void *ctx, int n, char **values, char **names UNUSED)
{
    for (int i = 0; i < n; i++)
        buf_printf(ctx, "%s|", values[i] == NULL ? "NULL" : values[i]);
    buf_putc(ctx, '\n');
    return 0;
}

static int add_query(void *ctx, int n UNUSED, char **values, char **names UNUSED)
{
    buf_printf(ctx, "%s\n", values[0]);
    return 0;
}

/* Everything in a file, as text, but the index of words, which stays behind. */
static char *dump_file(const char *path, struct arena *a)
{
    static const char tables[] =
        "SELECT 'SELECT ''' || m.name || ''', ' || group_concat('quote(' || c.name || ')',"
        " '||'',''||') || ' FROM ' || m.name || ' ORDER BY 2;' FROM pragma_table_list m,"
        " pragma_table_info(m.name) c WHERE m.schema = 'main' AND m.type = 'table'"
        " AND m.name <> 'sqlite_schema' GROUP BY m.name ORDER BY m.name";
    AUTO(buf_release) struct buf queries = BUF_INIT(BUF_ANY), rows = BUF_INIT(BUF_ANY);
    sqlite3 *sq;

    assert_int_equal(SQLITE_OK, sqlite3_open_v2(path, &sq, SQLITE_OPEN_READWRITE, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, tables, add_query, &queries, NULL));
    assert_non_null(strstr(queries.ptr, "sqlite_sequence"));
    if (sqlite3_exec(sq, queries.ptr, add_row, &rows, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(sq));
    sqlite3_close(sq);
    return arena_copy(a, rows.ptr, rows.len);
}

static void drop_file(const char *path)
{
    char name[256];

    unlink(path);
    snprintf(name, sizeof name, "%s-wal", path);
    unlink(name);
    snprintf(name, sizeof name, "%s-shm", path);
    unlink(name);
}

static void refuse(const char *from, const char *to, bool check, enum rc rc, const char *words)
{
    struct migrate_cfg cfg = {.from = from, .to = to, .check = check};
    struct err err = ERR_INIT;

    assert_int_equal(rc, migrate_run(&cfg, NULL, NULL, &err));
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
}

/* The file that comes back is the file that went. */
static void test_pg_reads__there_and_back(void **state)
{
    struct fixture *f = *state;
    const char *uri = getenv(PLAIN), *back = arena_printf(&f->arena, "%s/back.db", f->dir);
    struct server_link s;

    if (uri == NULL)
        skip();
    empty_server();
    refuse(f->path, uri, false, RC_IO, "in use"); /* the store has it */
    fill(f, 5);
    refuse(f->path, back, false, RC_INPUT, "one side");
    refuse(arena_printf(&f->arena, "%s/none.db", f->dir), uri, false, RC_IO, "none.db");
    migrate_ok(f->path, uri, false);
    refuse(f->path, uri, false, RC_CONFLICT, "not empty");
    migrate_ok(uri, back, false);
    refuse(uri, back, false, RC_CONFLICT, "not empty");
    migrate_ok(uri, back, true);
    assert_string_equal(dump_file(f->path, &f->arena), dump_file(back, &f->arena));
    s = connected(PLAIN);
    script_ok(s.l, "UPDATE entries SET dated = 1 - dated WHERE id = (SELECT max(id) FROM entries)");
    refuse(uri, back, true, RC_CONFLICT, "1 tables differ");
    link_end(&s);
    drop_file(back);
    fixture_open(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pg_reads__both_engines_give_the_same_answers,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_pg_reads__the_row_before_is_found_where_it_is_not_noted, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_pg_reads__there_and_back, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
