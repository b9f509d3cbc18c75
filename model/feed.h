/* model/feed.h - what is stored: feeds, revisions, subscriptions. Plain data.
 *
 * The strings of a struct live in the arena into which it was read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"
#include "model/keep.h"
#include "model/marks.h"

enum feed_state {
    FEED_NEW = 0, /* never fetched with success */
    FEED_OK = 1,
    FEED_FAILING = 2, /* the last fetch failed; what is stored is served */
    FEED_GONE = 3,    /* 410 for a day: asleep, asked once a week */
    FEED_QUOTA = 4,   /* it brought more new entries than a feed may within a day; the rest waits */
};

/* Why a feed is fetched, or when it is fetched next. Stored and shown by name. */
enum fetch_reason {
    REASON_NONE = 0,
    REASON_READER,      /* a request waits for it */
    REASON_PING,        /* a ping, or a ping server's change log, named it */
    REASON_PERIOD,      /* its level's or exact period */
    REASON_MAX_AGE,     /* the answer's Cache-Control or Expires asks for longer */
    REASON_TTL,         /* the feed's ttl or sy:updatePeriod asks for longer */
    REASON_SKIP,        /* skipHours or skipDays */
    REASON_RETRY_AFTER, /* the publisher's Retry-After */
    REASON_BACKOFF,     /* errors in a row */
    REASON_GONE,    /* asleep after 410; or nobody has asked for it for 30 days: not scheduled */
    REASON_NEW,     /* just added */
    REASON_HUB,     /* the publisher's hub tells of updates: polled now and then, as a check */
    REASON_CONTENT, /* not the feed itself: the content of a metadata record (Atom-PMH) is due */
    REASON_HAND,    /* somebody asked for this fetch by hand */
    REASON_PAUSED,  /* somebody paused the feed: not scheduled */
    REASON_QUOTA,   /* what it brings is more than a feed may bring within a day */
    REASON_GAP,     /* entries may have been missed: it is asked more often for a while */
    REASON_COUNT_
};

/* How the callback of a hub or a cloud is called: that of a subscriber of ours, or ours at a
 * publisher's. Stored. */
enum hub_protocol {
    HUB_WEBSUB = 0,
    CLOUD_HTTP_POST = 1, /* rssCloud: a form with the URL of the feed */
    CLOUD_XML_RPC = 2,   /* rssCloud: a call of a procedure with the URL of the feed */
};

/* A subscription of ours at an upstream hub (WebSub) or upstream cloud (rssCloud). Stored, shown by
 * name. */
enum upstream_state {
    UPSTREAM_IDLE = 0,   /* the hub is known; nobody wants the feed, or the hub cannot reach us */
    UPSTREAM_ASKING = 1, /* not requested yet, or not verified yet */
    UPSTREAM_ACTIVE = 2, /* verified, and its lease has not ended */
    UPSTREAM_FAILED = 3, /* refused, denied, or its lease has ended; tried again */
    UPSTREAM_ENDING = 4, /* no longer wanted; the hub has not confirmed the end yet */
};

struct upstream {
    struct str token;    /* last part of the callback's URL, 160 random bits. SECRET */
    struct str base_url; /* the part of the callback's URL before "/websub/" or "/notify/" */
    struct str secret;   /* signs deliveries. SECRET */
    enum hub_protocol protocol;
    struct str hub;       /* canonical URL; of a cloud: where one registers */
    struct str procedure; /* CLOUD_XML_RPC: the one of the cloud that registers; otherwise null */
    struct str topic;     /* as the publisher wrote it */
    int64_t feed_id;      /* the feed may be gone */
    bool is_current;      /* false: the feed has another hub or topic now, or none */
    bool from_page;       /* a web page names the hub; the feed itself does not */
    bool for_subs;        /* true: the feed is wanted for subscriptions; false: for readers */
    enum upstream_state state;
    int64_t lease_end_at; /* TIME_UNKNOWN: never verified */
    int64_t next_at;      /* when the next action is due; TIME_UNKNOWN: nothing is planned */
    int64_t ended_at;     /* clients that asked for the feed before this time do not count;
                             TIME_UNKNOWN: all count */
    int n_errors;         /* in a row */
    struct str error;     /* null: none */
    /* what polls and deliveries have shown about the hub; only the storer changes these: */
    int trust; /* polls in a row that found nothing missed; TRUST_FULL after a delivery, or after a
                  notification that was followed by news; -1: a poll found what was not announced,
                  and there was no such delivery or notification since */
    int64_t delivered_at; /* last delivery or notification; TIME_UNKNOWN: never */
};
#define TRUST_FULL 30

