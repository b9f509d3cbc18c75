/* storage/sqlite/hosts.c - statements of the table hosts. */
#include "storage/sqlite/hosts.h"

#include "base/clock.h"
#include "base/mem.h"
#include "storage/sqlite/stmt.h"

/* Unix microseconds, of a time of the monotonic clock. */
static int64_t wall_us(int64_t mono_ms)
{
    return clock_now_us() + (mono_ms - clock_mono_ms()) * 1000;
}

enum rc held_host_write(struct db *db, struct held *row, struct err *err)
{
    const struct held_host *h = (const struct held_host *)row;
    int64_t now_us = clock_now_us();
    enum rc rc = stmt_run(db, err, "DELETE FROM hosts WHERE gentle_us <= ?1 OR gentle_us > ?2",
                          "ii", now_us - HOST_REST_KEPT_US, now_us + HOST_REST_MOST_US);

    if (rc != RC_OK)
        return rc;
    return stmt_run(db, err,
                    "INSERT INTO hosts (host, cool_us, gentle_us) VALUES (?1, ?2, ?3)"
                    " ON CONFLICT (host) DO UPDATE SET cool_us = max(cool_us, excluded.cool_us),"
                    " gentle_us = max(gentle_us, excluded.gentle_us)",
                    "sii", h->name, wall_us(h->cool_until_ms), wall_us(h->gentle_until_ms));
}

enum rc hosts_resting(struct db *db, struct arena *a, struct host_rest **out, size_t *n_out,
                      struct err *err)
{
    int64_t now_us = clock_now_us();
    sqlite3_stmt *st = stmt_start(
        db, err,
        "SELECT host, cool_us, gentle_us FROM hosts WHERE gentle_us > ?1 AND gentle_us <= ?2", "ii",
        now_us - HOST_REST_KEPT_US, now_us + HOST_REST_MOST_US);
    struct host_rest *list = NULL;
    size_t n = 0, cap = 0;
    int got = -1;

    while (st != NULL && (got = stmt_next(db, st, err)) > 0) {
        list = mem_grow(list, &cap, n + 1, sizeof *list);
        list[n++] = (struct host_rest){.host = col_str(st, 0, a),
                                       .cool_ms = (col_int(st, 1) - now_us) / 1000,
                                       .gentle_ms = (col_int(st, 2) - now_us) / 1000};
    }
    *out = ARENA_ARRAY(a, struct host_rest, n + 1);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = list[i];
    *n_out = n;
    mem_free(list);
    return got < 0 ? RC_IO : RC_OK;
}
