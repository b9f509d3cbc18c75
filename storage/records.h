/* storage/records.h - rows of tables as structs, as all engines give them and take them.
 *
 * Rows that other layers see too stand in model/ (struct feed, struct revision, struct
 * subscription). What one transaction of the storer holds of them is in storage/rows.h.
 */
#pragma once

#include "base/clock.h"
#include "model/feed.h"
#include "model/marks.h"

/* A row of `feeds`. */
struct feed_row {
    struct feed feed; /* head and ext are null unless they were asked for */
    bool fetched;     /* a document of it was stored */
};

/* A row of `entries`. */
/* Why an entry is not shown. The row of one of which retention has taken everything still says who
 * it was, so that it does not come back as new. If that was a tombstone, it stays ENTRY_DELETED,
 * and only gone_at tells. */
enum entry_end { ENTRY_LIVES = 0, ENTRY_DELETED = 1, ENTRY_TAKEN = 2 };

struct entry_row {
    int64_t id, feed_id;
    struct str uid;         /* entries_find() does not read it, but copies its own */
    int64_t first_seq, seq; /* of its first and its newest revision */
    int64_t sort_at;        /* Unix seconds; orders views of the newest entries */
    bool dated;             /* sort_at is the publisher's date */
    int deleted;            /* enum entry_end */
    int64_t iri_hash; /* hash of an id that is an absolute IRI; 0: the id is not an absolute IRI */
    unsigned char essence[16];   /* digest by which a change is noticed */
    unsigned char doc_hash[16];  /* digest of doc and ext */
    int64_t updated_us, dead_at; /* as in schema.sql; TIME_UNKNOWN */
    int64_t gone_at;             /* the same */
    bool has_marks;
    struct entry_marks marks;
};

/* The access key in a credential as a URL carries it ("fm-..." with or without ":"); null: it is
 * not an access key. Pure. */
static inline struct str access_key_of(struct str credential)
{
    ssize_t colon = str_chr(credential, ':');

    if (!str_starts(credential, STR("fm-")))
        return STR_NULL;
    if (colon >= 0 && (size_t)colon + 1 < credential.len)
        return STR_NULL; /* it has a password, so it is a real user name */
    return colon < 0 ? credential : str_slice(credential, 0, (size_t)colon);
}

/* An entry that has one of several uids. */
struct uid_match {
    size_t of; /* index of the uid */
    int64_t feed_id, first_seq, seq, sort_at;
    bool deleted, has_iri; /* its id is an absolute IRI */
    unsigned char essence[16];
};

/* A row of `contents`: the content of a metadata record (Atom-PMH). */
enum content_state {
    CONTENT_OPEN = 0,   /* it is to be asked for */
    CONTENT_STORED = 1, /* it is part of the entry */
    CONTENT_NONE = 2,   /* no alternate has a form that can be taken in */
    CONTENT_GONE = 3,   /* all alternates are gone, so the entry was deleted */
};

struct content_row {
    int64_t entry_id, feed_id;
    enum content_state state;
    int form, n_gone, failures;
    int64_t gone_at; /* since when the content has been gone; TIME_UNKNOWN: it is not gone */
    int64_t try_at;  /* the content is not requested before this time */
};

/* The row of an entry that has got a new version: CONTENT_OPEN, whatever its state was. */
static inline struct content_row content_new(int64_t feed_id)
{
    return (struct content_row){.feed_id = feed_id, .gone_at = TIME_UNKNOWN};
}

/* A row of `archives`: a document of a feed's past. At most ARCHIVES_MAX documents of a feed are
 * read. One more is noted, which shows that the past is not complete. */
#define ARCHIVES_MAX 10000

enum archive_state {
    ARCHIVE_UNREAD = 0,
    ARCHIVE_READ = 1,
    ARCHIVE_TOO_MANY = 2, /* it was noted, but is never requested */
    ARCHIVE_CUT = 3,      /* it was read without its end, and is read once more */
};

struct archive_row {
    int64_t feed_id;
    struct str url;
    enum archive_state state;
    int64_t order;  /* in which the feed led to its documents; larger is later */
    int64_t walk;   /* the harvest (Atom-PMH) that asked for it; below 0: wanted since the gap that began then; else 0 */
    int64_t try_at; /* it is not requested before this time */
    int failures;   /* in a row */
};

/* Tombstones of entries that are not known: at most so many of a feed. */
#define TOMBSTONES_MAX 100000

/* The feed's events over this number are dropped, the oldest ones first. */
#define FEED_EVENTS_KEPT 1000
