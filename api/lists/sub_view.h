/* api/lists/sub_view.h - the parameter `view` of POST and PATCH /sub: subscriptions that follow named views. On a reader
 * thread. A check that fails sets *p and returns false. */
#pragma once

#include "api/http/task.h"
#include "api/views/asks.h"

struct sub_view {
    struct str asks;         /* what the subscription follows from now on; empty: nothing; null: as before */
    struct str filter;       /* its own; null: none */
    struct asks_found found; /* if `asks` has a text */
};

/* Does the request perhaps name a view? Which it does is read later, on a reader thread; the books must be fresh by
 * then (sub_book_prepare()). The request's loop. */
bool sub_view_may_be_named(struct request *req);

/* Does the request name a view? */
bool sub_view_is_named(const struct params *ps);

/* Read what a new subscription follows: the views, and the feeds of `url`. `filter`: its own; null: none. */
bool sub_view_read(struct task *t, struct reader *r, const struct params *ps, struct str filter,
                   struct sub_view *out, struct problem *p) NODISCARD;

/* Read what a subscription follows after this change, and its filter. */
bool sub_view_change(struct task *t, struct reader *r, const struct params *ps, const struct subscription *sub,
                     struct sub_view *out, struct problem *p) NODISCARD;
