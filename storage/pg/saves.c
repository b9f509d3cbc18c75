/* storage/pg/saves.c - see saves.h. */
#include "storage/pg/saves.h"

#include <pthread.h>

#include "storage/pg/columns.h"
#include "storage/rows_past.h"
#include "storage/rows_hub.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_views.h"

/* ---- columns: the key stands first ----------------------------------------------------------- */

#define PG_ROW struct entry_row
static const struct pg_column entry_columns[] = {PG_COLUMN(INT, id, id) ENTRY_KEY(
    PG_COLUMN) ENTRY_FIXED(PG_COLUMN) ENTRY_SAVED(PG_COLUMN) PG_COLUMN(MARKS, marks, marks)};
static const struct pg_column saved_columns[] = {PG_COLUMN(INT, id, id) ENTRY_SAVED(PG_COLUMN)
                                                     PG_COLUMN(MARKS, marks, marks)};
#undef PG_ROW

#define PG_ROW struct line_key
static const struct pg_column key_columns[] = {
    PG_COLUMN(INT, feed_id, feed_id) PG_COLUMN(INT, key, key) PG_COLUMN(INT, entry_id, entry_id)};
#undef PG_ROW

#define PG_ROW struct line_content
#define CONTENT_OF_LINE(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column content_columns[] = {PG_COLUMN(INT, entry_id, entry_id)
                                                       CONTENT(CONTENT_OF_LINE)};
#undef PG_ROW

#define PG_ROW struct line_revision
#define REVISION_OF_LINE(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column body_columns[] = {PG_COLUMN(INT, id, body)
                                                    REVISION_TEXTS(REVISION_OF_LINE)};
static const struct pg_column revision_columns[] = {
    REVISION_FACTS(REVISION_OF_LINE) PG_COLUMN(INT, entry_id, entry_id) PG_COLUMN(INT, body, body)};
#undef PG_ROW

#define PG_ROW struct line_overlay
static const struct pg_column overlay_columns[] = {
    PG_COLUMN(SEQ, seq, seq) PG_COLUMN(EMPTY, doc, doc) PG_COLUMN(EMPTY, ext, ext)};
#undef PG_ROW

#define PG_ROW struct feed_row
#define HEAD_OF_FEED(kind, column, member) PG_COLUMN(kind, column, feed.member)
static const struct pg_column feed_columns[] = {PG_COLUMN(INT, id, feed.id) FEED_SAVED(PG_COLUMN)
                                                    PG_COLUMN(VERSION, version, feed.version)};
static const struct pg_column new_feed_columns[] = {FEED_FIXED(PG_COLUMN) FEED_SAVED(
    PG_COLUMN) PG_COLUMN(INT, n_subscriptions, feed.n_subscriptions)};
static const struct pg_column count_columns[] = {
    PG_COLUMN(INT, id, feed.id) PG_COLUMN(INT, n_subscriptions, feed.n_subscriptions)};
static const struct pg_column identity_columns[] = {PG_COLUMN(INT, id, feed.id)
                                                        FEED_IDENTITY(PG_COLUMN)};
static const struct pg_column url_columns[] = {PG_COLUMN(INT, id, feed.id) PG_COLUMN(
    TEXT, url, feed.url) PG_COLUMN(TEXT, page_url, feed.page_url)};
static const struct pg_column head_columns[] = {PG_COLUMN(INT, feed_id, feed.id)
                                                    HEAD(HEAD_OF_FEED)};
#undef PG_ROW

#define PG_ROW struct line_head
static const struct pg_column head_log_columns[] = {
    PG_COLUMN(INT, feed_id, feed.id) PG_COLUMN(SEQ, since_seq, since_seq) HEAD_LOG(HEAD_OF_FEED)};
#undef PG_ROW

