/* api/nodes.c - GET and POST /nodes: the daemons that work on this log. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "base/mem.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/value.h"
#include "storage/nodes.h"

#define ORDER_MS 4500 /* how long an order may wait for the database */

static struct nodes *nodes_of(const struct request *req)
{
    return store_nodes(req->ask.api->store);
}

static void reply_json(struct request *req, const struct value *v)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    json_write(&out, v);
    buf_putc(&out, '\n');
    reply_buf(req, 200, MEDIA_JSON, &out, STR_NULL);
}

static struct value *shape_node(struct arena *a, const struct node_shown *n)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "name", value_text(a, n->name));
    value_setz(a, v, "address", value_text(a, n->address));
    value_setz(a, v, "version", value_text(a, n->program));
    value_setz(a, v, "slots", value_int(a, (int64_t)n->n_slots));
    value_setz(a, v, "beat_age_s", value_int(a, n->beat_age_ms / 1000));
    value_setz(a, v, "behind", value_int(a, n->behind));
    value_setz(a, v, "draining", value_bool(a, n->is_draining));
    return v;
}

void nodes_get(struct request *req)
{
    struct arena *a = req->ask.arena;
    struct value *v = value_dict(a), *list = value_list(a);
    struct node_shown *nodes;
    size_t n = nodes_list(nodes_of(req), a, &nodes);

    for (size_t i = 0; i < n; i++)
        value_push(a, list, shape_node(a, &nodes[i]));
    value_setz(a, v, "nodes", list);
    reply_json(req, v);
}

/* ---- orders ---------------------------------------------------------------------------------- */

struct order { /* freed on the loop */
    struct ticket ticket;
    enum rc rc;
    struct err err;
};

static void on_home(struct request *req, void *work)
{
    struct order *o = work;
    struct problem p;

    if (req != NULL && o->rc == RC_OK) {
        struct value *v = value_dict(req->ask.arena);

        value_setz(req->ask.arena, v, "status", value_text(req->ask.arena, STR("draining")));
        reply_json(req, v);
    } else if (req != NULL) {
        problem_of_err(&p, req->ask.arena, o->rc, &o->err);
        reply_problem(req, &p);
    }
    mem_free(o);
}

/* The thread of the nodes. */
static void on_ordered(void *ctx, enum rc rc, const struct err *err)
{
    struct order *o = ctx;

    o->rc = rc;
    o->err = *err;
    ticket_post(&o->ticket, on_home, o);
}

void nodes_post(struct request *req)
{
    struct str name, action;
    struct problem p;
    struct order *o;

    if (!params_one(&req->ask.params, req->ask.arena, PARAM_node, &name, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_node_action, &action, &p)) {
        reply_problem(req, &p);
        return;
    }
    if (!str_eqz(action, "drain")) {
        problem_set(&p, req->ask.arena, PROBLEM_BAD_PARAMETER, "The only action is drain.");
        reply_problem(req, &p);
        return;
    }
    o = NEW(struct order);
    o->ticket = ticket_take(req, ORDER_MS);
    nodes_drain(nodes_of(req), name, on_ordered, o);
}
