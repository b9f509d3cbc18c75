/* api/hub/topic.h - topics of our hub: URLs of our documents to which one can subscribe.
 *
 * A topic asks for the same document as a GET of its URL, but without a connection, and it prefers
 * Atom. So it has its own ask. topic_target() and
 * topic_ask() are pure, except that they read the configuration; any thread. */
#pragma once

#include "api/http/request.h"
#include "api/views/queries.h"

/* Returns the part of a topic's URL after one of `origins`, as a target ("/feed?..."). *origin is
 * set to that origin. URLs are normalised before they are compared. Null: the URL does not begin
 * with one of `origins`, or cannot be sent in a field. */
struct str topic_target(struct arena *a, struct str url, const struct str *origins,
                        size_t n_origins, struct str *origin);

/* Returns the ask of a topic, to be read with query_read(). Strings are borrowed. */
struct ask topic_ask(struct api *api, struct arena *a, struct str origin, struct str target);

/* Read what a topic asks for, independently of the request that names it. */
bool topic_read(struct request *req, struct str origin, struct str target, struct query *out,
                struct problem *p) NODISCARD;

/* Get the origins by which links name us: with and without --base-url. On the own machine, its
 * names count as the same, because a program that uses one name may have got the topic from a
 * program that uses another one. Returns their number. */
#define TOPIC_ORIGINS_MAX 5
size_t topic_origins(struct request *req, struct str out[TOPIC_ORIGINS_MAX]);
