/* storage/pg/nodes.c - see storage/node_calls.h.
 *
 * Only a beat ends a row, by deleting it, and only then its slots become free (ON DELETE SET NULL).
 * A node and the one that ends its row both lock that row, so a node whose beat has been carried
 * out owns what the beat has shown, and nobody takes it before the lease has ended again. */
#include "storage/pg/nodes.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/pg/forks.h"
#include "storage/pg/link.h"
#include "storage/pg/statements.h"
#include "storage/pg/uri.h"
#include "storage/schema_version.h"

struct pg_nodes {
    struct node_link base; /* first */
    struct pg_uri *uri;
    struct pg_link *link;
    struct pg_params params; /* of the next statement */
    char *name;              /* ours, after the first attempt to join */
    bool has_name;           /* the session has the lock of our name */
    int64_t id;              /* of our last row with this name; 0: this process has had none */
};

/* A process before us that had our name may have been killed just now: the server notices soon. */
#define NAME_WAIT_MS 2000
#define NAME_LOOK_MS 50

static struct pg_nodes *nodes_of(struct node_link *l)
{
    return (struct pg_nodes *)l;
}

static void close_link(struct node_link **lp)
{
    struct pg_nodes *n = nodes_of(*lp);

    if (n == NULL)
        return;
    pg_link_free(&n->link);
    pg_uri_free(&n->uri);
    pg_params_release(&n->params);
    mem_free(n->name);
    mem_free(n);
    *lp = NULL;
}

/* A node may still have an id that a server that has taken over would give out again. */
static enum rc greet(struct pg_link *l, struct err *err)
{
    return pg_fork_note(l, 0, 0, err);
}

static enum rc open_link(const char *address, int64_t answer_ms, struct node_link **out,
                         struct err *err)
{
    struct pg_nodes *n = NEW(struct pg_nodes);
    struct node_link *l = &n->base;
    enum rc rc = pg_uri_read(address, &n->uri, err);

    l->calls = &pg_node_calls;
    if (rc == RC_OK) {
        n->link = pg_link_new(&(struct pg_link_cfg){
            .uri = n->uri, .on_connect = greet, .for_writing = true, .answer_ms = answer_ms});
        rc = pg_connect(n->link, err);
    }
    if (rc != RC_OK)
        close_link(&l);
    else
        *out = l;
    return rc;
}

static void stop(struct node_link *l)
{
    pg_link_stop(nodes_of(l)->link);
}

static enum rc make_ready(struct pg_nodes *n, struct err *err)
{
    if (pg_is_connected(n->link))
        return RC_OK;
    n->has_name = false;
    return pg_reconnect(n->link, err);
}

/* Queue a statement with the parameters, and forget these. */
static void ask(struct pg_nodes *n, enum pg_statement_id id, struct pg_answer *out)
{
    pg_queue(n->link, pg_statements[id].sql, &n->params, pg_statements[id].columns, out);
    pg_params_reset(&n->params);
}

static enum rc commit(struct pg_nodes *n, struct err *err)
{
    enum rc rc = pg_commit(n->link, err);

    if (rc != RC_OK)
        pg_rollback(n->link);
    return rc;
}

/* ---- the name --------------------------------------------------------------------------------
 *
 * A node that was killed and is started again would have to wait until the lease of its predecessor
 * has ended. But the session of the predecessor has had a lock. If it is free, that process is
 * gone, and what it had is free at once.
 *
 * A process that was frozen has kept the lock, and may wake up after a successor of its name has
 * joined without it. It has no predecessor then, and joins again when the successor has ended. */

/* Try to get the lock. *is_new: nobody alive has had this name. */
static enum rc try_name(struct pg_nodes *n, struct str name, bool *is_new, struct err *err)
{
    struct pg_answer a;
    enum rc rc;

    pg_put_text(&n->params, name);
    ask(n, PG_SQL_node_name, &a);
    rc = pg_run(n->link, err);
    if (rc != RC_OK)
        return rc;
    n->has_name = pg_get_bool(&a, 0, 0);
    *is_new = !pg_get_bool(&a, 0, 1);
    return RC_OK;
}

/* Get the lock of our name, unless somebody else has that name and is alive. */
static enum rc take_name(struct pg_nodes *n, struct str name, struct err *err)
{
    int64_t until = clock_steady_ms() + NAME_WAIT_MS;
    bool is_new = false;
    enum rc rc;

    if (n->name == NULL || !str_eqz(name, n->name)) {
        n->has_name = false;
        n->id = 0;
    }
    mem_free(n->name);
    n->name = mem_strndup(name.ptr, name.len);
    rc = n->has_name ? RC_OK : try_name(n, name, &is_new, err);

