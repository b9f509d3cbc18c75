/* api/lists/feed_shown.h - one feed as GET /sub/feed shows it, and the requests that change one and
 * answer with it. */
#pragma once

#include "api/http/task.h"
#include "model/value.h"

/* A request for one feed. It is what the task has as `data`, or its first member. */
struct feed_shown {
    int64_t id;
    bool failed; /* then problem says why */
    struct problem problem;
    struct value *value; /* in the task's arena */
    int64_t cool_until;  /* its host asked for a pause until then, Unix seconds; 0: none, or it is over */
    bool is_shared;      /* others have subscribed to it, too, and the caller is not above them */
};

/* The feed that a request means. */
struct feed_named {
    int64_t id;                 /* 0: it is named by an address */
    struct str url, credential; /* as in struct wanted_url */
};

/* Read the parameters `id` and `url`, of which one must be there; with `id`, `url` is not looked at. The
 * texts may be those of the parameters. */
bool feed_named_read(const struct params *ps, struct arena *a, struct feed_named *out,
                     struct problem *p) NODISCARD;
struct feed_named feed_named_copy(struct arena *a, const struct feed_named *n);

/* As sub_book_prepare(), for a request that may have named its feed by an address: another node may
 * just have made it. The request's loop. */
bool feed_named_prepare(struct request *req, request_handler_fn *handle);

/* Find out n->id. False: none of the feeds that the caller may see has had this address. Reader
 * threads. */
bool feed_named_find(struct task *t, struct reader *r, struct feed_named *n,
                     struct problem *p) NODISCARD;

/* Read the feed, with its history and the caller's subscriptions. One that is in none of them is as
 * if it were not there, unless the caller may see all. Reader threads. */
enum task_step feed_shown_read(struct task *t, struct reader *r);

/* End the task; its problem has been set. */
enum task_step feed_shown_fail(struct task *t);

/* What the storer calls after a change; ctx is the task. The feed is read again, and the task ends. */
void feed_shown_stored(void *ctx, enum rc rc, const struct store_result *res,
                       const struct err *err);

/* Answer 200 with the feed, or with the problem. */
void feed_shown_reply(struct task *t, struct request *req);
