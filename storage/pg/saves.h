/* storage/pg/saves.h - how rows of each kind are written: one statement a kind, with an array for
 * each column.
 *
 * A further kind is a row in the table of storage/pg/saves.c, and what collects its rows in
 * storage/pg/writer.c. The statements are made of the lists of storage/tables.h. */
#pragma once

#include "model/access.h"
#include "model/hub.h"
#include "storage/pg/link.h"
#include "storage/pushes.h"
#include "storage/records.h"

/* In this order they are written. */
enum pg_save {
    /* without numbers of this transaction; before the row of the log is locked */
    SAVE_BODIES,
    SAVE_KEYS_GONE,
    SAVE_KEYS,
    SAVE_OVERLAYS_GONE,
    SAVE_CONTENTS,
    SAVE_CONTENTS_GONE,
    SAVE_IDENTITIES,
    SAVE_HEADS,
    SAVE_URLS_LEFT, /* when several feeds move: one may go where another one was */
    SAVE_URLS,
    SAVE_ALIASES_GONE, /* of those that are saved, too */
    SAVE_ALIASES,
    SAVE_UPSTREAM_NEWS, /* of the current ones of feeds */
    SAVE_UPSTREAMS_NOT_CURRENT,
    SAVE_UPSTREAMS_GONE,
    SAVE_UPSTREAMS,
    SAVE_UPSTREAMS_TRUST,
    SAVE_ARCHIVES_GONE, /* of those that are saved, too */
    SAVE_ARCHIVES,
    SAVE_GRAVES_OF_FEED_GONE,
    SAVE_GRAVES_GONE, /* the same */
    SAVE_GRAVES,
    SAVE_DEAD_GONE,
    SAVE_DEAD_WANTED,
    SAVE_DEAD_REFUSED,
    SAVE_DEAD,
    SAVE_NOTES,
    SAVE_INTENTS_GONE,
    SAVE_INTENTS,
    SAVE_UNNAMED_INTENTS, /* which get their ids here */
    SAVE_TOKENS_GONE,
    SAVE_TOKENS,
    SAVE_VIEWS_GONE,
    SAVE_VIEWS,
    SAVE_COUNTS,
    SAVE_SUB_FEEDS_GONE,
    SAVE_SUB_FEEDS,
    SAVE_NOTES_OF_SUB_GONE,
    SAVE_SUBS_GONE, /* and what refers to them */
    /* with numbers */
    SAVE_NUMBERED,
    SAVE_NEW_FEEDS = SAVE_NUMBERED,
    SAVE_NEW_SUBS,
    SAVE_NEW_SUB_FEEDS,
    SAVE_LEASES,
    SAVE_NEW_ENTRIES,
    SAVE_ENTRIES,
    SAVE_REVISIONS,
    SAVE_OVERLAYS,
    SAVE_HEAD_LOG,
    SAVE_EVENTS,
    SAVE_FEEDS,
    SAVE_SUBS,
    SAVE_WHOLE_SUBS,
    SAVE_KINDS
};

/* What is written of rows that are not held as they stand in a table. */
struct line_key {
    int64_t feed_id, key, entry_id;
};
struct line_content {
    struct content_row row;
    int64_t entry_id;
};
struct line_head {
    struct feed feed;
    int64_t since_seq;
};
struct line_revision {
    struct revision row;
    int64_t entry_id, body;
};
struct line_upstream {
    int64_t feed_id, delivered_at;
    int trust;
};
struct line_note {
    struct delivery_note note;
    int64_t sub_id, slot;
};
struct line_intent {
    struct hub_intent row;
    struct str feeds; /* as in the table */
};
struct line_overlay {
    int64_t seq;
    struct str doc, ext;
};

/* The statement of a kind. It is made by the first call and never changes. Any thread. */
const char *pg_save_sql(enum pg_save kind);

/* The parameters of a statement, for rows that the kind's columns are of. `numbers`: the last seq,
 * event time and version that this transaction has drawn. */
void pg_save_put(struct pg_params *p, enum pg_save kind, const int64_t numbers[3],
                 const void *const *rows, size_t n);
