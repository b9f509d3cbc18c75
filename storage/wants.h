/* storage/wants.h - the rows that operations will look at, said before they are carried out, so
 * that all of them can be loaded at once (storage/rows.h). Pure. */
#pragma once

#include "storage/op.h"

struct want_feed {
    int64_t id;
    const struct loaded_feed
        *loaded; /* the row as the source has read it; NULL: it has to be read */
    bool with_head;
};

/* The past of a feed: how it is now. */
struct want_past {
    int64_t feed_id;
    bool leads_on;   /* a document leads to an older one: how many there are, and in which order */
    bool has_graves; /* how many tombstones there are */
};

/* A row of a feed, by a text: the uid of an entry, the URL of a document of its past. */
struct want_row {
    int64_t feed_id;
    struct str text;
};

/* An entry by its id. */
struct want_entry {
    int64_t id;
    bool with_revision; /* its newest one */
};

/* Entries of a feed by a key of their marks: the newest ones. */
struct want_key {
    int64_t feed_id, key;
};
#define WANT_KEY_MOST 8 /* more of them share a key by chance, or in feeds without ids */

/* The feed that a URL means under a credential, which may be an access key: its id. */
struct want_name {
    struct str url, credential;
};

/* The subscription of a callback to a topic, at our hub or cloud. */
struct want_hub_name {
    enum hub_protocol protocol;
    struct str callback, topic;
};

struct want_rows {
    struct want_row *at;
    size_t n, cap;
};

struct want_sub {
    int64_t id;
    bool with_dead;  /* its dead letters */
    bool with_feeds; /* which feeds it has */
    bool with_rows;  /* and the rows of these feeds */
    bool with_lease; /* at our hub or cloud */
};

/* The feeds of a subscription that a URL names. Their rows are wanted, too. */
struct want_match {
    int64_t sub_id;
    struct str url;
};

struct want_subs {
    struct want_sub *at;
    size_t n, cap;
};

/* Start with {0}. Strings are borrowed from the operations. */
struct wants {
    struct want_feed *feeds;
    struct want_past *pasts;
    struct want_entry *ids;
    struct want_key *keys;
    struct want_match *matches;
    struct want_rows entries, archives, graves;
    struct want_subs subs;
    struct want_rows places; /* who has the URL, if the feed may take it, under its credential */
    struct want_name *names;
    int64_t *times;         /* of these positions of the log */
    size_t n_new[NEW_ROWS]; /* ids for so many new rows */
    size_t n_feeds, cap_feeds, n_pasts, cap_pasts, n_ids, cap_ids, n_keys, cap_keys;
    size_t n_matches, cap_matches;
    size_t n_names, cap_names, n_times, cap_times;
    int64_t *intents;   /* with these ids */
    int64_t *callers;   /* tokens of callers, with these ids */
    struct str *tokens; /* of upstream subscriptions */
    int64_t *websubs;   /* the subscriptions of WebSub that have these feeds */
    struct want_hub_name *hub_names;
    bool counts_intents, counts_tokens, hub_due; /* as in struct rows */
    bool has_views;                              /* all named views */
    size_t n_callers, cap_callers;
    size_t n_tokens, cap_tokens, n_intents, cap_intents, n_websubs, cap_websubs, n_hub_names,
        cap_hub_names;
};

void wants_reset(struct wants *w);
void wants_release(struct wants *w);

void wants_add_feed(struct wants *w, const struct want_feed *f);
void wants_add_past(struct wants *w, const struct want_past *p);
void wants_add_sub(struct wants *w, const struct want_sub *sub);
void wants_add_marks(struct wants *w, int64_t feed_id, const struct entry_marks *marks);
void wants_add_row(struct want_rows *list, int64_t feed_id, struct str text);

/* Does the operation look up what it cannot name, or by an access key, or change rows by
 * statements? Then all that comes before it must be written when it is carried out. */
bool op_looks_up(const struct op *op);

/* Add what the operation will look at. */
void op_wants(const struct op *op, struct wants *w);

/* What was wanted is held: add what follows from it and is not held yet. False: nothing. Load it,
 * and call this again, until it says so. */
bool op_wants_more(const struct op *op, struct rows *r, struct wants *w) NODISCARD;

/* The feed `from` is part of the feed `to` now: want the same of that one. */
void wants_follow(struct wants *w, int64_t from, int64_t to);
