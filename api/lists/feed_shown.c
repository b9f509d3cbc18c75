/* api/lists/feed_shown.c - GET /sub/feed: all that is known of one feed. */
#include "api/lists/feed_shown.h"

#include <inttypes.h>

#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/views/feed_why.h"
#include "api/views/shapes.h"
#include "api/views/sub_book.h"
#include "feed/text/json.h"
#include "model/fetch_note.h"
#include "model/media_types.h"

#define NAMED_MAX 64 /* feeds of one address: they differ in what is sent with their fetches */

static struct value *text(struct arena *a, const char *z)
{
    return value_text(a, str_from(z));
}

static struct value *shape_note(struct arena *a, const struct fetch_note *n)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "at", shape_time(a, n->at));
    value_setz(a, v, "reason", text(a, fetch_reason_name(n->reason)));
    value_setz(a, v, "why", text(a, feed_why_then(n->reason)));
    value_setz(a, v, "status", n->status == 0 ? value_null(a) : value_int(a, n->status));
    value_setz(a, v, "ok", value_bool(a, n->ok));
    value_setz(a, v, "gap", value_bool(a, n->is_gap));
    value_setz(a, v, "new", value_int(a, n->n_new));
    value_setz(a, v, "changed", value_int(a, n->n_changed));
    value_setz(a, v, "deleted", value_int(a, n->n_deleted));
    value_setz(a, v, "next", shape_time(a, n->next_at));
    value_setz(a, v, "next_reason", text(a, fetch_reason_name(n->next_reason)));
    return v;
}

static struct value *shape(struct task *t, const struct feed *feed, const struct host_rests *rests)
{
    struct arena *a = &t->arena;
    struct own_names own = sub_book_names(t->api->subs, &t->caller, &feed->id, 1, a);
    struct value *v = shape_feed(a, feed, own_name(&own, feed->id), rests, t->cfg), *list = value_list(a);
    struct fetch_note notes[FETCH_NOTES];
    size_t n = fetch_notes_read(feed->history, notes);

    for (size_t i = 0; i < n; i++)
        value_push(a, list, shape_note(a, &notes[i]));
    value_setz(a, v, "history", list);
    return v;
}

/* The subscriptions of the caller that have the feed. */
static size_t add_subs(struct task *t, struct value *v, int64_t id)
{
    struct value *list = value_list(&t->arena);
    int64_t *ids;
    size_t n = sub_book_subs_of(t->api->subs, &t->caller, id, &t->arena, &ids);

    for (size_t i = 0; i < n; i++)
        value_push(&t->arena, list, value_int(&t->arena, ids[i]));
    value_setz(&t->arena, v, "subscriptions", list);
    return n;
}

enum task_step feed_shown_fail(struct task *t)
{
    ((struct feed_shown *)t->data)->failed = true;
    return TASK_ENDS;
}

enum task_step feed_shown_read(struct task *t, struct reader *r)
{
    struct feed_shown *s = t->data;
    struct feed *feed;
    struct host_rests rests;
    size_t n_subs = 0;
    enum rc rc = reader_feed(r, s->id, &t->arena, &feed, &t->err);

    if (rc == RC_OK)
        rc = host_rests_read(&rests, r, &t->arena, &t->err);
    if (rc == RC_OK)
        rc = sub_book_refresh(t->api->subs, r, &t->err);
    if (rc == RC_OK) {
        const struct host_until *until = host_rests_of(&rests, feed->url, REASON_HAND);

        if (until == NULL && feed->validators_url.len > 0) /* it leads there */
            until = host_rests_of(&rests, feed->validators_url, REASON_HAND);
        s->cool_until = until != NULL && until->cool_at > rests.now ? until->cool_at : 0;
        s->value = shape(t, feed, &rests);
        n_subs = add_subs(t, s->value, s->id);
    }
    if (rc == RC_NOT_FOUND || (rc == RC_OK && n_subs == 0 && !caller_sees_all(&t->caller))) {
        problem_set(&s->problem, &t->arena, PROBLEM_NOT_FOUND, "There is no feed %" PRId64 ".",
                    s->id);
        s->problem.parameter = STR("id");
        return feed_shown_fail(t);
    }
    if (rc != RC_OK) {
        problem_of_err(&s->problem, &t->arena, rc, &t->err);
        return feed_shown_fail(t);
    }
    s->is_shared = n_subs < (size_t)feed->n_subscriptions && !caller_sees_all(&t->caller);
    return TASK_ENDS;
}

