/* storage/pg/reader.c - opens, asks, hears, holds snapshots; the engine PostgreSQL. */
#include "storage/pg/reader.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/pg/check.h"
#include "storage/pg/nodes.h"
#include "storage/pg/follow.h"
#include "storage/pg/reads.h"
#include "storage/pg/replica.h"
#include "storage/pg/storing.h"
#include "storage/pg/uri.h"

/* A request is answered within 5 seconds, also when the database is away. */
#define CONNECT_MS 2000
#define ANSWER_MS 4000
#define AWAY_MS 1000

struct pg_reader *pg_reader_of(struct db *db)
{
    return (struct pg_reader *)db;
}

struct pg_link *pg_reader_link(struct db *db)
{
    return pg_reader_of(db)->link;
}

static void close_reader(struct db **dbp)
{
    struct pg_reader *r = pg_reader_of(*dbp);

    if (r == NULL)
        return;
    pg_storing_free(&r->storing);
    pg_replica_free(&r->replica);
    pg_link_free(&r->link);
    pg_uri_free(&r->uri);
    if (r->wake_fd >= 0)
        close(r->wake_fd);
    pg_params_release(&r->params);
    mem_free(r);
    *dbp = NULL;
}

/* Of requests that come while the database is away, only some wait for an attempt to connect. */
static enum rc connect_again(struct pg_reader *r, struct err *err)
{
    enum rc rc;

    if (clock_mono_ms() < r->away_until_ms)
        return err_set(err, RC_AGAIN, "the database is not within reach");
    rc = pg_connect(r->link, err);
    r->away_until_ms = rc == RC_OK ? 0 : clock_mono_ms() + AWAY_MS;
    return rc;
}

/* Connect if there is no connection; a snapshot that has lost its one cannot go on. */
static void make_ready(struct pg_reader *r)
{
    if (r->trouble.rc != RC_OK) /* one attempt a trip */
        return;
    if (r->storing == NULL && !r->has_begun && !r->is_together)
        pg_drop_if_ended(r->link);
    if (!r->has_begun && !pg_is_connected(r->link) && connect_again(r, &r->trouble) != RC_OK)
        return;
    if (r->n_snapshots > 0 && !r->has_begun) {
        pg_queue(r->link, pg_statements[PG_SQL_begin_snapshot].sql, NULL, "", NULL);
        r->has_begun = true;
    }
}

/* A snapshot goes on where it began, and a trip goes to one of both. */
static bool asks_replica(struct pg_reader *r)
{
    bool is_free = r->may_use_replica && !r->has_begun && r->replica != NULL;

    if (r->route == PG_ROUTE_OPEN)
        r->route = r->replica != NULL && (pg_replica_is_open(r->replica) ||
                                          (is_free && pg_replica_is_ready(r->replica)))
                       ? PG_ROUTE_REPLICA
                       : PG_ROUTE_SERVER;
    return r->route == PG_ROUTE_REPLICA;
}

void pg_ask(struct pg_reader *r, enum pg_statement_id id, struct pg_answer *out)
{
    const struct pg_statement *s = &pg_statements[id];

    if (asks_replica(r)) {
        pg_replica_ask(r->replica, id, &r->params, out);
        return;
    }
    make_ready(r);
    pg_queue(r->link, s->sql, &r->params, s->columns, out);
    pg_params_reset(&r->params);
}

void pg_together(struct pg_reader *r)
{
    bool is_replica = asks_replica(r);

    if (!is_replica)
        make_ready(r);
    if (r->has_begun)
        return;
    r->is_together = true;
    if (!is_replica) /* what is asked of a copy is always together */
        pg_queue(r->link, pg_statements[PG_SQL_begin_snapshot].sql, NULL, "", NULL);
}

static enum rc hear_server(struct pg_reader *r, struct err *err)
{
    bool is_together = r->is_together;
    int64_t began_ms = clock_mono_ms();
    enum rc rc;

