/* storage/pg/trip.c - queues statements, sends them together, reads their answers, ends
 * transactions.
 *
 * The connection does not block. While a trip is under way, what is to be sent and what comes are
 * waited for together, so neither side can fill the other's buffers and stop. */
#include <poll.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "storage/pg/link_priv.h"

static const char sql_begin[] = "BEGIN";
static const char sql_commit[] = "COMMIT";
static const char sql_rollback[] = "ROLLBACK";

void pg_new_trip(struct pg_link *l)
{
    for (size_t i = 0; i < l->n_items; i++)
        PQclear(l->items[i].result);
    l->n_items = 0;
    l->has_run = l->is_committing = l->is_warned = false;
    l->fault = PG_FAULT_NONE;
    for (size_t i = 0; i < N_SLOTS; i++)
        l->slots[i].is_asked = false;
}

static struct pg_item *add_item(struct pg_link *l)
{
    l->items = mem_grow(l->items, &l->cap, l->n_items + 1, sizeof *l->items);
    l->items[l->n_items] = (struct pg_item){.columns = ""};
    return &l->items[l->n_items++];
}

static struct pg_slot *find_slot(struct pg_link *l, const char *sql)
{
    size_t i = ((uintptr_t)sql * UINT64_C(0x9E3779B97F4A7C15)) >> 55;

    while (l->slots[i].sql != NULL && l->slots[i].sql != sql)
        i = (i + 1) % N_SLOTS;
    if (l->slots[i].sql == NULL) {
        l->n_slots++;
        ASSERT(l->n_slots < N_SLOTS * 3 / 4);
        l->slots[i].sql = sql;
    }
    return &l->slots[i];
}

/* Make the server give up what was sent of this trip: without an error it would store it. */
static void poison(struct pg_link *l)
{
    add_item(l);
    if (PQsendQueryPrepared(l->conn, "none", 0, NULL, NULL, NULL, 1) != 1)
        pg_drop(l);
}

static void prepare(struct pg_link *l, struct pg_slot *slot, const char *name,
                    const struct pg_params *p)
{
    Oid types[PG_PARAMS_MAX];
    int n = p == NULL ? 0 : p->n;

    for (int i = 0; i < n; i++)
        types[i] = pg_param_type(&p->at[i]);
    add_item(l)->prepares = slot;
    slot->is_asked = true;
    if (PQsendPrepare(l->conn, name, slot->sql, n, types) != 1)
        pg_fail(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
}

static void execute(struct pg_link *l, const char *name, struct pg_params *p)
{
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX], n = p == NULL ? 0 : p->n;

    for (int i = 0; i < n; i++) {
        struct str bytes = pg_param_bytes(&p->at[i]);

        values[i] = bytes.ptr;
        lengths[i] = (int)bytes.len;
        formats[i] = 1;
    }
    if (PQsendQueryPrepared(l->conn, name, n, values, lengths, formats, 1) != 1)
        pg_fail(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
}

/* False: *l or the parameters are such that the statement cannot be sent. */
static bool can_send(struct pg_link *l, const struct pg_params *p)
{
    if (l->has_run)
        pg_new_trip(l);
    if (l->conn == NULL)
        pg_fail(l, PG_FAULT_LOST, "it has not come back yet");
    if (l->fault != PG_FAULT_NONE)
        return false;
    if (p == NULL || (pg_params_fit(p) && !p->has_nul))
        return true;
    pg_fail(l, PG_FAULT_DATA,
            p->has_nul ? "PostgreSQL has no U+0000 in text" : "it is longer than 512 MiB");
    poison(l);
    return false;
}

void pg_queue(struct pg_link *l, const char *sql, struct pg_params *p, const char *columns,
              struct pg_answer *out)
{
    struct pg_slot *slot;
    struct pg_item *item;
    char name[24];

    if (out != NULL)
        *out = (struct pg_answer){.n = 0};
    if (!can_send(l, p))
        return;
    slot = find_slot(l, sql);
    snprintf(name, sizeof name, "s%zu", (size_t)(slot - l->slots));
    if (!slot->is_prepared && !slot->is_asked)
        prepare(l, slot, name, p);
    item = add_item(l);
    item->columns = columns;
    item->out = out;
    execute(l, name, p);
}

void pg_queue_begin(struct pg_link *l)
{
    pg_queue(l, sql_begin, NULL, "", NULL);
}

/* A kept plan for a table that has got another column: the statement must be prepared anew. The
 * place in the server's source is the only mark that does not depend on its language. */
static bool is_outdated(const PGresult *result, const char *state)
{
    const char *where = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

    return state != NULL && strcmp(state, "0A000") == 0 && where != NULL &&
           strcmp(where, "RevalidateCachedQuery") == 0;
}

/* `is_commit`: it is the answer to the COMMIT. */
static void note_error(struct pg_link *l, const PGresult *result, bool is_commit)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    enum pg_fault fault = pg_fault_of(state);

    if (state == NULL || is_outdated(result, state))
        fault = PG_FAULT_LOST;
    if (fault == PG_FAULT_LOST && is_commit)
        fault = PG_FAULT_UNSURE;
    pg_fail(l, fault, text != NULL ? text : PQresultErrorMessage(result));
}

