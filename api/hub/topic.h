/* api/hub/topic.h - topics of our hub: URLs of our documents to which one can subscribe.
 *
 * A topic asks for the same document as a GET of its URL, but without a connection, and it prefers
 * Atom. So it has its own ask. topic_target() and
 * topic_ask() are pure, except that they read the configuration; any thread. */
#pragma once

#include "api/http/request.h"
#include "api/views/asks.h"
#include "api/views/queries.h"

/* Returns the part of a topic's URL after one of `origins`, as a target ("/feed?..."). *origin is
 * set to that origin. URLs are normalised before they are compared. Null: the URL does not begin
 * with one of `origins`, or cannot be sent in a field. */
struct str topic_target(struct arena *a, struct str url, const struct str *origins,
                        size_t n_origins, struct str *origin);

/* Returns the ask of a topic, to be read with query_read(). Strings are borrowed. `caller`: whose folders and
 * subscriptions it names. */
struct ask topic_ask(struct api *api, struct arena *a, struct str origin, struct str target,
                     const struct caller *caller);

#define TOPIC_MAX 8192 /* a topic is sent in a field; some clients fail when it is longer */

/* A topic that was read. */
struct topic {
    struct ask ask;
    struct query query;
};

/* Read what a topic asks for, independently of the request that names it. If it has sets, the books must be
 * fresh: see topics_prepare(). */
bool topic_read(struct request *req, struct str origin, struct str target, struct topic *out,
                struct problem *p) NODISCARD;

/* What its subscribers get: feeds that are known, and a filter. `items`: gathered, in the order of
 * feeds_asked_items(). */
void topic_take(const struct topic *t, const struct gathered *items, size_t n, struct asks_found *out);

/* What a subscription to it follows (asks.h); null: nothing, its feeds stay the same. */
struct str topic_asks(const struct topic *t);

/* Have the books refreshed first, if one of these URLs is a topic with sets. True: `handle` will be called
 * again. */
bool topics_prepare(struct request *req, const struct str *urls, size_t n, request_handler_fn *handle);

/* Get the origins by which links name us: with and without --base-url. On the own machine, its
 * names count as the same, because a program that uses one name may have got the topic from a
 * program that uses another one. Returns their number. */
#define TOPIC_ORIGINS_MAX 5
size_t topic_origins(struct request *req, struct str out[TOPIC_ORIGINS_MAX]);