    while (rc == RC_OK && !n->has_name && !is_new && clock_steady_ms() < until) {
        usleep(NAME_LOOK_MS * 1000);
        rc = try_name(n, name, &is_new, err);
    }
    return rc;
}

/* What a process before us of the same name has had is nobody's. */
static void queue_inherit(struct pg_nodes *n, struct str name)
{
    if (!n->has_name || n->id != 0)
        return;
    pg_put_text(&n->params, name);
    ask(n, PG_SQL_slots_inherit, NULL);
    pg_put_text(&n->params, name);
    ask(n, PG_SQL_node_inherit, NULL);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* The column base_url has the roles, too, if there are any: "URL --hub=no". */
static void put_equals(struct pg_nodes *n, const struct node_facts *f)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);

    buf_str(&text, f->base_url);
    if (f->roles.len > 0)
        buf_printf(&text, " %.*s", STR_ARG(f->roles));
    pg_put_text(&n->params, text.len > 0 ? buf_view(&text) : STR("")); /* never NULL */
    pg_put_int(&n->params, f->archive_size);
    pg_put_int(&n->params, SCHEMA_VERSION);
}

/* What is different at the node of this answer? */
static enum rc say_difference(const struct pg_answer *a, const struct node_facts *f,
                              struct err *err)
{
    struct str name = pg_get_bytes(a, 0, 0), roles = pg_get_bytes(a, 0, 1);
    struct str base_url = str_split(&roles, ' ');
    int64_t archive_size = pg_get_int(a, 0, 2);
    AUTO(buf_release) struct buf what = BUF_INIT(BUF_ANY);

    if (archive_size != f->archive_size)
        buf_printf(&what, "--archive-size is %" PRId64 " here, and %" PRId64, f->archive_size,
                   archive_size);
    if (!str_eq(base_url, f->base_url))
        buf_printf(&what, "%s--base-url is \"%.*s\" here, and \"%.*s\"", what.len > 0 ? "; " : "",
                   STR_ARG(f->base_url), STR_ARG(base_url));
    if (what.len > 0)
        return err_set(err, RC_CONFLICT,
                       "%.*s at the node \"%.*s\" of the same database; it must be the same at all "
                       "nodes",
                       STR_ARG(buf_view(&what)), STR_ARG(name));
    if (!str_eq(roles, f->roles))
        return err_set(err, RC_CONFLICT,
                       "--hub, --cloud and --xmpp-component must be the same at all nodes of a "
                       "database; of these, \"%.*s\" is set here, and \"%.*s\" at the node "
                       "\"%.*s\"",
                       STR_ARG(f->roles), STR_ARG(roles), STR_ARG(name));
    return err_set(err, RC_CONFLICT,
                   "this program writes version %d of the schema, and the node \"%.*s\" of the "
                   "same database (--db) version %" PRId64 "; all nodes need the same program",
                   SCHEMA_VERSION, STR_ARG(name), pg_get_int(a, 0, 3));
}

/* One node after the other joins, or two that differ could both find nobody. */
static void queue_join(struct pg_nodes *n, const struct node_facts *f, struct pg_answer *row,
                       struct pg_answer *differs)
{
    pg_queue_begin(n->link);
    ask(n, PG_SQL_nodes_lock, NULL);
    queue_inherit(n, f->name);
    put_equals(n, f);
    pg_put_text(&n->params, f->name);
    pg_put_text(&n->params, f->address);
    pg_put_text(&n->params, f->program);
    pg_put_int(&n->params, f->lease_ms * 1000);
    pg_put_bool(&n->params, f->is_draining);
    pg_put_int(&n->params, n->id == 0 ? INT64_MAX : n->id);
    ask(n, PG_SQL_node_join, row);
    put_equals(n, f);
    ask(n, PG_SQL_node_differing, differs);
}

static enum rc join(struct node_link *l, const struct node_facts *f, int64_t *id, int64_t *sent_ms,
                    struct err *err)
{
    struct pg_nodes *n = nodes_of(l);
    struct pg_answer row, differs;
    enum rc rc = make_ready(n, err);
    int64_t sent;

    if (rc == RC_OK)
        rc = take_name(n, f->name, err);
    if (rc != RC_OK)
        return rc;
    queue_join(n, f, &row, &differs);
    sent = clock_steady_ms();
    rc = commit(n, err);
    if (rc != RC_OK)
        return rc;
    if (row.n == 0 && differs.n > 0)
        return say_difference(&differs, f, err);
    if (row.n == 0 && n->id != 0)
        return err_set(err, RC_CONFLICT, "a newer node has the name \"%s\" (--node)", n->name);
    if (row.n == 0)
        return err_set(err, RC_AGAIN, "a node has just left");
    *id = n->id = pg_get_int(&row, 0, 0);
    *sent_ms = sent;
    return RC_OK;
}

