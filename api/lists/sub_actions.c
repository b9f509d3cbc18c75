/* api/lists/sub_actions.c - POST /sub with `action`: a table of the actions, and what each one
 * changes. */
#include "api/lists/sub_actions.h"

#include "api/lists/sub_shown.h"
#include "api/views/cursor_find.h"
#include "api/views/shapes.h"
#include "base/buf.h"
#include "feed/text/json.h"
#include "model/known_loss.h"
#include "storage/pushes.h"

/* An action under way. */
struct acting {
    struct sub_shown shown; /* first */
    struct params params;
    struct subscription *sub; /* as it was read */
    struct sub_change change;
};

typedef enum task_step action_fn(struct task *t, struct reader *r, struct acting *act);

bool sub_position_read(struct task *t, struct reader *r, const struct params *params,
                       enum param_id id, bool *given, int64_t *seq, struct problem *p)
{
    struct cursor_log log = {.id = store_log_id(t->api->store),
                             .last_seq = store_last_seq(t->api->store)};
    struct view view = {.all_feeds = true, .order = VIEW_LOG};
    struct cursor_spec at;
    struct str text;
    enum rc rc;

    if (!params_optional(params, &t->arena, id, &text, p) ||
        !cursor_spec_read(&t->arena, param_name(id), text, CURSOR_TAKES_PLAIN, &log, &at, p))
        return false;
    *given = at.kind != CURSOR_NONE;
    rc = cursor_find(r, &at, &view, true, seq, &t->err);
    if (rc == RC_OK && at.floor > 0 && *seq == 0)
        *seq = known_loss_position(at.floor);
    if (rc != RC_OK)
        problem_of_err(p, &t->arena, rc, &t->err);
    return rc == RC_OK;
}

/* ---- state and position ---------------------------------------------------------------------- */

static enum task_step change(struct task *t, struct acting *act)
{
    act->change.sub_id = act->shown.id;
    act->change.level = LEVEL_KEEP;
    return sub_shown_handed(t, store_change_sub(t->api->store, &act->change, sub_shown_stored, t));
}

/* Read a position into the change. */
static bool read_position(struct task *t, struct reader *r, struct acting *act, enum param_id id)
{
    return sub_position_read(t, r, &act->params, id, &act->change.has_position,
                             &act->change.position, &act->shown.problem);
}

static enum task_step pause_sub(struct task *t, struct reader *r UNUSED, struct acting *act)
{
    act->change.has_state = true;
    act->change.state = SUB_PAUSED;
    return change(t, act);
}

static enum task_step resume_sub(struct task *t, struct reader *r, struct acting *act)
{
    if (!read_position(t, r, act, PARAM_from))
        return sub_shown_fail(t);
    act->change.has_state = true;
    act->change.state = SUB_ACTIVE;
    return change(t, act);
}

static enum task_step replay(struct task *t, struct reader *r, struct acting *act)
{
    if (!read_position(t, r, act, PARAM_from))
        return sub_shown_fail(t);
    if (!act->change.has_position) {
        problem_parameter(&act->shown.problem, &t->arena, "from", STR_NULL, NULL,
                          "The parameter `from` is missing; it is the position after which "
                          "everything is delivered again.");
        return sub_shown_fail(t);
    }
    act->change.with_initial = true;
    return change(t, act);
}

static enum task_step skip(struct task *t, struct reader *r, struct acting *act)
{
    struct str to;

    if (!params_optional(&act->params, &t->arena, PARAM_to, &to, &act->shown.problem) ||
        !read_position(t, r, act, PARAM_to))
        return sub_shown_fail(t);
    if (!act->change.has_position)
        act->change.position = store_last_seq(t->api->store);
    act->change.has_position = act->change.is_skip = true;
    if (act->change.position < act->sub->position) {
        problem_parameter(&act->shown.problem, &t->arena, "to", to, NULL,
                          "The parameter `to` is before the position of the subscription; "
                          "action=replay goes back.");
        return sub_shown_fail(t);
    }
    return change(t, act);
}

/* ---- dead letters ---------------------------------------------------------------------------- */

/* Read `dead`: the number of one, or all. */
static bool read_dead(struct task *t, struct acting *act)
{
    struct problem *p = &act->shown.problem;
    struct str value;

    if (!params_optional(&act->params, &t->arena, PARAM_dead, &value, p))
        return false;
    if (str_is_null(value) || str_eqz(value, "all"))
        return true;
    return (str_to_i64(value, &act->shown.dead_id) && act->shown.dead_id > 0) ||
           problem_parameter(p, &t->arena, "dead", value, NULL,
                             "The parameter `dead` must be `all`, or the number of a dead letter "
                             "as GET /sub/dead gives it.");
}

