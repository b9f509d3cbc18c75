/* api/lists/sub_follow.h - keeps the feeds and the filters of subscriptions that follow something (api/views/asks.h).
 *
 * After a commit that changes subscriptions, named views, or which feeds there are, each of them is asked again, on a
 * thread of its own: at most once a second, and some subscriptions at a time. What differs is stored, which is another
 * commit; and comes to rest, because one that follows adds no feeds to another one that does. With several nodes each does
 * this, and stores nothing that another one has stored already. */
#pragma once

#include "api/http/context.h"
#include "storage/store.h"

struct sub_follow;
struct sub_follow *sub_follow_new(struct api *api);

/* Begin, with a look for what changed while nobody looked. Until _stop(). */
void sub_follow_start(struct sub_follow *f);
void sub_follow_stop(struct sub_follow *f);
void sub_follow_free(struct sub_follow **fp);

/* After a commit. Any thread; quick. */
void sub_follow_notice(struct sub_follow *f, const struct commit_notice *notice);
