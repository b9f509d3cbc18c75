/* storage/pg/reader.h - a connection that only reads, for the files that make up the reading calls:
 * reads_*.c.
 *
 * A call puts the parameters of its statements into `params`, queues them by pg_ask(), and sends
 * all of them by pg_hear(), in one round trip. In a snapshot the first of them brings BEGIN along,
 * and its end takes one more trip.
 */
#pragma once

#include "storage/engine.h"
#include "storage/pg/columns.h"
#include "storage/pg/link.h"
#include "storage/pg/statements.h"

struct pg_uri;

struct pg_storing;
struct pg_replica;

/* Who is asked by one trip. */
enum pg_route { PG_ROUTE_OPEN, PG_ROUTE_SERVER, PG_ROUTE_REPLICA };

struct pg_reader {
    struct db db;
    struct pg_storing *storing; /* NULL: this is not the storer's */
    int64_t node;               /* whose notices are our own; 0: nobody's */
    int wake_fd; /* eventfd of the one that follows other nodes; -1: this is not it */
    const struct pg_link *storer; /* of the same: the storer's; NULL: this is not it */
    struct pg_uri *uri;
    struct pg_link *link;
    struct pg_params params;    /* of the next statement */
    int n_snapshots;            /* so many calls of snapshot() have no snapshot_end() yet */
    bool has_begun;             /* the transaction of the outer one is open */
    bool is_together;           /* what is asked until pg_hear() is a transaction of its own */
    struct err trouble;         /* there is no connection, and why; RC_OK: there is one */
    int64_t away_until_ms;      /* monotonic; until then nobody tries to connect */
    struct pg_replica *replica; /* NULL: there is none */
    bool may_use_replica, has_used_replica;
    enum pg_route route; /* of what is asked until pg_hear() */
};

/* The reader of a connection. */
struct pg_reader *pg_reader_of(struct db *db);

/* Queue a statement with the parameters, and forget these. *out is filled in by pg_hear(). Without
 * a connection, and outside a snapshot, it connects first. A copy may answer instead, if that is
 * allowed (storage/pg/replica.h). */
void pg_ask(struct pg_reader *r, enum pg_statement_id id, struct pg_answer *out);

/* The statements that follow, up to pg_hear(), see one state of the database. */
void pg_together(struct pg_reader *r);

/* Send what was asked, and read the answers: one round trip. */
enum rc pg_hear(struct pg_reader *r, struct err *err) NODISCARD;

/* What reads all rows of something goes by pages, from PG_PAGE_FIRST rows to `max`: so each answer
 * begins soon, and a list is held once. The first ones are small, and so most lists have several.
 */
#define PG_PAGE_FIRST ((size_t)4)
size_t pg_next_page(size_t page, size_t max);

/* The number of the only column of the only row; `otherwise`: there is no row, or NULL. */
int64_t pg_number(const struct pg_answer *a, int64_t otherwise);

/* Make a reader without a connection. `cfg` without the address. RC_INPUT: as pg_uri_read(). */
enum rc pg_reader_new(const char *address, const struct pg_link_cfg *cfg, struct db **out,
                      struct err *err) NODISCARD;

/* The link. */
struct pg_link *pg_reader_link(struct db *db);