/* State of a Smart Feed that is read by cursor: bits, stored. */
enum cursor_state {
    CURSOR_FIRST = 1,   /* the end of the stream has not been reached yet: the items that come were
                           there at the first look */
    CURSOR_REFUSED = 2, /* the last cursor was refused: reading begins at the start again */
    CURSOR_AGAIN = 4,   /* since then the end has not been reached: the items were there before */
};

#define LEVEL_EXACT (-1) /* freq gave a period in seconds */

enum sanitize_setting {
    SANITIZE_KEEP = 0, /* the request says nothing about sanitizing */
    SANITIZE_ON,
    SANITIZE_OFF,
};

/* A permanent redirect from the feed's URL that is not believed yet (fetcher/moves.h). */
struct feed_move {
    struct str to; /* where it leads; null: there is none */
    int64_t since; /* when it was first seen; TIME_UNKNOWN without one */
    int n;         /* fetches since then that found the feed there */
};

struct feed {
    int64_t id;
    struct str url;        /* canonical, without credentials */
    struct str id_url;     /* the first URL of the feed: derived ids are made from it */
    struct str credential; /* "user:password", percent-decoded, and as store_unseal() opens it;
                              SECRET; null when none */
    struct str secrets;    /* what goes with its fetches (model/fetch_secrets.h), as store_unseal()
                              opens it; SECRET; null when none */
    struct str access_key; /* opaque user part that stands for the credential in our own links */
    struct str page_url;   /* the HTML page it was discovered from; null */
    struct str site_url;   /* the feed's own link */
    struct str title;
    struct str etag, last_modified; /* verbatim validators; null when none */
    struct str validators_url;      /* which URL gave them, without its query; null: `url` did */
    bool has_body_hash;
    unsigned char body_hash[16];
    enum feed_state state;
    int level;        /* 0, 1, 2 or LEVEL_EXACT */
    int64_t period_s; /* for LEVEL_EXACT; of level 1 what follows from how it posts; 0: the level
                         decides */
    int64_t last_check_at;   /* last fetch that ended; TIME_UNKNOWN before the first */
    int64_t last_success_at; /* 200 or 304 */
    int64_t last_change_at;  /* last new revision; the first document, when it had no entries */
    int64_t next_fetch_at;   /* TIME_UNKNOWN: not scheduled */
    enum fetch_reason next_reason;
    int64_t wanted_at;     /* last time a reader asked for it */
    int last_status;       /* HTTP status of the last fetch; 0 when there was no answer */
    int n_errors;          /* failures in a row */
    struct str last_error; /* null when the last fetch succeeded */
    int64_t version;       /* grows with every visible change; never reused */
    int64_t n_entries;     /* that are not deleted */
    int64_t n_items;       /* deleted ones included */
    int64_t n_pings; /* all pings so far; a fetch answers the pings that came before it began */
    int n_subscriptions;
    struct identity_policy identity;
    struct upstream upstream; /* the present one: hub, topic, state, times, trust; hub null: none */
    bool complete;           /* its document says that it shows all there is (RFC 5005 section 2) */
    bool partial;            /* documents of its past are known that have not been read */
    int64_t harvest_at;      /* Atom-PMH: all metadata records up to here were seen; TIME_UNKNOWN */
    int64_t harvest_to;      /* the same, when the pending documents of the past have been read */
    int content_failures;    /* answers in a row that left the content of an entry open */
    int64_t content_wait_at; /* no content is requested before this time; TIME_UNKNOWN: there is no
                                such time */
    struct str cursor; /* Smart Feeds: all items up to it are here; empty: none are; null: the feed
                          is not followed by cursor */
    unsigned cursor_state; /* of enum cursor_state */
    bool is_broken;        /* the event "broken" was told, and "recovered" not yet */
    int64_t mirror_from;   /* files of entries whose first revision is at or after this seq are
                              mirrored (model/mirror.h); 0: of none */
    bool raw_html;         /* HTML is taken in as the publisher wrote it, not sanitized */
    bool is_list;          /* subscriptions follow it as a list of feeds (OPML) */
    bool is_paused;        /* no period, ping or reader has it fetched; only a hand has */
    int n_gone;            /* answers 410 since it was last there */
    int64_t gone_since;    /* the first of them; TIME_UNKNOWN: there was none */
    int64_t gap_since;     /* two documents in a row had no entry in common, and its past did not
                              fill the gap; TIME_UNKNOWN: no gap is known */
    struct feed_move move;
    struct str history; /* its last fetches (model/fetch_note.h); null: none are noted */
    struct str
        pace; /* how it posts, and the period that follows (model/pace.h); null: nothing is known */
    int need_class;     /* how many fetches it needs */
    int64_t horizon;    /* retention took revisions up to this seq, and none after it; 0: none */
    int64_t horizon_us; /* event time of that revision */
    int64_t last_seq;   /* its newest revision, also when that was taken; 0: it has had none */
    int64_t newest_at;  /* no entry that is not deleted has a later sort_at; TIME_UNKNOWN: it has had none */
    int64_t n_taken;    /* revisions that retention has taken, ever */
    struct str shown;   /* what its document shows (model/shown.h); null: not known */
    struct keep keep;   /* how much of it is to be kept, by its own setting */
    struct str head;    /* JSON of the feed's dict and the facts beside it (see schema.sql) */
    struct str ext;     /* foreign elements of the head, XML */
    struct doc_hint_row {
        int64_t max_age_s, ttl_s, sy_period_s;
        uint32_t skip_hours;
        uint8_t skip_days;
    } hints;
};

