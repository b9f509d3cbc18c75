/* api/views/recall.h - what a GET of /feed or /feeds asked for the last time, remembered by its
 * bytes.
 *
 * Most requests have been made before. What such a request means (its feeds, the name and tag of
 * its document, its fields) depends on nothing but its bytes, the settings, the names of feeds in
 * the directory (store_names()), the version of its feeds, and, if it names them by subscriptions,
 * those of the caller. If none of these has changed, nothing
 * is read or looked up again: the answer is 304, or the document from the cache. All else is
 * answered in the usual way. As long as nothing at all has changed (store_stamp()), not even the
 * versions of its feeds are looked at, so a known request costs the same for one feed and for a
 * thousand. Only the request's loop may call recall_serve() and recall_keep().
 */
#pragma once

#include "api/views/documents.h"

/* Answer a request that is known. False: it is not known, or its document is not in the cache;
 * nothing was answered. */
bool recall_serve(struct request *req);

/* How a request is answered. Texts are copied. */
struct recall_facts {
    const struct document_spec *spec; /* with its name */
    const struct reply *reply;        /* tag and Cache-Control */
    struct str fields;                /* of an answer with a body, as complete lines */
    int64_t names;                    /* store_names() before its feeds were looked up */
    bool has_sets;                    /* its feeds may change (feeds_asked.h) ... */
    int64_t edition;                  /* ... when this sub_book_edition() does */
    int64_t version;                  /* store_version() before the document was named */
};
void recall_keep(struct request *req, const struct recall_facts *facts);

/* What was remembered, at most 16 MiB of it; the least recently asked for is forgotten first. */
struct recall *recall_new(void);
void recall_free(struct recall **rp);
