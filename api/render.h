/* api/render.h - documents of views: cached ones at once, others made on a reader thread.
 *
 * A document is named by a key that tells everything it depends on, the version of its feeds
 * included: nothing is ever invalidated. Requests that want the same document at the same time wait
 * for one rendering. The call's loop only.
 */
#pragma once

#include "api/call.h"
#include "api/form.h"
#include "api/place.h"
#include "api/reply.h"
#include "feed/writer.h"

#define PAGE_NO_ROWS SIZE_MAX

struct render_spec {
    struct view view; /* after_seq: only what changed after it (RFC 3229, deliveries) */
    bool merged;
    size_t page_no; /* of a paged document (RFC 5005 section 3), from 1; 0: it is none */
    /* the other forms: */
    int64_t page;              /* -1: the newest, by the URL of the entry document */
    size_t page_size;          /* revisions of a page */
    size_t page_rows;          /* only so many of them; 0: all; PAGE_NO_ROWS: none */
    bool is_settled;           /* its bytes will never change (form_page_is_settled()) */
    struct place since, until; /* FORM_STREAM: the range, which takes a reader to find */
    struct str callback;       /* a function that the document is wrapped in (JSON-P); null: none */
    bool complete;             /* FORM_RECORDS: all current records in one document */
    struct str origin;         /* "http://host:port", for links */
    struct str hub;            /* URL of the hub that delivers it; null: none does */
    bool is_delivery; /* for a WebSub subscriber that has everything up to view.after_seq, */
    size_t max_new;   /* with at most so many entries that are new */
    struct str self;  /* our URL of the document; may hold key marks (selflink.h), like `next` */
    struct str next;  /* the URL of the page that follows; null: none is offered */
    struct str id, title; /* of a merged document */
    struct str key;       /* its name; set by render_unmodified() */
};

/* Name the document, without looking at what the client has. */
void render_name(struct call *c, struct render_spec *spec);

/* The seq up to which the client has a document of this name, told by an entity tag of ours in
 * If-None-Match; 0: it names none. FORM_NEWEST; after render_unmodified(). */
int64_t render_base(struct call *c, const struct render_spec *spec);

/* Name the document, and answer 304 when If-None-Match has it: true, the call is over. Sets
 * r->etag; the Cache-Control of the reply comes from *r. Everything is in the call's arena. */
bool render_unmodified(struct call *c, struct render_spec *spec, struct reply *r);

/* Answer from the cache of this process; false: it is not there. */
bool render_from_cache(struct call *c, const struct render_spec *spec, struct reply *r);

/* Else answer with the document, from the cache or rendered (maybe 304 by its date). Further fields
 * come from *r, too; body and date are set here. */
void render_reply(struct call *c, const struct render_spec *spec, struct reply *r);

/* Life cycle of the table of running renderings. */
struct renders *renders_new(void);
void renders_free(struct renders **rp);
