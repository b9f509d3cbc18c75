/* api/views/documents.h - answers requests with documents. Cached documents are sent at once;
 * others are drawn on a reader thread.
 *
 * The name of a cached document includes everything on which its bytes depend, even the version of
 * its feeds. So cached documents never become invalid. If several requests want the same document
 * at the same time, it is drawn once for all of them. The request's loop only.
 */
#pragma once

#include "api/http/reply.h"
#include "api/views/document.h"

/* Name the document (spec->key) at the present version of its feeds. */
void document_name(struct ask *ask, struct document_spec *spec);

/* The same, and set r->etag. */
void document_tag(struct ask *ask, struct document_spec *spec, struct reply *r);

/* The seq up to which the client already has this document, according to one of our entity tags in
 * If-None-Match; 0: there is no such tag. FORM_NEWEST only, after document_tag(). */
int64_t document_base(struct request *req, const struct document_spec *spec);

/* Name the document and set r->etag. If If-None-Match has that tag, answer 304 and return true: the
 * request is over. Cache-Control and further fields come from *r. */
bool document_unmodified(struct request *req, struct document_spec *spec, struct reply *r);

/* Answer with the document from the cache of this process. False: it is not in the cache, and
 * nothing was answered. */
bool document_from_cache(struct request *req, const struct document_spec *spec, struct reply *r);

/* Answer with the document, from the cache or newly drawn, or with 304 if the date in the request
 * allows it. Body and date of *r are set here. The spec is copied; *r lives in the request's arena.
 */
void document_reply(struct request *req, const struct document_spec *spec, struct reply *r);

/* The table of drawings under way. */
struct documents *documents_new(void);
void documents_free(struct documents **dp);
