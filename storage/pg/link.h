/* storage/pg/link.h - a connection to PostgreSQL, and statements that travel together.
 *
 * Statements are queued, and pg_run() sends all of them and reads all answers in one round trip
 * (libpq's pipeline mode). The first that fails ends the trip: those after it are not run. A
 * statement's text is a constant; its address is the key under which it is kept prepared, so it is
 * prepared in the trip in which it is used first.
 *
 *     pg_queue_begin(l);
 *     pg_queue(l, sql_feeds, &ids, "is", &feeds);
 *     rc = pg_run(l, err);                     // one trip
 *     ... read `feeds`, compute ...
 *     pg_queue(l, sql_save, &rows, "", NULL);
 *     rc = pg_commit(l, err);                  // one trip
 *     if (rc != RC_OK)
 *         pg_rollback(l);
 *
 * After a failure pg_fault() says what can be done about it. After LOST, UNSURE and UNREPLICATED
 * there is no connection until pg_connect(). Messages of the server are passed on without their
 * details, which quote rows, and without passwords.
 *
 * A link belongs to one thread at a time; other threads may call what says so.
 */
#pragma once

#include "storage/pg/answer.h"
#include "storage/pg/fault.h"
#include "storage/pg/params.h"

struct pg_uri;
struct pg_link;

struct pg_link_cfg {
    struct pg_uri *uri; /* borrowed, and used by this link alone */

    /* What each new connection does first; NULL: nothing. If it fails, there is no connection, and
     * pg_connect() returns what it says. */
    enum rc (*on_connect)(struct pg_link *l, struct err *err);
    void *ctx;          /* pg_ctx(), for on_connect */
    bool for_writing;   /* only a server that takes writes will do */
    int64_t connect_ms; /* for how long pg_connect() waits; 0: as long as it takes */
    int64_t answer_ms;  /* a trip is lost when nothing comes for so long; 0: no limit */
};

struct pg_link *pg_link_new(const struct pg_link_cfg *cfg);
void pg_link_free(struct pg_link **lp);

/* End what the link waits for: every call fails with RC_CLOSED from now on. What was sent is not
 * taken back, so a commit may still happen. Any thread. */
void pg_link_stop(struct pg_link *l);

/* Connect, once; a link that is connected is connected anew. Waits at most for cfg.connect_ms, and
 * as long as the address allows (5 s for each host). An attempt that takes longer than cfg.connect_ms
 * goes on, and the next call waits for the same one: so the second host is reached when the first
 * does not answer.
 * RC_UNSUPPORTED: the server is older than PostgreSQL 15, or its database is not in UTF-8. */
enum rc pg_connect(struct pg_link *l, struct err *err) NODISCARD;

/* The same for a link that is opened: cfg.connect_ms does not count, but 12 s, which is enough for
 * two hosts that do not answer. */
enum rc pg_connect_first(struct pg_link *l, struct err *err) NODISCARD;

/* As pg_connect(), after a pause that grows with each failure in a row: 0.1 s, doubled up to 5 s, and of
 * that a half to the whole by chance. */
enum rc pg_reconnect(struct pg_link *l, struct err *err) NODISCARD;
int64_t pg_pause_ms(int n_failures, uint32_t chance); /* pure */

bool pg_is_connected(const struct pg_link *l);

/* Drop the connection if the server has ended it since the last trip. Otherwise a reader that is seldom
 * asked would fail once before it learns that the server was started anew. Within a trip it does nothing. */
void pg_drop_if_ended(struct pg_link *l);

/* For how long there has been no connection; -1: there is one. Any thread. */
int64_t pg_away_ms(const struct pg_link *l);

/* For how long a trip has been under way; 0: there is none. Any thread. */
int64_t pg_travelling_ms(const struct pg_link *l);

/* The server's number of the session; 0: there is none. Any thread. */
int pg_session(const struct pg_link *l);

/* Where it connects to, without secrets. Any thread. Lives as long as the link. */
const char *pg_shown(const struct pg_link *l);

/* As cfg.answer_ms, from the next trip on. */
void pg_set_answer_ms(struct pg_link *l, int64_t ms);

/* cfg.ctx. */
void *pg_ctx(const struct pg_link *l);

/* Wait for a notification to a channel that the session listens to, for `ms` at most, or until
 * `wake_fd` can be read. Notifications with the payload `ours` do not count. RC_AGAIN: the
 * connection was lost. RC_CLOSED: pg_link_stop(). */
enum rc pg_listen(struct pg_link *l, int wake_fd, int64_t ms, const char *ours,
                  struct err *err) NODISCARD;

/* How the last call failed. */
enum pg_fault pg_fault(const struct pg_link *l);

/* So many round trips were made, by all connections of the link. */
int64_t pg_trips(const struct pg_link *l);

/* Queue a statement. Its parameters are copied; NULL: it has none. `columns`: the types of the
 * columns that it gives, a letter each (storage/pg/kinds.def). *out is filled in by pg_run(), and
 * may be NULL. What fails here is told by pg_run(). The answers of the last trip are gone. */
void pg_queue(struct pg_link *l, const char *sql, struct pg_params *p, const char *columns,
              struct pg_answer *out);
void pg_queue_begin(struct pg_link *l);

/* Send what is queued and read the answers. One round trip. */
enum rc pg_run(struct pg_link *l, struct err *err) NODISCARD;

/* The same with a COMMIT at the end. */
enum rc pg_commit(struct pg_link *l, struct err *err) NODISCARD;

/* Leave the transaction; what is queued is forgotten. If that fails, the connection is closed. One
 * round trip, or none. */
void pg_rollback(struct pg_link *l);

/* Run statements that give no rows and are not worth keeping. Nothing may be queued. */
enum rc pg_script(struct pg_link *l, const char *sql, struct err *err) NODISCARD;
