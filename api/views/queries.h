/* api/views/queries.h - finds the resource that reads a query, by the path of the document.
 *
 * A topic of the hub is the URL of a document with a query. Any thread; each ask belongs to one
 * thread. */
#pragma once

#include "api/views/query.h"

bool feed_query(struct ask *ask, struct query *q, struct problem *p); /* feed.c */
bool feeds_query(struct ask *ask, struct query *q, struct problem *p);
bool named_query(struct ask *ask, struct query *q, struct problem *p);
bool smart_query(struct ask *ask, struct query *q, struct problem *p);   /* smart.c */
bool archive_query(struct ask *ask, struct query *q, struct problem *p); /* archive.c */

/* Read the positions between which items of a stream are asked for, into a spec whose order is
 * and whose edition of views are known. The names are those of the parameters, for *p. Null: no such position. */
bool smart_range(struct ask *ask, const char *since_name, struct str since, const char *until_name,
                 struct str until, struct document_spec *spec, struct problem *p) NODISCARD;

/* Put the positions and the length that this query of smart_query() has, as `since`, `until` and
 * `max` of a GET, into its spec, which describe() has filled in. */
void smart_piece(const struct query *q, struct document_spec *spec);

/* Read the query that ask->target names: its path and its parameters. PROBLEM_NOT_FOUND: the path
 * is not that of a document with a query. */
bool query_read(struct ask *ask, struct query *q, struct problem *p) NODISCARD;

/* Does it name feeds by what changes over time? Then it can be read only when the books are fresh
 * (sub_book.h), and whoever subscribes to it follows it (asks.h). */
bool query_has_sets(const struct ask *ask);

/* Returns true when this path ends in the path of a document with a query; *at is the offset at
 * which that begins. The path has no query, but may have slashes at its end. */
bool query_path_ends(struct str path, size_t *at);