/* On a reader thread. */
static void on_reader(void *ctx, struct reader *r)
{
    feed_shown_read(ctx, r);
    task_finish(ctx);
}

/* Every change may be made twice, so a caller may try again when the readers have no room. */
void feed_shown_stored(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                       const struct err *err)
{
    struct task *t = ctx;
    struct feed_shown *s = t->data;

    if (rc == RC_OK && (rc = store_read(t->api->store, on_reader, t)) == RC_OK)
        return;
    problem_of_err(&s->problem, &t->arena, rc, err);
    feed_shown_fail(t);
    task_finish(t);
}

void feed_shown_reply(struct task *t, struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const struct feed_shown *s = t->data;

    if (s->failed) {
        reply_problem(req, &s->problem);
        return;
    }
    json_write(&out, s->value);
    buf_putc(&out, '\n');
    reply_buf(req, 200, MEDIA_JSON, &out, STR_NULL);
}

/* ---- by an address --------------------------------------------------------------------------- */

/* Of the feeds that the address may mean, the first that the caller may see. 0: there is none. Whoever
 * leaves out a password means the feed all the same, if it is among theirs. */
static int64_t find_address(struct task *t, const struct feed_named *n)
{
    int64_t ids[NAMED_MAX];
    struct feed_brief brief;
    size_t found;

    if (n->credential.len > 0) {
        found = store_find_feed(t->api->store, n->url, n->credential, &brief) ? 1 : 0;
        ids[0] = brief.id;
    } else {
        found = store_find_named(t->api->store, n->url, ids, NAMED_MAX);
    }
    for (size_t i = 0; i < found; i++)
        if (caller_sees_all(&t->caller) || sub_book_has(t->api->subs, &t->caller, ids[i]))
            return ids[i];
    return 0;
}

bool feed_named_find(struct task *t, struct reader *r, struct feed_named *n, struct problem *p)
{
    enum rc rc = n->id != 0 ? RC_OK : sub_book_refresh(t->api->subs, r, &t->err);

    if (rc != RC_OK) {
        problem_of_err(p, &t->arena, rc, &t->err);
        return false;
    }
    if (n->id == 0)
        n->id = find_address(t, n);
    if (n->id != 0)
        return true;
    problem_set(p, &t->arena, PROBLEM_NOT_FOUND, "There is no feed with the address %.*s.",
                STR_ARG(n->url));
    p->parameter = STR("url");
    return false;
}

bool feed_named_read(const struct params *ps, struct arena *a, struct feed_named *out,
                     struct problem *p)
{
    struct wanted_url wanted = {.url = STR_NULL};
    struct str url;

    *out = (struct feed_named){.id = 0};
    if (!params_id(ps, a, PARAM_named_id, &out->id, p) ||
        !params_one(ps, a, PARAM_named_url, &url, p))
        return false;
    if (out->id != 0)
        return true;
    if (str_is_null(url))
        return problem_parameter(p, a, "id", STR_NULL, NULL,
                                 "The feed must be named by its number in `id`, or by its address in `url`.");
    if (!params_url(ps, a, PARAM_named_url, &wanted, p))
        return false;
    out->url = wanted.url;
    out->credential = wanted.credential;
    return true;
}

struct feed_named feed_named_copy(struct arena *a, const struct feed_named *n)
{
    return (struct feed_named){n->id, str_dup(a, n->url), str_dup(a, n->credential)};
}

bool feed_named_prepare(struct request *req, request_handler_fn *handle)
{
    return !params_has(&req->ask.params, PARAM_named_id) && sub_book_prepare(req, handle);
}

/* ---- GET ------------------------------------------------------------------------------------- */

struct getting {
    struct feed_shown shown; /* first */
    struct feed_named named;
};

static enum task_step read_named(struct task *t, struct reader *r)
{
    struct getting *g = t->data;

    if (!feed_named_find(t, r, &g->named, &g->shown.problem))
        return feed_shown_fail(t);
    g->shown.id = g->named.id;
    return feed_shown_read(t, r);
}

void feed_shown_get(struct request *req)
{
    struct feed_named named;
    struct getting *g;
    struct problem p;
    struct task *t;

    if (!feed_named_read(&req->ask.params, req->ask.arena, &named, &p)) {
        reply_problem(req, &p);
        return;
    }
    if (feed_named_prepare(req, feed_shown_get))
        return;
    t = task_new(req, read_named, feed_shown_reply);
    t->data = g = ARENA_NEW(&t->arena, struct getting);
    g->named = feed_named_copy(&t->arena, &named);
    task_start(t);
}
