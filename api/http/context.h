/* api/http/context.h - what all requests share: configuration, store, ports, and the tables of each
 * room. The comment names the file to which a table belongs. Any thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "api/http/config.h"
#include "base/arena.h"
#include "base/blob.h"

/* What a reload replaces as a whole. Snapshots live until api_free(), so readers need no lock. */
struct api_conf {
    struct api_cfg cfg; /* strings in `arena` */
    struct arena arena;
    struct blob *openapi, *openapi_gzip; /* the description of the API; compressed, or NULL */
    struct api_conf *older;
};

struct api {
    _Atomic(struct api_conf *) conf;
    pthread_mutex_t reload_lock;
    struct store *store;
    struct line_file *access_log; /* http/access_log.c; NULL: none */
    struct api_ports ports;
    struct documents *documents;     /* views/documents.c */
    struct recall *recall;           /* views/recall.c */
    struct sub_book *subs;           /* views/sub_book.c */
    struct list_orders *list_orders; /* lists/list_order.c */
    struct sub_follow *follow;       /* lists/sub_follow.c */
    struct opml_lists *lists;        /* lists/opml_list.c */
    struct list_thread *list_thread; /* lists/list_thread.c */
    struct log_waiters *waiters;     /* log.c */
    struct events *events;           /* views/event_streams.c */
    struct ping_log *pings;          /* ping_log.c */
    struct long_tasks *long_tasks;   /* http/task.c */
    struct backups *backups;         /* backup.c */
    struct buckets *buckets;         /* buckets.c: pings */
    struct buckets *rates;           /* requests of tokens */
    struct buckets *first_fetches;   /* first_fetches.c */
    struct buckets *hub_calls;       /* calls at /websub and /notify */
    struct token_book *tokens;       /* token_book.c */
    struct xmpp_service *xmpp;       /* xmpp/xmpp_request.c; NULL: none */
    struct hub_waiters *hub;         /* hub_wait.c */
    atomic_long n_waits;             /* fetches that requests wait for */
    pthread_mutex_t stop_lock;       /* for threads that are not http loops */
    bool stopping;                   /* under stop_lock: publishers are not asked any more */
};
