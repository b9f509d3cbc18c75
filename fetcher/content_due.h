/* fetcher/content_due.h - the call by which the sweeper of contents queues what is due. */
#pragma once

#include "fetcher/fetcher_priv.h"

/* Contents of metadata records of these feeds are due. Queue the next content of each feed, at the
 * host that has the content. Any thread. */
void content_want(struct fetcher *f, const int64_t *feed_ids, size_t n);
