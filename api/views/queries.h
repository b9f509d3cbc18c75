/* api/views/queries.h - the documents that have a query, by path: which resource reads it.
 *
 * A topic of the hub is the URL of such a document. Any thread: an ask belongs to one.
 */
#pragma once

#include "api/views/query.h"

bool feed_query(struct ask *ask, struct query *q, struct problem *p); /* feed.c */
bool feeds_query(struct ask *ask, struct query *q, struct problem *p);
bool smart_query(struct ask *ask, struct query *q, struct problem *p);   /* smart.c */
bool archive_query(struct ask *ask, struct query *q, struct problem *p); /* archive.c */

/* Read the query that ask->target names: its path and its parameters. PROBLEM_NOT_FOUND: the path
 * is not that of a document with a query. */
bool query_read(struct ask *ask, struct query *q, struct problem *p) NODISCARD;

/* Whether this path (without a query, perhaps with slashes at its end) ends in the path of a
 * document with a query; *at is where that begins. */
bool query_path_ends(struct str path, size_t *at);