#define PG_ROW struct feed_event
static const struct pg_column event_columns[] = {FEED_EVENT(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct line_upstream
static const struct pg_column news_columns[] = {PG_COLUMN(INT, feed_id, feed_id)
                                                    UPSTREAM_TRUST(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct upstream
static const struct pg_column current_columns[] = {PG_COLUMN(INT, feed_id, feed_id)
                                                       PG_COLUMN(INT, is_current, is_current)};
static const struct pg_column upstream_columns[] = {UPSTREAM_KEPT(PG_COLUMN)};
static const struct pg_column trust_columns[] = {PG_COLUMN(TEXT, token, token)
                                                     UPSTREAM_TRUST(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct archive_row
static const struct pg_column archive_columns[] = {PG_COLUMN(INT, feed_id, feed_id)
                                                       ARCHIVE(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct held_grave
static const struct pg_column grave_columns[] = {
    PG_COLUMN(INT, feed_id, feed_id) PG_COLUMN(EMPTY, uid, uid) PG_COLUMN(INT, when_us, when_us)};
#undef PG_ROW

#define PG_ROW struct held_past
static const struct pg_column past_columns[] = {PG_COLUMN(INT, feed_id, feed_id)};
#undef PG_ROW

#define PG_ROW struct held_place
static const struct pg_column alias_columns[] = {PG_COLUMN(TEXT, url, url) PG_COLUMN(
    EMPTY, credential, credential) PG_COLUMN(INT, feed_id, alias_of)};
#undef PG_ROW

#define PG_ROW struct dead_letter
static const struct pg_column dead_columns[] = {DEAD_LETTER(PG_COLUMN)};
static const struct pg_column refused_columns[] = {PG_COLUMN(INT, id, id) DEAD_REFUSAL(PG_COLUMN)};
static const struct pg_column wanted_columns[] = {PG_COLUMN(INT, id, id)
                                                      PG_COLUMN(INT, wanted, wanted)};
#undef PG_ROW

#define PG_ROW struct line_note
#define NOTE_OF_LINE(kind, column, member) PG_COLUMN(kind, column, note.member)
static const struct pg_column note_columns[] = {PG_COLUMN(INT, sub_id, sub_id) PG_COLUMN(
    INT, slot, slot) DELIVERY_NOTE(NOTE_OF_LINE) PG_COLUMN(TEXT, error, note.error)};
#undef PG_ROW

#define PG_ROW struct subscription
static const struct pg_column sub_columns[] = {PG_COLUMN(INT, id, id) SUB_PROGRESS(PG_COLUMN)
                                                   PG_COLUMN(TEXT, last_error, last_error)};
static const struct pg_column note_sub_columns[] = {PG_COLUMN(INT, sub_id, id)};
#undef PG_ROW

#define PG_ROW struct held_sub
#define SUB_OF_ROW(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column new_sub_columns[] = {SUB_FIXED(SUB_OF_ROW) SUB_SECRETS(
    PG_COLUMN) SUB_SAVED(SUB_OF_ROW) PG_COLUMN(TEXT, last_error, row.last_error)};
static const struct pg_column whole_sub_columns[] = {PG_COLUMN(INT, id, row.id) SUB_SECRETS(
    PG_COLUMN) SUB_SAVED(SUB_OF_ROW) PG_COLUMN(TEXT, last_error, row.last_error)};
#undef PG_ROW

#define PG_ROW struct held_sub_feed
#define FEED_OF_SUB(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column new_sub_feed_columns[] = {
    PG_COLUMN(INT, sub_id, sub_id) SUB_FEED(FEED_OF_SUB) PG_COLUMN(INT, place, place)};
static const struct pg_column sub_feed_columns[] = {PG_COLUMN(INT, sub_id, sub_id) PG_COLUMN(
    INT, feed_id, row.feed_id) PG_COLUMN(TEXT, name, row.name) PG_COLUMN(TEXT, folder, row.folder)
                                                        PG_COLUMN(INT, listed, row.listed)};
#undef PG_ROW

#define PG_ROW struct line_intent
#define INTENT_OF_LINE(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column intent_columns[] = {HUB_INTENT(INTENT_OF_LINE)
                                                      PG_COLUMN(EMPTY, feeds, feeds)};
#undef PG_ROW

#define PG_ROW struct held_lease
#define LEASE_OF_ROW(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column hub_lease_columns[] = {HUB_LEASE(LEASE_OF_ROW)
                                                         PG_COLUMN(EMPTY, callback, callback)};
#undef PG_ROW

#define PG_ROW struct token
static const struct pg_column token_columns[] = {TOKEN(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct named_view
static const struct pg_column view_columns[] = {NAMED_VIEW(PG_COLUMN)};
#undef PG_ROW

/* ---- statements ------------------------------------------------------------------------------ */

enum how {
    ADD,  /* it is new */
    KEEP, /* it is new, or there is the same already */
    PUT,  /* it is new, or replaces the row with its key */
    SET,  /* it replaces these columns of the row with its key */
    MOVE, /* the row with its key has a URL that nobody else has, until it gets the right one; only
             if another row of the list gets the URL that it has now */
    DROP  /* the row with its key goes */
};

/* A long text is found by its hash. */
#define SAME_HASH(name)                                                                            \
    "hashtextextended(x." name ", 0) = hashtextextended(t." name " COLLATE \"C\", 0)"

/* A URL with its credential is found by their digests, which keep it unique. */
#define SAME_DIGESTS "md5(x.url) = md5(t.url) AND md5(x.credential) = md5(t.credential)"

/* The delivery log is found by slots first. */
#define ALL_SLOTS "x.slot = ANY(ARRAY(SELECT generate_series(0, 99)))"
_Static_assert(DELIVERIES_KEPT == 100, "slots of the statement above");

static const struct save {
    const char *table;
    enum how how;
    const struct pg_column *columns;
    size_t n_columns, n_key; /* so many of them, at the beginning, are the key */
    const char *more;        /* SET, MOVE and DROP: which rows with the key; NULL: all */
} saves[] = {
    [SAVE_BODIES] = {"bodies", ADD, PG_COLUMNS(body_columns), 1, NULL},
    [SAVE_KEYS_GONE] = {"entry_keys", DROP, PG_COLUMNS(key_columns), 3, NULL},
    [SAVE_KEYS] = {"entry_keys", KEEP, PG_COLUMNS(key_columns), 3, NULL},
    [SAVE_OVERLAYS_GONE] = {"overlays", DROP, overlay_columns, 1, 1, NULL},
    [SAVE_CONTENTS] = {"contents", PUT, PG_COLUMNS(content_columns), 1, NULL},
    [SAVE_CONTENTS_GONE] = {"contents", DROP, content_columns, 1, 1, NULL},
    [SAVE_IDENTITIES] = {"feeds", SET, PG_COLUMNS(identity_columns), 1, NULL},
    [SAVE_HEADS] = {"heads", PUT, PG_COLUMNS(head_columns), 1, NULL},
    [SAVE_URLS_LEFT] = {"feeds", MOVE, url_columns, 2, 1, "x.url <> t.url AND x.url = ANY($2)"},
    [SAVE_URLS] = {"feeds", SET, PG_COLUMNS(url_columns), 1, NULL},
    [SAVE_ALIASES_GONE] = {"aliases", DROP, alias_columns, 2, 2, SAME_DIGESTS},
    [SAVE_ALIASES] = {"aliases", ADD, PG_COLUMNS(alias_columns), 2, NULL},
    [SAVE_UPSTREAM_NEWS] = {"upstreams", SET, PG_COLUMNS(news_columns), 1, "x.is_current = 1"},
    [SAVE_UPSTREAMS_NOT_CURRENT] = {"upstreams", SET, PG_COLUMNS(current_columns), 1,
                                    "x.is_current = 1"},
    [SAVE_UPSTREAMS_GONE] = {"upstreams", DROP, upstream_columns, 1, 1, NULL},
    [SAVE_UPSTREAMS] = {"upstreams", PUT, PG_COLUMNS(upstream_columns), 1, NULL},
    [SAVE_UPSTREAMS_TRUST] = {"upstreams", SET, PG_COLUMNS(trust_columns), 1, NULL},
    [SAVE_ARCHIVES_GONE] = {"archives", DROP, archive_columns, 2, 2, SAME_HASH("url")},
    [SAVE_ARCHIVES] = {"archives", ADD, PG_COLUMNS(archive_columns), 2, NULL},
    [SAVE_GRAVES_OF_FEED_GONE] = {"graves", DROP, PG_COLUMNS(past_columns), 1, NULL},
    [SAVE_GRAVES_GONE] = {"graves", DROP, grave_columns, 2, 2, SAME_HASH("uid")},
    [SAVE_GRAVES] = {"graves", ADD, PG_COLUMNS(grave_columns), 2, NULL},
    [SAVE_DEAD_GONE] = {"dead_letters", DROP, wanted_columns, 1, 1, NULL},
    [SAVE_DEAD_WANTED] = {"dead_letters", SET, PG_COLUMNS(wanted_columns), 1, NULL},
    [SAVE_DEAD_REFUSED] = {"dead_letters", SET, PG_COLUMNS(refused_columns), 1, NULL},
    [SAVE_DEAD] = {"dead_letters", ADD, PG_COLUMNS(dead_columns), 0, NULL},
    [SAVE_NOTES] = {"deliveries", PUT, PG_COLUMNS(note_columns), 2, NULL},
    [SAVE_INTENTS_GONE] = {"hub_intents", DROP, intent_columns, 1, 1, NULL},
    [SAVE_INTENTS] = {"hub_intents", ADD, PG_COLUMNS(intent_columns), 1, NULL},
    /* without the id */
    [SAVE_UNNAMED_INTENTS] = {"hub_intents", ADD, intent_columns + 1, ARRAY_LEN(intent_columns) - 1,
                              0, NULL},
    [SAVE_TOKENS_GONE] = {"tokens", DROP, token_columns, 1, 1, NULL},
    [SAVE_TOKENS] = {"tokens", PUT, PG_COLUMNS(token_columns), 1, NULL},
    [SAVE_VIEWS_GONE] = {"views", DROP, view_columns, 1, 1, NULL},
    [SAVE_VIEWS] = {"views", PUT, PG_COLUMNS(view_columns), 1, NULL},
    [SAVE_COUNTS] = {"feeds", SET, PG_COLUMNS(count_columns), 1, NULL},
    [SAVE_SUB_FEEDS_GONE] = {"sub_feeds", DROP, sub_feed_columns, 2, 2, NULL},
    [SAVE_SUB_FEEDS] = {"sub_feeds", SET, PG_COLUMNS(sub_feed_columns), 2, NULL},
    [SAVE_NOTES_OF_SUB_GONE] = {"deliveries", DROP, PG_COLUMNS(note_sub_columns), 1, ALL_SLOTS},
    [SAVE_SUBS_GONE] = {"subscriptions", DROP, sub_columns, 1, 1, NULL},
    [SAVE_NEW_FEEDS] = {"feeds", ADD, PG_COLUMNS(new_feed_columns), 1, NULL},
    [SAVE_NEW_SUBS] = {"subscriptions", ADD, PG_COLUMNS(new_sub_columns), 1, NULL},
    [SAVE_NEW_SUB_FEEDS] = {"sub_feeds", ADD, PG_COLUMNS(new_sub_feed_columns), 2, NULL},
    [SAVE_LEASES] = {"hub_leases", PUT, PG_COLUMNS(hub_lease_columns), 1, NULL},
    [SAVE_NEW_ENTRIES] = {"entries", ADD, PG_COLUMNS(entry_columns), 1, NULL},
    [SAVE_ENTRIES] = {"entries", SET, PG_COLUMNS(saved_columns), 1, NULL},
    [SAVE_REVISIONS] = {"revisions", ADD, PG_COLUMNS(revision_columns), 1, NULL},
    [SAVE_OVERLAYS] = {"overlays", PUT, PG_COLUMNS(overlay_columns), 1, NULL},
    [SAVE_HEAD_LOG] = {"head_log", PUT, PG_COLUMNS(head_log_columns), 2, NULL},
    [SAVE_EVENTS] = {"feed_events", ADD, PG_COLUMNS(event_columns), 1, NULL},
    [SAVE_FEEDS] = {"feeds", SET, PG_COLUMNS(feed_columns), 1, NULL},
    [SAVE_SUBS] = {"subscriptions", SET, PG_COLUMNS(sub_columns), 1, NULL},
    [SAVE_WHOLE_SUBS] = {"subscriptions", SET, PG_COLUMNS(whole_sub_columns), 1, NULL},
};
_Static_assert(ARRAY_LEN(saves) == SAVE_KINDS, "each kind has a row");

static struct buf texts[SAVE_KINDS];

/* " WHERE x.a = t.a AND ..." */
static void make_where(struct buf *b, const struct save *s)
{
    for (size_t i = 0; i < s->n_key; i++)
        buf_printf(b, "%s x.%s = t.%s", i == 0 ? " WHERE" : " AND", s->columns[i].name,
                   s->columns[i].name);
    if (s->more != NULL)
        buf_printf(b, " AND %s", s->more);
}

/* "unnest($4::bigint[], ...) AS t (a, ...)", with the row of the log before it if it is needed. */
static void make_source(struct buf *b, enum pg_save kind)
{
    const struct save *s = &saves[kind];
    bool has_numbers = kind >= SAVE_NUMBERED;

    buf_puts(b, has_numbers ? PG_SQL_LOG ", unnest(" : "unnest(");
    pg_sql_arrays(b, has_numbers ? 4 : 1, s->columns, s->n_columns);
    buf_puts(b, ") AS t (");
    pg_sql_names(b, s->columns, s->n_columns);
    buf_puts(b, ")");
}

static void make_insert(struct buf *b, enum pg_save kind)
{
    const struct save *s = &saves[kind];

    buf_printf(b, "INSERT INTO %s (", s->table);
    pg_sql_names(b, s->columns, s->n_columns);
    buf_puts(b, ") SELECT ");
    pg_sql_values(b, s->columns, s->n_columns, false);
    buf_puts(b, " FROM ");
    make_source(b, kind);
    if (s->how == ADD)
        return;
    buf_puts(b, " ON CONFLICT (");
    pg_sql_names(b, s->columns, s->n_key);
    buf_puts(b, s->how == KEEP ? ") DO NOTHING" : ") DO UPDATE SET ");
    for (size_t i = s->n_key; i < s->n_columns; i++)
        buf_printf(b, "%s%s = excluded.%s", i == s->n_key ? "" : ", ", s->columns[i].name,
                   s->columns[i].name);
}

static void make_update(struct buf *b, enum pg_save kind)
{
    const struct save *s = &saves[kind];

    buf_printf(b, "UPDATE %s AS x SET ", s->table);
    pg_sql_values(b, s->columns + s->n_key, s->n_columns - s->n_key, true);
    buf_puts(b, " FROM ");
    make_source(b, kind);
    make_where(b, s);
}

static void make_move(struct buf *b, enum pg_save kind)
{
    buf_printf(b, "UPDATE %s AS x SET url = 'moves:' || x.id FROM ", saves[kind].table);
    make_source(b, kind);
    make_where(b, &saves[kind]);
}

static void make_delete(struct buf *b, enum pg_save kind)
{
    const struct save *s = &saves[kind];

    buf_printf(b, "DELETE FROM %s AS x USING ", s->table);
    make_source(b, kind);
    make_where(b, s);
}

static void make_all(void)
{
    for (size_t i = 0; i < SAVE_KINDS; i++) {
        texts[i] = (struct buf)BUF_INIT(BUF_ANY);
        if (saves[i].how == SET)
            make_update(&texts[i], (enum pg_save)i);
        else if (saves[i].how == MOVE)
            make_move(&texts[i], (enum pg_save)i);
        else if (saves[i].how == DROP)
            make_delete(&texts[i], (enum pg_save)i);
        else
            make_insert(&texts[i], (enum pg_save)i);
    }
}

const char *pg_save_sql(enum pg_save kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_all);
    return texts[kind].ptr;
}

void pg_save_put(struct pg_params *p, enum pg_save kind, const int64_t numbers[3],
                 const void *const *rows, size_t n)
{
    for (int i = 0; i < 3 && kind >= SAVE_NUMBERED; i++)
        pg_put_int(p, numbers[i]);
    pg_put_columns(p, saves[kind].columns, saves[kind].n_columns, rows, n);
}
