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
