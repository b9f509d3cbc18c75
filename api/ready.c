/* api/ready.c - GET /readyz: can the daemon do its work, and if not, why? It is answered from what
 * is in memory, so also when the disk or the database does not answer. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "base/stats.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/value.h"
#include "storage/nodes.h"

#define STUCK_MS 60000
#define RETRY_AFTER "Retry-After: 5\r\n"

/* What is looked at. */
struct state {
    struct arena *arena;
    struct nodes_status nodes;
    enum rc health;
};

/* Each returns whether this reason holds. *detail: more about it, in words. */

static bool is_away(const struct state *s, struct str *detail)
{
    if (!s->nodes.is_trusted)
        *detail = str_printf(s->arena,
                             "The database was last heard %lld seconds ago; until it answers, "
                             "nothing is fetched, pushed or stored.",
                             (long long)s->nodes.beat_age_ms / 1000);
    else if (s->health != RC_OK && s->health != RC_AGAIN) /* not if it is away for a moment */
        *detail = STR("A file of the database was deleted or replaced, so nothing is stored. The "
                      "server's log says which.");
    else
        return false;
    return true;
}

static bool is_full(const struct state *s, struct str *detail)
{
    int64_t ms = stats_age_ms(STAT_store_full_seconds);

    *detail = str_printf(s->arena,
                         "The disk of the database has been full for %lld seconds, so nothing is "
                         "stored. It goes on by itself when there is room.",
                         (long long)ms / 1000);
    return stats_get(STAT_store_full_seconds) != 0;
}

/* What the log may wait for. */
static const struct {
    enum stat_id stat;
    const char *what;
} waits[] = {
    {STAT_store_commit_age_seconds, "one transaction has been running"},
    {STAT_store_failing_seconds, "transactions have failed"},
    {STAT_store_queue_oldest_age_seconds, "an operation has waited for the storer"},
    {STAT_parse_queue_oldest_age_seconds, "a document has waited to be parsed"},
    {STAT_fetch_saturated_seconds, "feeds that are due have waited to be fetched"},
};

/* Something may wait for long on a busy daemon; the log stands still only if nothing gets through.
 */
static bool is_stuck(const struct state *s, struct str *detail)
{
    int64_t stored_ms = stats_age_ms(STAT_fetch_stored_age_seconds);
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);

    if (stats_get(STAT_fetch_stored_age_seconds) != 0 && stored_ms < STUCK_MS)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        int64_t ms = stats_age_ms(waits[i].stat);

        if (ms < STUCK_MS)
            continue;
        buf_printf(&text, "%s%s for %lld seconds",
                   text.len == 0 ? "Nothing that was fetched is stored: " : "; ", waits[i].what,
                   (long long)ms / 1000);
    }
    if (text.len == 0)
        return false;
    buf_putc(&text, '.');
    *detail = str_dup(s->arena, buf_view(&text));
    return true;
}

static bool is_out(const struct state *s UNUSED, struct str *detail)
{
    *detail = STR("Most publishers cannot be reached. Their failures do not count as errors of the "
                  "feeds, and one feed at a time is tried until a publisher answers.");
    return stats_get(STAT_outage) != 0;
}

static bool is_unmirrored(const struct state *s UNUSED, struct str *detail)
{
    *detail = STR("The folder of mirrored files (--mirror) is not there. Nothing is lost: it is used again when its "
                  "disk is mounted.");
    return stats_get(STAT_mirror_folder_broken) != 0;
}

static const struct {
    const char *name;
    bool is_ready; /* nevertheless */
    bool (*holds)(const struct state *s, struct str *detail);
} rows[] = {
#define READY(name, function, meaning) {name, false, function},
#define READY_STILL(name, function, meaning) {name, true, function},
#include "api/ready.def"
#undef READY
#undef READY_STILL
};

/* What an operator should know while the daemon is ready. */
static void add_warnings(struct store *store, struct arena *a, struct value *warnings,
                         struct value *details)
{
    enum store_fill fill = store_fill(store);
    long long most = (long long)store_max_bytes(store);
    const char *hint = store_is_shared(store)
                           ? " What removed feeds and retention leave counts as room after "
                             "VACUUM, which PostgreSQL runs by itself (autovacuum)."
                           : "";

    if (fill == FILL_ROOM)
        return;
    value_push(a, warnings, value_text(a, STR("max-size")));
    value_push(
        a, details,
        value_text(a, fill == FILL_WARNS
                          ? str_printf(a,
                                       "The database has 90 percent or more of the %lld bytes "
                                       "that --max-size allows; when it has all, nothing more "
                                       "is fetched.",
                                       most)
                          : str_printf(a,
                                       "The database has the %lld bytes that --max-size "
                                       "allows, so nothing is fetched. What is stored is "
                                       "served and pushed.%s",
                                       most, hint)));
}

static void reply_state(struct request *req, const struct value *v, bool is_ready)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    json_write(&out, v);
    buf_putc(&out, '\n');
    reply_buf(req, is_ready ? 200 : 503, MEDIA_JSON, &out, is_ready ? STR_NULL : STR(RETRY_AFTER));
}

void readyz_get(struct request *req)
{
    struct store *store = req->ask.api->store;
    struct arena *a = req->ask.arena;
    struct value *v = value_dict(a), *reasons = value_list(a), *details = value_list(a);
    struct value *warnings = value_list(a);
    struct state s = {.arena = a, .health = store_health(store, NULL)};
    bool is_ready = true;

    nodes_status(store_nodes(store), &s.nodes);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str detail = STR_NULL;

        if (!rows[i].holds(&s, &detail))
            continue;
        is_ready &= rows[i].is_ready;
        value_push(a, reasons, value_text(a, str_from(rows[i].name)));
        value_push(a, details, value_text(a, detail));
    }
    add_warnings(store, a, warnings, details);
    value_setz(a, v, "status", value_text(a, is_ready ? STR("ready") : STR("unready")));
    value_setz(a, v, "reasons", reasons);
    value_setz(a, v, "details", details);
    value_setz(a, v, "warnings", warnings);
    value_setz(a, v, "slots", value_int(a, (int64_t)s.nodes.n_slots));
    value_setz(a, v, "beat_age_s", value_int(a, s.nodes.beat_age_ms / 1000));
    value_setz(a, v, "behind", value_int(a, s.nodes.behind));
    reply_state(req, v, is_ready);
}