/* A COMMIT of a transaction that has failed is answered by ROLLBACK, and this is not an error. */
static void check_commit(struct pg_link *l, const PGresult *result)
{
    if (strcmp(PQcmdStatus((PGresult *)result), sql_commit) != 0)
        pg_fail(l, PG_FAULT_OTHER, "the transaction had failed before its commit");
    else if (l->is_warned)
        pg_fail(l, PG_FAULT_UNREPLICATED, NULL);
}

static void keep(struct pg_link *l, struct pg_item *item, PGresult *result)
{
    struct pg_answer a = {.n = (size_t)PQntuples(result), .result = result};
    struct err err = ERR_INIT;

    item->result = result;
    if (!str_to_i64(str_from(PQcmdTuples(result)), &a.n_changed))
        a.n_changed = 0;
    if (pg_answer_check(&a, item->columns, &err) != RC_OK)
        pg_fail(l, PG_FAULT_OTHER, err.text);
    else if (item->out != NULL)
        *item->out = a;
}

/* Take one answer. `i`: of which item. */
static void take(struct pg_link *l, size_t i, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    struct pg_item *item = i < l->n_items ? &l->items[i] : NULL;
    bool is_commit = l->is_committing && i + 1 == l->n_items, is_good;

    is_good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (is_good && is_commit) {
        check_commit(l, result);
    } else if (is_good && item != NULL && item->prepares != NULL) {
        item->prepares->is_prepared = true;
    } else if (is_good && item != NULL && item->result == NULL) {
        keep(l, item, result);
        return;
    } else if (status == PGRES_FATAL_ERROR) {
        note_error(l, result, is_commit);
    } else if (!is_good && status != PGRES_PIPELINE_ABORTED) {
        pg_fail(l, PG_FAULT_OTHER, "it wants to copy");
    }
    PQclear(result);
}

/* The connection has gone, or is given up. */
static void lose(struct pg_link *l, enum pg_fault fault, const char *text)
{
    bool is_first = l->fault == PG_FAULT_NONE;

    pg_fail(l, l->is_committing && fault == PG_FAULT_LOST ? PG_FAULT_UNSURE : fault, text);
    if (!is_first && l->fault != PG_FAULT_UNSURE) { /* what failed first was before the COMMIT */
        l->fault = fault;
        l->trouble.rc = pg_fault_rc(fault);
    }
    pg_drop(l);
}

/* Take what has come. True: the trip has ended. */
static bool take_all(struct pg_link *l, size_t *at, ExecStatusType end)
{
    while (PQisBusy(l->conn) == 0) {
        PGresult *result = PQgetResult(l->conn);

        if (PQstatus(l->conn) == CONNECTION_BAD) {
            if (result != NULL && PQresultErrorField(result, PG_DIAG_SQLSTATE) != NULL)
                take(l, *at, result);
            else
                PQclear(result);
            return false;
        }
        if (result == NULL) { /* after each statement, and after a script */
            if (end == PGRES_EMPTY_QUERY)
                return true;
            ++*at;
        } else if (PQresultStatus(result) == end) {
            PQclear(result);
            return true;
        } else {
            take(l, *at, result);
        }
    }
    return false;
}