/* ---- beats ----------------------------------------------------------------------------------- */

struct beat_answers {
    struct pg_answer own, nodes, slots;
};

static void queue_beat(struct pg_nodes *n, const struct beat *b, struct beat_answers *out)
{
    pg_queue_begin(n->link);
    ask(n, PG_SQL_nodes_end, NULL);
    pg_put_int(&n->params, b->id);
    pg_put_int(&n->params, b->lease_ms * 1000);
    pg_put_int(&n->params, b->notice);
    pg_put_bool(&n->params, b->is_draining);
    ask(n, PG_SQL_node_beat, &out->own);
    if (b->n_give > 0) {
        pg_put_int(&n->params, b->id);
        pg_put_ints(&n->params, b->give, b->n_give);
        ask(n, PG_SQL_slots_give, NULL);
    }
    if (b->n_take > 0) {
        pg_put_int(&n->params, b->id);
        pg_put_int(&n->params, (int64_t)b->n_take);
        ask(n, PG_SQL_slots_take, NULL);
    }
    ask(n, PG_SQL_nodes_alive, &out->nodes);
    ask(n, PG_SQL_slots_all, &out->slots);
}

static void read_nodes(const struct pg_answer *a, struct arena *arena, struct beat_answer *out)
{
    out->nodes = ARENA_ARRAY(arena, struct node_row, a->n + 1);
    out->n = a->n;
    for (size_t i = 0; i < a->n; i++)
        out->nodes[i] = (struct node_row){.id = pg_get_int(a, i, 0),
                                          .name = pg_get_str(a, i, 1, arena),
                                          .address = pg_get_str(a, i, 2, arena),
                                          .program = pg_get_str(a, i, 3, arena),
                                          .beat_us = pg_get_int(a, i, 4),
                                          .notice = pg_get_int(a, i, 5),
                                          .is_draining = pg_get_bool(a, i, 6)};
}

static void read_slots(const struct pg_answer *a, struct beat_answer *out)
{
    for (size_t i = 0; i < a->n; i++) {
        int64_t slot = pg_get_int(a, i, 0);

        if (slot >= 0 && slot < SLOTS)
            out->slots[slot] =
                (struct slot_state){pg_get_int(a, i, 1), pg_get_int(a, i, 2), pg_get_int(a, i, 3)};
    }
}

static enum rc beat(struct node_link *l, const struct beat *b, struct arena *a,
                    struct beat_answer *out, struct err *err)
{
    struct pg_nodes *n = nodes_of(l);
    struct beat_answers answers;
    bool is_new;
    enum rc rc = make_ready(n, err);

    if (rc == RC_OK && !n->has_name) /* this session is a new one */
        rc = try_name(n, str_from(n->name), &is_new, err);
    if (rc != RC_OK)
        return rc;
    queue_beat(n, b, &answers);
    *out = (struct beat_answer){.sent_ms = clock_steady_ms()};
    rc = commit(n, err);
    if (rc != RC_OK)
        return rc;
    out->is_gone = answers.own.n == 0;
    if (out->is_gone)
        return RC_OK;
    out->now_us = pg_get_int(&answers.own, 0, 0);
    out->schema_version = pg_get_int(&answers.own, 0, 1);
    out->last_notice = pg_get_int(&answers.own, 0, 2);
    out->forked_us = pg_get_int(&answers.own, 0, 3);
    read_nodes(&answers.nodes, a, out);
    read_slots(&answers.slots, out);
    return RC_OK;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static enum rc drain(struct node_link *l, struct str name, struct err *err)
{
    struct pg_nodes *n = nodes_of(l);
    struct pg_answer a;
    enum rc rc = make_ready(n, err);

    if (rc != RC_OK)
        return rc;
    pg_put_text(&n->params, name);
    ask(n, PG_SQL_node_drain, &a);
    rc = pg_run(n->link, err);
    if (rc == RC_OK && a.n_changed == 0)
        return err_set(err, RC_NOT_FOUND, "there is no node \"%.*s\"", STR_ARG(name));
    return rc;
}

static enum rc leave(struct node_link *l, int64_t id, struct err *err)
{
    struct pg_nodes *n = nodes_of(l);
    enum rc rc = make_ready(n, err);

    if (rc != RC_OK)
        return rc;
    pg_queue_begin(n->link);
    pg_put_int(&n->params, id);
    ask(n, PG_SQL_slots_leave, NULL);
    pg_put_int(&n->params, id);
    ask(n, PG_SQL_node_leave, NULL);
    return commit(n, err);
}

const struct node_calls pg_node_calls = {
    .open = open_link,
    .close = close_link,
    .stop = stop,
    .join = join,
    .beat = beat,
    .drain = drain,
    .leave = leave,
};
