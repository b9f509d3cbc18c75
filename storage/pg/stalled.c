/* storage/pg/stalled.c - see stalled.h. */
#include "storage/pg/stalled.h"

#include <inttypes.h>

#include "base/log.h"

/* Who waits for a row waits for others who wait for it, too: only the last of that chain holds the
 * lock. It is ended if it waits for its client, so not while the server works or waits for the disk
 * or the standby, and if nothing has come from that client for a second. 1181050213 is the lock
 * that each session has in which a node stores (storage/pg/storing.c). */
static const char sql_end_stalled[] =
    "WITH RECURSIVE chain (pid) AS (SELECT unnest(pg_blocking_pids($1::int))"
    " UNION SELECT unnest(pg_blocking_pids(chain.pid)) FROM chain),"
    " stalled AS MATERIALIZED (SELECT a.pid FROM chain JOIN pg_stat_activity a ON a.pid = chain.pid"
    " WHERE a.state = 'active' AND a.wait_event_type = 'Client' AND a.usename = current_user"
    " AND a.state_change < clock_timestamp() - interval '1 second'"
    " AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory'"
    " AND l.classid = 1181050213 AND l.granted))"
    " SELECT pid::bigint FROM (SELECT pid, pg_terminate_backend(pid) AS is_ended FROM stalled"
    " OFFSET 0) AS s WHERE is_ended";

static void end_it(struct pg_link *l, int session)
{
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct err err = ERR_INIT;
    struct pg_answer ended;

    pg_put_int(&p, session);
    pg_queue(l, sql_end_stalled, &p, "i", &ended);
    if (pg_run(l, &err) != RC_OK) {
        log_warn("storage", "stalled_session_kept", "error=%s effect=again",
                 log_quote(str_from(err.text)));
        return;
    }
    for (size_t i = 0; i < ended.n; i++)
        log_warn("storage", "stalled_session_ended", "session=%" PRId64 " reason=held_a_lock",
                 pg_get_int(&ended, i, 0));
}

void pg_stalled_end(struct pg_link *l, const struct pg_link *storer)
{
    int session = pg_session(storer);

    if (session != 0 && pg_travelling_ms(storer) >= PG_STALLED_MS)
        end_it(l, session);
}
