/* notifier/dispatch.h - the parts of the notify loop and what they share; notifier/ only.
 *
 * notifier.c starts, stops and keeps the roster true to the database; dispatch.c takes turns, makes
 * the calls and has their outcomes written. Everything here belongs to the notify loop's thread,
 * except what is marked.
 */
#pragma once

#include <pthread.h>

#include "net/http_client.h"
#include "net/loop.h"
#include "notifier/notifier.h"
#include "notifier/push_job.h"
#include "notifier/roster.h"

#define NOTIFIER_MAGIC 0x6e6f7469u

/* What commits told, until the loop takes it. */
struct news {
    int64_t *feeds; /* with new revisions */
    int64_t *moved; /* records that became part of another one */
    int64_t *subs;  /* subscriptions made, changed or ended */
    size_t n_feeds, n_moved, n_subs;
    size_t cap_feeds, cap_moved, cap_subs;
};

/* One read of subscriptions, to bring the roster up to date. */
struct reload {
    struct notifier *n;
    uint64_t number;
    bool all;
    int64_t *ids;
    size_t n_ids, cap_ids;
    struct arena *arena; /* of what follows, filled by the reader */
    struct subscription *subs;
    size_t n_subs;
    enum rc rc;
    struct err err;
};

/* From the endpoint's turn to the end of its call. */
struct turn {
    struct notifier *n;
    struct endpoint *endpoint; /* busy */
    struct push_job *job;
    uint64_t call;        /* of the HTTP client; 0: not started */
    int64_t mono_started; /* ms */
};

/* The outcome of a turn on its way to the database. */
struct ack {
    struct notifier *n;
    struct push_outcome outcome; /* error: bytes of `error` */
    char *error;
    enum attempt_event event; /* once it is written */
    int64_t pause_ms;         /* then */
    int64_t from_position;    /* the position that the turn started from */
    bool at_storer;           /* then the storer's answer frees it, nobody else */
    enum rc rc;               /* the storer's answer */
};

struct notifier {
    unsigned magic;
    struct notifier_cfg cfg;
    struct loop *loop; /* NULL before the start */
    struct http_client *client;
    struct verifier *verifier; /* NULL: there is no hub */
    struct roster roster;
    struct bodies *bodies;
    size_t n_reading, n_calling;
    size_t n_acks;            /* outcomes not yet written */
    struct loop_timer *again; /* dispatch is tried again: something was full */
    bool stopping;            /* no new turns */
    bool stopped;             /* late messages are only disposed of */

    struct reload *collecting; /* subscriptions to be read next */
    struct reload *loading;    /* the one under way; NULL: none */
    struct loop_timer *load_again;
    uint64_t reload_done; /* number of the last one that was applied */

    pthread_mutex_t lock;   /* any thread; guards the rest */
    pthread_cond_t drained; /* CLOCK_MONOTONIC; is_drained was set */
    bool is_drained;
    bool listening;
    bool posted; /* the loop has been told of `news` */
    bool hub_news;
    struct news news;
};

/* Take what commits have told so far. */
void notifier_take_news(struct notifier *n);

/* Let the event change the member's state, with all that follows from it. */
void dispatch_event(struct notifier *n, struct member *m, enum attempt_event event);

/* Start as many turns as there is room for. */
void dispatch_run(struct notifier *n);

/* The subscription is gone: forget the member, and cancel its call. */
void dispatch_remove(struct notifier *n, struct member *m);

/* The subscription was read again, by reload `number`, and this is its position: when that is not
 * the one that the turn under way started from, somebody has set it meanwhile, and that wins. An
 * outcome that waited for this goes on its way. */
void dispatch_reloaded(struct notifier *n, struct member *m, uint64_t number, int64_t position);

/* The loop ends: drop timers and outcomes that are not at the storer. */
void dispatch_abandon(struct notifier *n);

/* Tell notifier_stop() when nothing is under way any more. */
void dispatch_check_drained(struct notifier *n);