/* Send what is queued, and take answers until the result `end` comes (PGRES_EMPTY_QUERY: until
 * there are no more). */
static void travel_on(struct pg_link *l, ExecStatusType end)
{
    size_t at = 0;

    for (;;) {
        int64_t until = l->cfg.answer_ms == 0 ? INT64_MAX : clock_mono_ms() + l->cfg.answer_ms;
        int unsent = PQflush(l->conn);
        enum pg_wait waited;

        if (unsent >= 0 && take_all(l, &at, end))
            return;
        if (unsent < 0 || PQstatus(l->conn) == CONNECTION_BAD) {
            lose(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
            return;
        }
        waited = pg_wait(l, PQsocket(l->conn), unsent > 0 ? POLLIN | POLLOUT : POLLIN, until);
        if (waited == PG_STOPPED || waited == PG_LATE) {
            lose(l, waited == PG_STOPPED ? PG_FAULT_STOPPED : PG_FAULT_LOST,
                 waited == PG_STOPPED ? NULL : "it does not answer");
            return;
        }
        if (PQconsumeInput(l->conn) == 0) {
            lose(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
            return;
        }
    }
}

static void travel(struct pg_link *l, ExecStatusType end)
{
    l->n_trips++;
    l->trip_at_ms = clock_mono_ms();
    travel_on(l, end);
    l->trip_at_ms = 0;
}

static bool is_stopped(struct pg_link *l)
{
    return pg_wait(l, -1, 0, 0) == PG_STOPPED;
}

/* A connection after which nothing more can be done. */
static bool is_dead(enum pg_fault fault)
{
    return fault == PG_FAULT_LOST || fault == PG_FAULT_UNSURE || fault == PG_FAULT_UNREPLICATED ||
           fault == PG_FAULT_SHORT; /* the end of the session gives back what it has */
}

enum rc pg_run(struct pg_link *l, struct err *err)
{
    if (l->has_run)
        pg_new_trip(l);
    if (l->conn == NULL)
        pg_fail(l, PG_FAULT_LOST, "it has not come back yet");
    else if (is_stopped(l))
        lose(l, PG_FAULT_STOPPED, NULL);
    else if (PQpipelineSync(l->conn) != 1)
        lose(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
    else
        travel(l, PGRES_PIPELINE_SYNC);
    if (is_dead(l->fault))
        pg_drop(l);
    l->has_run = true;
    return pg_tell(l, err);
}

enum rc pg_commit(struct pg_link *l, struct err *err)
{
    pg_queue(l, sql_commit, NULL, "", NULL);
    l->is_committing = l->fault == PG_FAULT_NONE;
    return pg_run(l, err);
}

void pg_rollback(struct pg_link *l)
{
    struct err err = ERR_INIT;

    if (l->conn != NULL && !l->has_run && l->n_items > 0) {
        pg_fail(l, PG_FAULT_OTHER, "rolled back");
        poison(l);
        if (pg_run(l, &err) == RC_OK) /* it cannot be */
            pg_drop(l);
    }
    if (l->conn == NULL || PQtransactionStatus(l->conn) == PQTRANS_IDLE)
        return;
    pg_queue(l, sql_rollback, NULL, "", NULL);
    if (pg_run(l, &err) != RC_OK)
        pg_drop(l);
}

enum rc pg_script(struct pg_link *l, const char *sql, struct err *err)
{
    pg_new_trip(l);
    if (l->conn == NULL)
        pg_fail(l, PG_FAULT_LOST, "it has not come back yet");
    else if (PQexitPipelineMode(l->conn) != 1 || PQsendQuery(l->conn, sql) != 1)
        lose(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
    else
        travel(l, PGRES_EMPTY_QUERY);
    if (is_dead(l->fault) || (l->conn != NULL && PQenterPipelineMode(l->conn) != 1))
        pg_drop(l);
    l->has_run = true;
    return pg_tell(l, err);
}
