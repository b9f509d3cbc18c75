/* api/lists/sub_shown.h - subscriptions as GET /sub?type=json shows them, and the requests that
 * change one and answer with it. */
#pragma once

#include "api/http/task.h"
#include "model/value.h"

/* Append the subscriptions, which are in order of their ids, to a list; brief ones without the lists of their feeds. n == 1:
 * what belongs to the others is not read. Runs on reader threads. RC_IO. */
enum rc subs_shown(struct task *t, struct reader *r, const struct subscription *subs, size_t n,
                   bool is_brief, struct value *list, struct err *err) NODISCARD;

/* A request that changes a subscription. It is the first member of what the task has as `data`. */
struct sub_shown {
    int64_t id;
    int64_t dead_id; /* the dead letter that the request names; 0: none */
    bool failed;     /* then problem says why */
    struct problem problem;
    struct str secret; /* told with the answer; null: there is none */
    struct buf out;    /* the subscription as JSON */
};

/* For the task's `dispose`. */
void sub_shown_dispose(struct task *t);

/* Read a subscription, with its feeds. One of another caller is as if it were not there. False: *p
 * was set, to 404 for one that is not there. */
bool sub_own_read(struct task *t, struct reader *r, int64_t id, struct subscription **out,
                  struct problem *p) NODISCARD;

/* The same for the one that the request names. */
bool sub_shown_read(struct task *t, struct reader *r, struct subscription **out) NODISCARD;

/* End the task; its problem has been set. */
enum task_step sub_shown_fail(struct task *t);

/* Returns what follows after a change was given to the storer, with sub_shown_stored(). After RC_OK
 * the task belongs to the storer, and may be freed already. */
enum task_step sub_shown_handed(struct task *t, enum rc rc);

/* What the storer calls; ctx is the task. The subscription is read again, and the task ends. */
void sub_shown_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err);

/* Answer 200 with the subscription, or with the problem. */
void sub_shown_reply(struct task *t, struct request *req);
