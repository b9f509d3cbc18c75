/* storage/pg/follow.c - see follow.h. */
#include "storage/pg/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "storage/pg/forks.h"
#include "storage/pg/reader.h"
#include "storage/pg/stalled.h"

#define CONNECT_MS 3000
#define ANSWER_MS 3000 /* a server that does not answer for so long is not within reach */
#define KEPT_US INT64_C(3600000000)
#define LAST_KEPT_US (7 * 24 * KEPT_US) /* the last one of each node: it may look for it */
#define PRUNE_MOST 4096

static const char sql_listen[] = "LISTEN feedmill";

static enum rc greet(struct pg_link *l, struct err *err)
{
    enum rc rc = pg_fork_note(l, 0, 0, err);

    if (rc != RC_OK)
        return rc;
    pg_queue(l, sql_listen, NULL, "", NULL);
    return pg_run(l, err);
}

static enum rc await(struct db *db, int64_t ms, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    char ours[24];

    if (pg_is_connected(r->link))
        pg_stalled_end(r->link, r->storer);
    if (!pg_is_connected(r->link))
        return pg_reconnect(r->link, err);
    snprintf(ours, sizeof ours, "%" PRId64, r->node);
    return pg_listen(r->link, r->wake_fd, ms, ours, err);
}

static enum rc prune(struct db *db, bool *more, struct err *err)
{
    struct pg_reader *r = pg_reader_of(db);
    struct pg_answer gone, over;
    enum rc rc;

    pg_put_int(&r->params, KEPT_US);
    pg_put_int(&r->params, PRUNE_MOST);
    pg_put_int(&r->params, LAST_KEPT_US);
    pg_ask(r, PG_SQL_notices_prune, &gone);
    pg_put_int(&r->params, PRUNE_MOST);
    pg_ask(r, PG_SQL_hosts_prune, &over);
    rc = pg_hear(r, err);
    *more = rc == RC_OK && (gone.n_changed == PRUNE_MOST || over.n_changed == PRUNE_MOST);
    return rc;
}

static void wake(struct db *db)
{
    uint64_t one = 1;

    if (write(pg_reader_of(db)->wake_fd, &one, sizeof one) < 0)
        return; /* it is readable already */
}

static void stop(struct db *db)
{
    pg_link_stop(pg_reader_link(db));
}

static const struct follows pg_follows = {
    .wait = await, .prune = prune, .wake = wake, .stop = stop};

enum rc pg_follow_open(struct db *writer, struct db **out, struct err *err)
{
    const struct pg_link_cfg cfg = {
        .for_writing = true, .on_connect = greet, .connect_ms = CONNECT_MS, .answer_ms = ANSWER_MS};
    struct db *db = NULL;
    enum rc rc = pg_reader_new(writer->writes->address(writer), &cfg, &db, err);

    if (rc != RC_OK)
        return rc;
    db->follows = &pg_follows;
    pg_reader_of(db)->storer = pg_reader_link(writer); /* which lives longer */
    pg_reader_of(db)->node = pg_reader_of(writer)->node;
    pg_reader_of(db)->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ASSERT(pg_reader_of(db)->wake_fd >= 0);
    rc = pg_connect_first(pg_reader_link(db), err);
    if (rc != RC_OK)
        db->reads->close(&db);
    else
        *out = db;
    return rc;
}