/* Is it followed as a list of feeds, and was it never a feed itself? */
static inline bool feed_is_list(const struct feed *feed)
{
    return feed->is_list && feed->head.len == 0;
}

/* Stored, but for the last one. */
enum revision_kind {
    REV_NEW = 0,
    REV_CHANGED = 1,
    REV_DELETED = 2,
    REV_LEFT = 3, /* what a filtered view tells: the entry matched before, and does not any more */
};

/* One row of the log, or the current state of an entry. */
struct revision {
    int64_t seq;
    int64_t first_seq; /* seq of the entry's first revision */
    int64_t last_seq;  /* seq of the entry's newest revision; equal to seq for the current state */
    int64_t prev_seq;  /* seq of the entry's revision before this one; 0: it is the first */
    bool gone;         /* the entry's newest revision is a deletion */
    int64_t at_us;     /* event time T, strictly increasing over the log */
    int64_t feed_id;
    int64_t batch; /* seq of the first revision of the same fetch */
    enum revision_kind kind;
    bool initial; /* was there when the feed was first fetched */
    struct str uid;
    struct str
        id_url;      /* of an entry that came from a merged feed: id_url of that feed; else null */
    int64_t sort_at; /* entry date that orders merges, Unix seconds */
    int64_t published_at, updated_at;        /* TIME_UNKNOWN */
    struct str title, link, summary, author; /* normalized; null when absent */
    struct str doc; /* JSON object of the entry; empty if it is not there */
    struct str ext; /* foreign elements, XML */
};

/* Does the revision have an entry? Otherwise it tells that there is none any more. */
static inline bool revision_has_entry(const struct revision *rev)
{
    return rev->kind == REV_NEW || rev->kind == REV_CHANGED;
}