static enum task_step retry_dead(struct task *t, struct reader *r UNUSED, struct acting *act)
{
    if (!read_dead(t, act))
        return sub_shown_fail(t);
    return sub_shown_handed(
        t, store_dead_retry(t->api->store, act->shown.id, act->shown.dead_id, sub_shown_stored, t));
}

static enum task_step drop_dead(struct task *t, struct reader *r UNUSED, struct acting *act)
{
    if (!read_dead(t, act))
        return sub_shown_fail(t);
    return sub_shown_handed(
        t, store_dead_drop(t->api->store, act->shown.id, act->shown.dead_id, sub_shown_stored, t));
}

/* ---- a test ---------------------------------------------------------------------------------- */

#define ANSWER_MAX 1024 /* bytes of an answer that are shown */

/* The first bytes of a text, without a character that is cut. */
static struct str beginning(struct str text)
{
    size_t n = text.len;

    if (n > ANSWER_MAX)
        for (n = ANSWER_MAX; n > 0 && ((unsigned char)text.ptr[n] & 0xc0) == 0x80;)
            n--;
    return str_slice(text, 0, n);
}

/* On the notify loop. */
static void on_tested(void *ctx, const struct push_test_result *res)
{
    struct task *t = ctx;
    struct acting *act = t->data;
    struct arena *a = &t->arena;
    struct value *v = value_dict(a);
    struct str answer = str_is_null(res->answer) ? STR_NULL : beginning(res->answer);

    act->shown.failed = res->rc != RC_OK;
    if (res->rc == RC_UNSUPPORTED)
        problem_parameter(&act->shown.problem, a, "action", STR_NULL, NULL,
                          "Subscription %lld cannot be tested: %.*s.", (long long)act->shown.id,
                          STR_ARG(res->error));
    else if (res->rc != RC_OK)
        problem_of_err(&act->shown.problem, a, res->rc, NULL);
    value_setz(a, v, "status", res->status == 0 ? value_null(a) : value_int(a, res->status));
    value_setz(a, v, "answer", shape_text(a, answer));
    value_setz(a, v, "error", shape_text(a, res->error));
    json_write(&act->shown.out, v);
    buf_putc(&act->shown.out, '\n');
    task_finish(t);
}

static enum task_step test_sub(struct task *t, struct reader *r UNUSED, struct acting *act)
{
    return sub_shown_handed(
        t, t->api->ports.test_push(t->api->ports.ctx, act->shown.id, on_tested, t));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    action_fn *run;
} actions[] = {
    {"pause", pause_sub},       {"resume", resume_sub},   {"replay", replay}, {"skip", skip},
    {"retry-dead", retry_dead}, {"drop-dead", drop_dead}, {"test", test_sub},
};

static const char *names_of_actions(struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        buf_printf(&out, "%s%s", i > 0 ? "|" : "", actions[i].name);
    return arena_printf(a, "%.*s", STR_ARG(buf_view(&out)));
}

/* Find the action; NULL: the problem was set. */
static action_fn *find_action(struct task *t, struct acting *act)
{
    struct problem *p = &act->shown.problem;
    struct str name;

    if (!params_one(&act->params, &t->arena, PARAM_action, &name, p))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (str_eqz(name, actions[i].name))
            return actions[i].run;
    problem_parameter(p, &t->arena, "action", name, names_of_actions(&t->arena),
                      "The parameter `action` does not name an action.");
    return NULL;
}

enum task_step sub_act(struct task *t, struct reader *r, const struct params *params)
{
    struct acting *act = ARENA_NEW(&t->arena, struct acting);
    action_fn *run;

    act->params = *params;
    act->shown.out = (struct buf)BUF_INIT(BUF_ANY);
    t->data = act;
    t->done = sub_shown_reply;
    t->dispose = sub_shown_dispose;
    run = find_action(t, act);
    if (run == NULL ||
        !params_id(&act->params, &t->arena, PARAM_acted_id, &act->shown.id, &act->shown.problem) ||
        !sub_shown_read(t, r, &act->sub))
        return sub_shown_fail(t);
    return run(t, r, act);
}