    if (is_together)
        pg_queue(r->link, pg_statements[PG_SQL_end_snapshot].sql, NULL, "", NULL);
    r->is_together = false;
    rc = pg_run(r->link, err);
    if (rc != RC_OK &&
        clock_mono_ms() - began_ms >= ANSWER_MS) /* those who waited for us are late */
        r->away_until_ms = clock_mono_ms() + AWAY_MS;
    if (rc != RC_OK && r->trouble.rc != RC_OK && err != NULL)
        *err = r->trouble;
    r->trouble = (struct err)ERR_INIT;
    if (rc != RC_OK && is_together)
        pg_rollback(r->link);
    return rc;
}

/* The copy would not do, so the same is asked of the server itself. */
static void ask_server(struct pg_reader *r)
{
    enum pg_statement_id id;
    struct pg_answer *out;

    r->route = PG_ROUTE_SERVER;
    if (r->is_together)
        pg_together(r);
    while (pg_replica_give_back(r->replica, &id, &r->params, &out))
        pg_ask(r, id, out);
}

enum rc pg_hear(struct pg_reader *r, struct err *err)
{
    enum rc rc = RC_AGAIN;

    if (r->route == PG_ROUTE_REPLICA) {
        bool goes_on = pg_replica_is_open(r->replica);

        rc = pg_replica_hear(r->replica, r->n_snapshots > 0, err);
        r->has_used_replica |= goes_on || rc == RC_OK;
        if (rc == RC_OK)
            r->is_together = false;
        else if (!goes_on)
            ask_server(r);
    }
    if (r->route != PG_ROUTE_REPLICA)
        rc = hear_server(r, err);
    r->route = PG_ROUTE_OPEN;
    return rc;
}

static enum rc snapshot(struct db *db, struct err *err UNUSED)
{
    pg_reader_of(db)->n_snapshots++;
    return RC_OK;
}

static void snapshot_end(struct db *db)
{
    struct pg_reader *r = pg_reader_of(db);

    if (--r->n_snapshots > 0)
        return;
    if (r->replica != NULL)
        pg_replica_end(r->replica);
    if (!r->has_begun)
        return;
    r->has_begun = false;
    pg_queue(r->link, pg_statements[PG_SQL_end_snapshot].sql, NULL, "", NULL);
    if (pg_run(r->link, NULL) != RC_OK)
        pg_rollback(r->link);
}

static void shrink(struct db *db UNUSED)
{
}

static bool allow_replica(struct db *db, bool may)
{
    struct pg_reader *r = pg_reader_of(db);
    bool has_answered = r->has_used_replica;

    r->may_use_replica = may;
    r->has_used_replica = false;
    return has_answered;
}

size_t pg_next_page(size_t page, size_t max)
{
    return page < max ? 2 * page : max;
}

int64_t pg_number(const struct pg_answer *a, int64_t otherwise)
{
    return a->n == 0 || pg_is_null(a, 0, 0) ? otherwise : pg_get_int(a, 0, 0);
}