/* Stored. */
enum sub_state {
    SUB_ACTIVE = 0,
    SUB_SUSPENDED = 1, /* its endpoint has failed for too long, or wants no more */
    SUB_PAUSED = 2,    /* somebody stopped it; the position is kept */
};

/* What a subscription is told. Bits, stored. Those of revisions are 1 << enum revision_kind. */
enum sub_event {
    SUB_NEW = 1,
    SUB_CHANGED = 2,
    SUB_DELETED = 4,
    SUB_LEFT = 8,  /* an entry that was changed and does not match the filter any more */
    SUB_FEED = 16, /* events of the feed itself: struct feed_event */
};
#define SUB_EVENTS_DEFAULT (SUB_NEW | SUB_CHANGED)
#define SUB_EVENT_KINDS 5

/* A feed is broken when it failed so often in a row, or so long after it was well (DELIV-03). */
#define FEED_BROKEN_FAILURES 3
#define FEED_BROKEN_S (6 * 3600)

/* Something that happened to a feed itself. Stored. */
enum feed_event_kind {
    FEED_EVENT_BROKEN,    /* it fails; told once until it recovers */
    FEED_EVENT_RECOVERED, /* after "broken": it answers again */
    FEED_EVENT_MOVED,     /* it has another URL from now on */
    FEED_EVENT_GONE,      /* 410 for a day: it is asked once a week only */
    FEED_EVENT_GAP,       /* some entries may be missed (docs/delivery.md) */
};

struct feed_event {
    int64_t seq, at_us; /* of the log */
    int64_t feed_id;
    enum feed_event_kind kind;
    struct str detail; /* the error; the new URL; null */
};

/* A position in the log with the time of its revision: what a cursor is made of. */
struct log_mark {
    int64_t seq, at_us;
};

/* What became of a delivery. Stored. */
enum delivery_verdict {
    DELIVERY_DELIVERED,
    DELIVERY_RETRY,     /* it failed, and is tried again */
    DELIVERY_REFUSED,   /* the receiver refused what it was given; a smaller part is tried */
    DELIVERY_DEAD,      /* one entry was refused for good */
    DELIVERY_SUSPENDED, /* the receiver wants no more, or has failed for too long */
};

/* One line of a subscription's delivery log. */
struct delivery_note {
    int64_t at_us;               /* when the answer came */
    int n_try;                   /* from 1 */
    int64_t n_entries;           /* feed events count, too */
    struct log_mark first, last; /* seq 0: there was no entry */
    int status;                  /* 0: no answer */
    int64_t ms;                  /* how long the call took */
    enum delivery_verdict verdict;
    struct str error; /* null: none */
};
#define DELIVERIES_KEPT 100 /* for each subscription */

/* A subscription as it is read for a delivery. */
struct push_sub {
    int64_t id;
    struct arena *arena; /* of what follows, which is read */

    struct subscription *sub; /* with its feeds; NULL: there is no such subscription */
    struct str credential;    /* of the endpoint; null: none. SECRET */
    struct str settings;      /* of the sink: JSON, or null. SECRET */
    bool wants_dead;          /* a dead letter is to be delivered again */
};

/* An entry that an endpoint refused for good. */
struct dead_letter {
    int64_t id;
    int64_t sub_id;
    struct log_mark at; /* its revision */
    struct str uid;
    int64_t refused_at; /* the last time, Unix seconds */
    int status;         /* 0: no answer */
    struct str answer;  /* its first DEAD_ANSWER_MAX bytes, as UTF-8 */
    bool wanted;        /* to be delivered again */
};
#define DEAD_LETTERS_KEPT 1000 /* for each subscription: more push out the oldest */
#define DEAD_ANSWER_MAX 1024

/* How many dead letters a subscription has. */
struct dead_count {
    int64_t sub_id, n;
};

