/* storage/pg/link_priv.h - what the files that make up a connection share: link.c, trip.c. */
#pragma once

#include <libpq-fe.h>

#include "storage/pg/link.h"

#define N_SLOTS 512 /* a power of two, well above the number of statements in the sources */

struct pg_slot { /* a statement that is kept prepared */
    const char *sql;
    bool is_asked; /* it will be, when the trip that is queued goes well */
    bool is_prepared;
};

struct pg_item {              /* what one answer in the trip belongs to */
    struct pg_slot *prepares; /* NULL: it is a statement that runs */
    const char *columns;
    struct pg_answer *out; /* NULL: nobody wants it */
    PGresult *result;
};

struct pg_attempt;

struct pg_link {
    struct pg_link_cfg cfg;
    PGconn *conn;               /* NULL: there is no connection */
    struct pg_attempt *late;    /* an attempt to connect that goes on; NULL: there is none */
    int stop_fd;                /* eventfd, readable since pg_link_stop() */
    int n_failures;             /* attempts to connect, in a row */
    _Atomic int64_t lost_at_ms; /* monotonic; 0: there is a connection */
    _Atomic int64_t trip_at_ms; /* when the trip began; 0: none is under way */
    _Atomic int session;        /* the server's number of it; 0: there is none */
    int64_t n_trips;
    enum pg_fault fault;
    struct err trouble; /* of the trip: the first failure, in words */
    struct pg_item *items;
    size_t n_items, cap;
    bool has_run;       /* the items are of the last trip */
    bool is_committing; /* the last item is a COMMIT */
    bool is_warned;     /* the commit did not wait for the standby */
    size_t n_slots;
    struct pg_slot slots[N_SLOTS]; /* open addressing by the text's address */
};

/* Note a failure, unless there was one before. `text`: what the library or the server says. */
void pg_fail(struct pg_link *l, enum pg_fault fault, const char *text);

/* Close the connection. Answers that have come can still be read. */
void pg_drop(struct pg_link *l);

/* Forget the last trip, its answers and its failure. */
void pg_new_trip(struct pg_link *l);

/* Wait for `fd` (-1: for time alone) at most until `until_ms`, a monotonic time; INT64_MAX: without
 * end. */
enum pg_wait { PG_READY, PG_LATE, PG_STOPPED };
enum pg_wait pg_wait(struct pg_link *l, int fd, short events, int64_t until_ms);

/* Give a failure of the trip to the caller: RC_OK if there was none. */
enum rc pg_tell(struct pg_link *l, struct err *err);
