/* api/lists/sub_log.c - GET /sub/log: the last deliveries of a subscription; GET /sub/dead: what
 * its endpoint refused for good. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/lists/sub_shown.h"
#include "api/views/shapes.h"
#include "feed/text/json.h"
#include "model/cursor.h"
#include "storage/pushes.h"

struct history {
    struct sub_shown shown; /* first */
    int64_t max;
};

static struct value *cursor_of(struct task *t, struct log_mark at)
{
    char text[CURSOR_TEXT];

    if (at.seq == 0)
        return value_null(&t->arena);
    cursor_write(text, store_log_id(t->api->store), at.seq, at.at_us);
    return value_text(&t->arena, str_dup(&t->arena, str_from(text)));
}

static struct value *status_of(struct arena *a, int status)
{
    return status == 0 ? value_null(a) : value_int(a, status);
}

static struct value *shape_delivery(struct task *t, const struct delivery_note *d)
{
    struct arena *a = &t->arena;
    struct value *v = value_dict(a);

    value_setz(a, v, "at", shape_time(a, d->at_us / 1000000));
    value_setz(a, v, "try", value_int(a, d->n_try));
    value_setz(a, v, "n_entries", value_int(a, d->n_entries));
    value_setz(a, v, "first_cursor", cursor_of(t, d->first));
    value_setz(a, v, "last_cursor", cursor_of(t, d->last));
    value_setz(a, v, "status", status_of(a, d->status));
    value_setz(a, v, "ms", value_int(a, d->ms));
    value_setz(a, v, "verdict", value_text(a, str_from(delivery_verdict_name(d->verdict))));
    value_setz(a, v, "error", d->error.len == 0 ? value_null(a) : shape_text(a, d->error));
    return v;
}

static struct value *shape_dead(struct task *t, const struct dead_letter *d)
{
    struct arena *a = &t->arena;
    struct value *v = value_dict(a);

    value_setz(a, v, "dead", value_int(a, d->id));
    value_setz(a, v, "cursor", cursor_of(t, d->at));
    value_setz(a, v, "uid", shape_text(a, d->uid));
    value_setz(a, v, "at", shape_time(a, d->refused_at));
    value_setz(a, v, "status", status_of(a, d->status));
    value_setz(a, v, "answer", shape_text(a, d->answer));
    return v;
}

/* Write {"name":[...]}, or set the problem of an error. */
static enum task_step end(struct task *t, enum rc rc, const char *name, struct value *list)
{
    struct history *h = t->data;
    struct value *v = value_dict(&t->arena);

    if (rc != RC_OK) {
        problem_of_err(&h->shown.problem, &t->arena, rc, &t->err);
        return sub_shown_fail(t);
    }
    value_set(&t->arena, v, str_from(name), list);
    json_write(&h->shown.out, v);
    buf_putc(&h->shown.out, '\n');
    return TASK_ENDS;
}

static enum task_step work_log(struct task *t, struct reader *r)
{
    struct history *h = t->data;
    struct value *list = value_list(&t->arena);
    struct delivery_note *notes = NULL;
    struct subscription *sub;
    size_t n = 0;
    enum rc rc;

    if (!sub_shown_read(t, r, &sub))
        return sub_shown_fail(t);
    rc = reader_deliveries(r, h->shown.id, (size_t)h->max, &t->arena, &notes, &n, &t->err);
    for (size_t i = 0; rc == RC_OK && i < n; i++)
        value_push(&t->arena, list, shape_delivery(t, &notes[i]));
    return end(t, rc, "deliveries", list);
}

static enum task_step work_dead(struct task *t, struct reader *r)
{
    struct history *h = t->data;
    struct value *list = value_list(&t->arena);
    struct dead_letter *dead = NULL;
    struct subscription *sub;
    size_t n = 0;
    enum rc rc;

    if (!sub_shown_read(t, r, &sub))
        return sub_shown_fail(t);
    rc = reader_dead_letters(r, h->shown.id, &t->arena, &dead, &n, &t->err);
    for (size_t i = 0; rc == RC_OK && i < n; i++)
        value_push(&t->arena, list, shape_dead(t, &dead[i]));
    return end(t, rc, "dead", list);
}

static void start(struct request *req, task_work_fn *work, int64_t max)
{
    struct history history = {.shown = {.out = BUF_INIT(BUF_ANY)}, .max = max};
    struct problem p;
    struct task *t;

    if (!params_id(&req->ask.params, req->ask.arena, PARAM_id, &history.shown.id, &p)) {
        reply_problem(req, &p);
        return;
    }
    t = task_new(req, work, sub_shown_reply);
    t->data = arena_copy(&t->arena, &history, sizeof history);
    t->dispose = sub_shown_dispose;
    task_start(t);
}

void sub_log_get(struct request *req)
{
    struct problem p;
    int64_t max;

    if (params_count(&req->ask.params, req->ask.arena, PARAM_deliveries, &max, &p))
        start(req, work_log, max);
    else
        reply_problem(req, &p);
}

void sub_dead_get(struct request *req)
{
    start(req, work_dead, 0);
}