/* By whom a feed of a subscription was named. Stored. */
enum listed {
    LISTED_NOT = 0,     /* by the subscriber */
    LISTED_PRESENT = 1, /* by the list that the subscription follows */
    LISTED_ABSENT = 2, /* it was, but is not in the list's last answer: an equal one takes it out */
    LISTED_LIST = 3,   /* it is not a feed, but that list */
};

struct subscription {
    int64_t id;
    struct str endpoint; /* null: polled and listed, nothing is pushed */
    struct str sink;     /* "xmlrpc", ... */
    enum sub_state state;
    unsigned events;       /* bits of enum sub_event */
    int batch;             /* entries in one delivery, at most; 0: as configured */
    int64_t position;      /* everything up to this seq was delivered or is not wanted */
    int64_t generation;    /* grows when somebody sets the position: replay, skip */
    struct log_mark chain; /* where the last delivery ended; first: where it began */
    bool with_initial;     /* from=...: also what was there before */
    int64_t created_at;
    int64_t owner;         /* who made it: the id of a token, or OWNER_... (model/access.h) */
    int64_t next_try_at;   /* TIME_UNKNOWN: no failure pending */
    int64_t failing_since; /* TIME_UNKNOWN: not failing */
    int n_failures;        /* in a row */
    int64_t n_delivered, n_faults;
    int64_t n_calls;     /* lines of the delivery log that were written, ever */
    int64_t refused_seq; /* the entry that the endpoint has refused alone; 0: none */
    int n_refusals;      /* so many times */
    int64_t part_max;    /* after a refusal: most entries in a delivery; 0: as many as usual */
    int64_t part_until;  /* until the position is here */
    struct str last_error;
    struct str filter; /* what matters in its feeds: canonical (feed/filter/filter.h); null: all */
    struct str asks;   /* what its feeds and its filter follow (api/views/asks.h); null: nothing */
    struct keep keep;  /* how much of its feeds is to be kept */
    struct sub_feed {
        int64_t feed_id;
        struct str url; /* as it was subscribed, without credentials */
        /* null when not given: */
        struct str name;     /* the subscriber's own name for the feed */
        struct str folder;   /* JSON list of the names of its folders, outermost first */
        struct str category; /* of OPML: "a,/b/c" */
        enum listed listed;
    } * feeds;
    size_t n_feeds;
    /* the list that names its feeds; NULL: it follows none. Its name is the subscriber's own, and
     * its folder the one in which those of the list are */
    struct sub_feed *list;
};

/* A host asked us to wait. Times count from now. */
struct host_rest {
    struct str host;   /* "host:port"; of more than HOST_REST_LEN bytes it is not kept */
    int64_t cool_ms;   /* nothing that can wait is asked before */
    int64_t gentle_ms; /* requests have a gap before; not less than the other one; not above 0: it is over */
};
#define HOST_REST_LEN 300

/* A stored rest of which more is left was written by a wrong clock, or is read by one: it is void.
 * (A day, then 10 min of gentleness: fetcher/hosts.c; and a minute by which clocks may differ.) */
#define HOST_REST_MOST_US (INT64_C(87060) * 1000000)

/* It is kept for a day after it was over. If the daemon was stopped meanwhile, all feeds of the host are due when it
 * starts, and are not to come together then (ETIQ-03). */
#define HOST_REST_KEPT_US (INT64_C(86400) * 1000000)

/* "new", "failing", ... ; "reader", "ping", ... ; "new", "changed", "deleted"; "active", ... */
const char *feed_state_name(enum feed_state s);
/* What people are told: a feed that has only failed yet is failing. */
const char *feed_state_shown(enum feed_state s, int n_errors);
const char *fetch_reason_name(enum fetch_reason r);
const char *upstream_state_name(enum upstream_state s);
const char *revision_kind_name(enum revision_kind k);
const char *sub_state_name(enum sub_state s);
/* Of the event with the bit 1 << i: "new", "changed", "deleted", "left", "feed". */
const char *sub_event_name(size_t i);
const char *feed_event_name(enum feed_event_kind k);
const char *delivery_verdict_name(enum delivery_verdict v);
