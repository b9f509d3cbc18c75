/* fetcher/ownership.h - which feeds are this node's: those of the hosts that it owns
 * (storage/nodes.h). If there is one node, all are.
 *
 * Both sweepers hold only own feeds. When hosts come, what is due there is read from the database;
 * when they go, their feeds are forgotten, and their jobs are cut off as soon as they may not go
 * on. All of this may be a little late, so each job asks again when it begins, and before each
 * transfer. */
#pragma once

#include "fetcher/fetcher_priv.h"

/* Is the feed of a host that is ours? A feed that is gone counts as ours. Any thread. */
bool own_feed(const struct fetcher *f, int64_t feed_id);

/* Begin and end the work of a job. False: its host is not ours. own_end() may be called for any
 * job. Loop. */
bool own_begin(struct fetcher *f, struct job *job) NODISCARD;
void own_end(struct fetcher *f, struct job *job);

/* May the job go on? Any thread. */
bool own_may_go_on(const struct fetcher *f, const struct job *job);

/* Hear of changes from now on. Call it before the node has joined. */
void own_listen(struct fetcher *f);

/* Read what is due in slots that were gained, and the rows of hubs, if they have not been read yet.
 * Loop. */
void own_read_changes(struct fetcher *f);

/* All was read anew (struct commit_notice): pings, answers to wishes and what hubs have said to
 * other nodes may have been missed, so read all of it. Any thread. */
void own_read_anew(struct fetcher *f);

/* Note the due time of a feed, if it is ours. Any thread. */
void own_due(struct fetcher *f, int64_t feed_id, int64_t next_fetch_at, enum fetch_reason reason);
void own_content_due(struct fetcher *f, int64_t feed_id);