static const struct reads pg_reads = {
    .close = close_reader,
    .snapshot = snapshot,
    .snapshot_end = snapshot_end,
    .shrink = shrink,
    .allow_replica = allow_replica,
    .last_seq = pg_last_seq,
    .size = pg_size,
    .free_inside = pg_free_inside,
    .notices = pg_notices,
    .revisions_by_seq = pg_revisions_by_seq,
    .revisions_times = pg_revisions_times,
    .revisions_at = pg_revisions_at,
    .newest_keys = pg_newest_keys,
    .view_keys = pg_view_keys,
    .index_place = pg_index_place,
    .terms_find = pg_terms_find,
    .terms_among = pg_terms_among,
    .revision_keys = pg_revision_keys,
    .mirrors_of = pg_mirrors_of,
    .mirrors_first = pg_mirrors_first,
    .mirrors_file = pg_mirrors_file,
    .mirrors_place = pg_mirrors_place,
    .mirrors_entries = pg_mirrors_entries,
    .mirrors_wish = pg_mirrors_wish,
    .mirrors_looks = pg_mirrors_looks,
    .entries_of_uids = pg_entries_of_uids,
    .entries_known = pg_entries_known,
    .entries_since = pg_entries_since,
    .deletions_since = pg_deletions_since,
    .entries_between = pg_entries_between,
    .entries_oldest = pg_entries_oldest,
    .content_pending = pg_content_pending,
    .content_feeds = pg_content_feeds,
    .feeds_by_id = pg_feeds_by_id,
    .feeds_shown = pg_feeds_by_id, /* the trip takes the time, not the columns */
    .head_log_at = pg_head_log_at,
    .horizon = pg_feeds_horizon,
    .gone_feeds = pg_gone_feeds,
    .keep_wishes = pg_keep_wishes,
    .feeds_count = pg_feeds_count,
    .feeds_listed = pg_feeds_listed,
    .feeds_name = pg_feeds_name,
    .feeds_each_due = pg_feeds_each_due,
    .briefs_load = pg_briefs_load,
    .briefs_after = pg_briefs_after,
    .briefs_keys = pg_briefs_keys,
    .subs_by_id = pg_subs_by_id,
    .subs_after = pg_subs_after,
    .subs_listed = pg_subs_listed,
    .subs_of_list = pg_subs_of_list,
    .subs_pushed = pg_subs_pushed,
    .subs_asking = pg_subs_asking,
    .subs_find = pg_subs_find,
    .subs_settings = pg_subs_settings,
    .push_leads = pg_push_leads,
    .push_batch = pg_push_batch,
    .push_run = pg_push_run,
    .push_count = pg_push_count,
    .feed_event = pg_feed_event,
    .deliveries_of = pg_deliveries_of,
    .dead_of = pg_dead_of,
    .dead_wanted = pg_dead_wanted,
    .dead_counts = pg_dead_counts,
    .hub_intents_after = pg_hub_intents_after,
    .hub_lease = pg_hub_lease,
    .host_rests = pg_host_rests,
    .upstreams = pg_upstreams,
    .upstreams_of = pg_upstreams_of,
    .tokens = pg_tokens,
    .views = pg_views,
};

enum rc pg_reader_new(const char *address, const struct pg_link_cfg *cfg, struct db **out,
                      struct err *err)
{
    struct pg_reader *r = NEW(struct pg_reader);
    struct pg_link_cfg own = *cfg;
    struct db *db = &r->db;
    enum rc rc = pg_uri_read(address, &r->uri, err);

    db->reads = &pg_reads;
    r->wake_fd = -1;
    own.uri = r->uri;
    if (rc == RC_OK)
        r->link = pg_link_new(&own);
    if (rc != RC_OK)
        close_reader(&db);
    else
        *out = db;
    return rc;
}

static enum rc open_reader(const char *address, struct db **out, struct err *err)
{
    /* Of the servers in the address, a standby may lack what was acknowledged. */
    const struct pg_link_cfg cfg = {
        .for_writing = true, .connect_ms = CONNECT_MS, .answer_ms = ANSWER_MS};
    struct db *db = NULL;
    enum rc rc = pg_reader_new(address, &cfg, &db, err);

    if (rc == RC_OK)
        rc = pg_connect_first(pg_reader_link(db), err);
    if (rc != RC_OK && db != NULL)
        close_reader(&db);
    else
        *out = db;
    return rc;
}

static enum rc use_replica(struct db *db, const struct replica_cfg *cfg, struct err *err)
{
    return pg_replica_new(cfg, &pg_reader_of(db)->replica, err);
}

static enum rc judge(const char *address, struct err *err)
{
    struct pg_uri *uri = NULL;
    enum rc rc = pg_uri_read(address, &uri, err);

    pg_uri_free(&uri);
    return rc;
}

const struct engine engine_postgresql = {.name = "PostgreSQL",
                                         .judge = judge,
                                         .open_reader = open_reader,
                                         .use_replica = use_replica,
                                         .open_writer = pg_storing_open,
                                         .open_follower = pg_follow_open,
                                         .nodes = &pg_node_calls,
                                         .upkeep = &pg_upkeep};
