/* fetcher/check.h - fills the parts that the outcomes of polls and of streams share: what the
 * answer says about the feed itself. Pure, any thread.
 */
#pragma once

#include "base/arena.h"
#include "fetcher/adapt.h"
#include "fetcher/job.h"
#include "model/document.h"
#include "storage/store.h"

/* Where a document was found. */
struct found_at {
    struct str asked;   /* the URL that was asked, without the parameters for a piece of a stream */
    struct str url;     /* the feed's URL by this answer: `asked`, or the URL to which it has moved
                           permanently */
    struct str for_url; /* the feed's URL when the request was made; if the feed has another URL
                           now, this answer does not change it. null: the document was found
                           elsewhere, and `url` always counts */
    struct str page_url; /* the web page that led to the document; null: no web page did */
};

/* What the source found. */
struct check_facts {
    bool is_ok;                 /* a document was understood, or is the same as before */
    bool has_news;              /* something in it is new, changed or deleted */
    bool is_gap;                /* it has no entry in common with the document before it */
    bool is_past;               /* a piece of what a stream had before we came, and more follows: it says
                                 * nothing of how the feed posts now */
    const struct feed_doc *doc; /* NULL: no document was read */
    struct sight sight;         /* how many entries are new and shown, and their dates; no time */
};

/* Fill *o; strings are in the arena or borrowed from the job. `fresh`: the feed's row as it is now.
 * `at` is used only when there was a document. Also sets the result of the job. */
void check_fill(struct arena *a, struct job *job, const struct feed *fresh,
                const struct check_facts *facts, const struct found_at *at, int64_t now,
                struct feed_check *o);

/* Fill *o with the document's head. `href` is the document's URL as it is shown. Strings that have
 * not changed are null. */
void check_head(struct arena *a, const struct job *job, const struct feed *fresh,
                const struct feed_doc *doc, struct str href, struct doc_head *o);

/* What the answer and the document say about the time of the next fetch. */
struct doc_hint_row check_hints(const struct job *job, const struct feed_doc *doc);

/* When the feed's new URL belongs to another feed, the two are merged. If that other feed is due
 * earlier, its date is kept, because it follows from that feed's own period. `store` is used to
 * look up the other feed. */
void check_keep_date(struct store *store, const struct feed *fresh, struct feed_check *o);
