/* api/lists/sub_shown.c - see sub_shown.h. */
#include "api/lists/sub_shown.h"

#include <stdlib.h>

#include "api/http/reply.h"
#include "api/views/history.h"
#include "api/views/shapes.h"
#include "base/clock.h"
#include "feed/filter/filter.h"
#include "feed/text/json.h"
#include "model/view.h"
#include "storage/pushes.h"

/* Read the records of the lists that these subscriptions follow, in order of their ids. */
static enum rc read_lists(struct reader *r, struct arena *a, const struct subscription *subs,
                          size_t n, struct feed **lists, size_t *n_lists, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++)
        if (subs[i].list != NULL)
            ids[n_ids++] = subs[i].list->feed_id;
    *n_lists = 0;
    n_ids = view_ids_sort(ids, n_ids);
    return n_ids == 0 ? RC_OK : reader_feeds(r, ids, n_ids, a, lists, n_lists, err);
}

static int by_id(const void *key, const void *feed)
{
    int64_t id = *(const int64_t *)key, other = ((const struct feed *)feed)->id;

    return (id > other) - (id < other);
}

static const struct feed *list_of(const struct subscription *sub, const struct feed *lists,
                                  size_t n)
{
    return sub->list == NULL || n == 0
               ? NULL
               : bsearch(&sub->list->feed_id, lists, n, sizeof *lists, by_id);
}

static bool has_good_filter(const struct subscription *sub)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;

    return str_is_null(sub->filter) || filter_read(&scratch, sub->filter) != NULL;
}

/* How far it lags. *is_known: false when nothing is pushed. A filter that cannot be read, as in a damaged database, is the
 * fault of this subscription alone: `sub`, a copy, says so. */
static enum rc read_lag(struct reader *r, struct subscription *sub, struct sub_lag *lag,
                        bool *is_known, struct err *err)
{
    *is_known = !str_is_null(sub->endpoint);
    if (!has_good_filter(sub)) {
        *is_known = false;
        sub->last_error = STR("the subscription's filter cannot be read; give it another one");
    }
    return *is_known ? reader_lag(r, sub, lag, err) : RC_OK;
}

enum rc subs_shown(struct task *t, struct reader *r, const struct subscription *subs, size_t n,
                   bool is_brief, struct value *list, struct err *err)
{
    int64_t now_us = clock_now_us();
    struct dead_count *dead;
    struct host_rests rests = {.n = 0};
    struct feed *lists = NULL;
    size_t n_dead, n_lists = 0, k = 0;
    enum rc rc = reader_dead_counts(r, n == 0 ? 1 : subs[0].id, n == 0 ? 0 : subs[n - 1].id,
                                    &t->arena, &dead, &n_dead, err);

    if (rc == RC_OK)
        rc = read_lists(r, &t->arena, subs, n, &lists, &n_lists, err);
    if (rc == RC_OK && n_lists > 0)
        rc = host_rests_read(&rests, r, &t->arena, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct subscription sub = subs[i];
        struct sub_lag lag = {.n = 0};
        bool lag_is_known;
        struct sub_beside beside;

        while (k < n_dead && dead[k].sub_id < subs[i].id)
            k++;
        rc = read_lag(r, &sub, &lag, &lag_is_known, err);
        beside = (struct sub_beside){.is_brief = is_brief,
                                     .lag = lag_is_known ? &lag : NULL,
                                     .list = list_of(&subs[i], lists, n_lists),
                                     .n_dead =
                                         k < n_dead && dead[k].sub_id == subs[i].id ? dead[k].n : 0,
                                     .now_us = now_us,
                                     .rests = &rests};
        value_push(&t->arena, list, shape_sub(&t->arena, &sub, &beside, t->cfg));
    }
    return rc;
}

void sub_shown_dispose(struct task *t)
{
    buf_release(&((struct sub_shown *)t->data)->out);
}

enum task_step sub_shown_fail(struct task *t)
{
    ((struct sub_shown *)t->data)->failed = true;
    return TASK_ENDS;
}

bool sub_own_read(struct task *t, struct reader *r, int64_t id, struct subscription **out,
                  struct problem *p)
{
    enum rc rc = reader_sub(r, id, &t->arena, out, &t->err);

    if (rc == RC_OK &&
        !caller_has(&t->caller, (*out)->owner)) /* it need not know that there is one */
        rc = RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND) {
        problem_set(p, &t->arena, PROBLEM_NOT_FOUND, "There is no subscription %lld.",
                    (long long)id);
        p->parameter = STR("id");
    } else if (rc != RC_OK) {
        problem_of_err(p, &t->arena, rc, &t->err);
    }
    return rc == RC_OK;
}

bool sub_shown_read(struct task *t, struct reader *r, struct subscription **out)
{
    struct sub_shown *s = t->data;

    return sub_own_read(t, r, s->id, out, &s->problem);
}

enum task_step sub_shown_handed(struct task *t, enum rc rc)
{
    struct sub_shown *s = t->data;

    if (rc == RC_OK)
        return TASK_GOES_ON;
    problem_of_err(&s->problem, &t->arena, rc, NULL);
    return sub_shown_fail(t);
}

/* On a reader thread. */
static void on_reader(void *ctx, struct reader *r)
{
    struct task *t = ctx;
    struct sub_shown *s = t->data;
    struct value *list = value_list(&t->arena);
    struct subscription *sub;
    enum rc rc;

    s->failed = !sub_shown_read(t, r, &sub);
    if (!s->failed) {
        rc = subs_shown(t, r, sub, 1, false, list, &t->err);
        s->failed = rc != RC_OK;
        if (s->failed)
            problem_of_err(&s->problem, &t->arena, rc, &t->err);
    }
    if (!s->failed && !str_is_null(s->secret))
        value_set_textz(&t->arena, value_at(list, 0), "secret", s->secret);
    if (!s->failed) {
        json_write(&s->out, value_at(list, 0));
        buf_putc(&s->out, '\n');
    }
    task_finish(t);
}

void sub_shown_stored(void *ctx, enum rc rc, const struct store_result *res,
                      const struct err *err)
{
    struct task *t = ctx;
    struct sub_shown *s = t->data;

    /* every change may be made twice, so a caller may try again when the readers have no room */
    if (rc == RC_OK && (rc = store_read(t->api->store, on_reader, t)) == RC_OK)
        return;
    s->failed = true;
    problem_of_err(&s->problem, &t->arena, rc, err);
    if (rc == RC_NOT_FOUND && s->dead_id != 0)
        problem_set(&s->problem, &t->arena, PROBLEM_NOT_FOUND,
                    "Subscription %lld has no dead letter %lld.", (long long)s->id,
                    (long long)s->dead_id);
    else if (rc == RC_GONE)
        history_put_kept(t->api->store, &t->arena, res->last_seq, STR_NULL, &s->problem);
    task_finish(t);
}

void sub_shown_reply(struct task *t, struct request *req)
{
    struct sub_shown *s = t->data;

    if (s->failed)
        reply_problem(req, &s->problem);
    else
        reply_buf(req, 200, "application/json", &s->out, STR_NULL);
}
