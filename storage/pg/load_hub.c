/* storage/pg/load_hub.c - requests at our hub, leases, and our own subscriptions at hubs. */
#include "storage/pg/load_priv.h"

#include "storage/hub_feeds.h"
#include "storage/rows_hub.h"
#include "storage/rows_subs.h"
#include "storage/rows_upstreams.h"

#define PG_ROW struct hub_intent
static const struct pg_column intent_columns[] = {HUB_INTENT(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct hub_lease
static const struct pg_column lease_columns[] = {HUB_LEASE(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct upstream
static const struct pg_column upstream_columns[] = {UPSTREAM(PG_COLUMN)};
#undef PG_ROW

/* An intent is settled once. */
static const char sql_intents[] = "SELECT " HUB_INTENT(
    PG_WORD) "feeds FROM hub_intents WHERE id = ANY($1) ORDER BY id FOR UPDATE";

static const char sql_n_intents[] = "SELECT count(*) FROM hub_intents";

static const char sql_leases[] =
    "SELECT " HUB_LEASE(PG_WORD) "callback FROM hub_leases WHERE sub_id = ANY($1)";

static const char sql_hub_names[] =
    "SELECT w.i - 1, l.sub_id FROM unnest($1::bigint[], $2::text[], $3::text[])"
    " WITH ORDINALITY AS w (protocol, callback, topic, i) JOIN hub_leases l"
    " ON md5(l.callback) = md5(w.callback) AND md5(l.topic) = md5(w.topic)"
    " AND l.protocol = w.protocol AND l.callback = w.callback AND l.topic = w.topic";

static const char sql_websubs[] =
    "SELECT f.feed_id, f.sub_id FROM sub_feeds f JOIN subscriptions s ON s.id = f.sub_id"
    " WHERE f.feed_id = ANY($1) AND s.sink = '" HUB_SINK "' ORDER BY f.feed_id, f.sub_id";

static const char sql_ended[] =
    "SELECT sub_id FROM hub_leases WHERE ends_at <= $1 ORDER BY ends_at, sub_id LIMIT $2";
static const char sql_to_renew[] =
    "SELECT sub_id FROM hub_leases WHERE renew_at <= $1 ORDER BY renew_at, sub_id LIMIT $2";
static const char sql_due[] =
    "SELECT least((SELECT min(ends_at) FROM hub_leases WHERE ends_at > $1),"
    " (SELECT min(renew_at) FROM hub_leases WHERE renew_at > $1))";

/* They change only while their feed is locked, or when it is gone. */
static const char sql_upstreams[] = "SELECT " UPSTREAM(
    PG_WORD) "1::bigint FROM upstreams WHERE token = ANY($1) ORDER BY token FOR NO KEY UPDATE";

static void queue_hub_names(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *protocols, *callbacks, *topics;

    if (load->n_hub_names == 0)
        return;
    pg_params_reset(p);
    protocols = pg_put_array(p, PG_INT);
    callbacks = pg_put_array(p, PG_TEXT);
    topics = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_hub_names; i++) {
        const struct want_hub_name *want = &load->hub_names[i];

        pg_add_int(protocols, want->protocol);
        pg_add_text(p, callbacks, str_is_null(want->callback) ? STR("") : want->callback);
        pg_add_text(p, topics, str_is_null(want->topic) ? STR("") : want->topic);
    }
    pg_queue(l, sql_hub_names, p, "ii", &load->hub_name_rows);
}

static void queue_due(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    if (load->due_at == 0)
        return;
    pg_params_reset(p);
    pg_put_int(p, load->due_at);
    pg_put_int(p, HUB_SWEEP_MAX);
    pg_queue(l, sql_ended, p, "i", &load->ended_rows);
    pg_queue(l, sql_to_renew, p, "i", &load->renew_rows);
    pg_params_reset(p);
    pg_put_int(p, load->due_at);
    pg_queue(l, sql_due, p, "i", &load->due_rows);
}

static void queue_tokens(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *tokens;

    if (load->n_tokens == 0)
        return;
    pg_params_reset(p);
    tokens = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_tokens; i++)
        pg_add_text(p, tokens, load->tokens[i]);
    pg_queue(l, sql_upstreams, p, UPSTREAM(PG_LETTER) "i", &load->token_rows);
}

void pg_queue_hub(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    pg_load_ids(l, p, sql_intents, load->intents, load->n_intents, HUB_INTENT(PG_LETTER) "s",
                &load->intent_rows);
    if (load->counts_intents)
        pg_queue(l, sql_n_intents, NULL, "i", &load->n_intent_rows);
    pg_load_ids(l, p, sql_leases, load->leased, load->n_leased, HUB_LEASE(PG_LETTER) "s",
                &load->lease_rows);
    queue_hub_names(load, l, p);
    pg_load_ids(l, p, sql_websubs, load->websubs, load->n_websubs, "ii", &load->websub_rows);
    queue_due(load, l, p);
    queue_tokens(load, l, p);
}

static void take_intents(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->intent_rows;

    for (size_t i = 0; i < a->n; i++) {
        struct hub_intent row = {.id = 0};
        int at = pg_get_columns(a, i, 0, PG_COLUMNS(intent_columns), &r->arena, &row);
        struct held_intent *in;

        if (rows_intent(r, row.id) != NULL)
            continue;
        hub_feeds_read(&r->arena, pg_get_str(a, i, at, &r->arena), &row);
        in = rows_add_intent(r, row.id);
        in->row = row;
        in->held.exists = in->held.is_stored = true;
    }
    for (size_t i = 0; i < load->n_intents; i++)
        if (rows_intent(r, load->intents[i]) == NULL)
            rows_add_intent(r, load->intents[i]);
    if (load->counts_intents)
        r->n_intents = pg_get_int(&load->n_intent_rows, 0, 0);
}

static void take_leases(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->lease_rows;

    for (size_t i = 0; i < load->n_leased; i++)
        if (rows_lease(r, load->leased[i]) == NULL)
            rows_add_lease(r, load->leased[i]);
    for (size_t i = 0; i < a->n; i++) {
        struct hub_lease row = {.sub_id = 0};
        int at = pg_get_columns(a, i, 0, PG_COLUMNS(lease_columns), &r->arena, &row);
        struct held_lease *lease = rows_lease(r, row.sub_id);

        lease->row = row;
        lease->callback = pg_get_str(a, i, at, &r->arena);
        lease->held.exists = lease->held.is_stored = true;
    }
}

static void take_hub_names(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->hub_name_rows;

    for (size_t i = 0; i < load->n_hub_names; i++) {
        const struct want_hub_name *want = &load->hub_names[i];

        if (rows_hub_name(r, want->protocol, want->callback, want->topic) == NULL)
            rows_add_hub_name(r, want->protocol, want->callback, want->topic);
    }
    for (size_t i = 0; i < a->n; i++) {
        const struct want_hub_name *want = &load->hub_names[pg_get_int(a, i, 0)];

        rows_hub_name(r, want->protocol, want->callback, want->topic)->sub_id = pg_get_int(a, i, 1);
    }
}

/* The numbers of a column. Arena. */
static int64_t *numbers_of(const struct pg_answer *a, size_t from, size_t n, int column,
                           struct arena *arena)
{
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, n + 1);

    for (size_t i = 0; i < n; i++)
        numbers[i] = pg_get_int(a, from + i, column);
    return numbers;
}

static void take_websubs(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->websub_rows;

    for (size_t i = 0; i < load->n_websubs; i++)
        if (rows_websubs(r, load->websubs[i]) == NULL)
            rows_add_websubs(r, load->websubs[i]);
    for (size_t i = 0, n; i < a->n; i += n) {
        struct held_websubs *of = rows_websubs(r, pg_get_int(a, i, 0));

        for (n = 1; i + n < a->n && pg_get_int(a, i + n, 0) == pg_get_int(a, i, 0);)
            n++;
        of->sub_ids = numbers_of(a, i, n, 1, &r->arena);
        of->n = n;
    }
}

static void take_due(const struct pg_load *load, struct rows *r)
{
    struct hub_due *due;

    if (load->due_at == 0)
        return;
    due = ARENA_NEW(&r->arena, struct hub_due);
    *due = (struct hub_due){
        .now = load->due_at,
        .ended = numbers_of(&load->ended_rows, 0, load->ended_rows.n, 0, &r->arena),
        .n_ended = load->ended_rows.n,
        .to_renew = numbers_of(&load->renew_rows, 0, load->renew_rows.n, 0, &r->arena),
        .n_to_renew = load->renew_rows.n,
        .next_at = pg_get_time(&load->due_rows, 0, 0)};
    if (due->n_ended == HUB_SWEEP_MAX || due->n_to_renew == HUB_SWEEP_MAX)
        due->next_at = due->now; /* there may be more */
    r->hub_due = due;
}

static void take_upstreams(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->token_rows;

    for (size_t i = 0; i < load->n_tokens; i++)
        if (rows_upstream(r, load->tokens[i]) == NULL)
            rows_add_upstream_row(r, load->tokens[i]);
    for (size_t i = 0; i < a->n; i++) {
        struct upstream row = {.feed_id = 0};
        struct held_upstream_row *u;

        pg_get_columns(a, i, 0, PG_COLUMNS(upstream_columns), &r->arena, &row);
        u = rows_upstream(r, row.token);
        u->row = row;
        u->held.exists = u->held.is_stored = true;
    }
}

void pg_take_hub(const struct pg_load *load, struct rows *r)
{
    take_intents(load, r);
    take_leases(load, r);
    take_hub_names(load, r);
    take_websubs(load, r);
    take_due(load, r);
    take_upstreams(load, r);
}
