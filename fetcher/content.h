/* fetcher/content.h - the content of a metadata record (Atom-PMH), one a job.
 *
 * The harvest does not wait for it: entries are stored as the feed has them, and what is open
 * stands in the database with a time. A job asks for one alternate of one record, in the slot of
 * the feed and in a class of its own: behind all fetches of feeds, one at a time and apart from
 * each other on a host. Its answer is stored, and the commit says when the next one is due.
 */
#pragma once

#include "feed/record.h"
#include "fetcher/parse_job.h"

struct content_job {
    struct open_content open; /* entry_id 0: nothing is to be asked for */
    struct value *entry;      /* its present object */
    struct record_form forms[RECORD_FORMS_MAX];
    size_t n_forms;
};

/* Is it this that the job is for, and nothing else? */
bool content_is_wanted(unsigned reasons);

/* What is to be asked for next of the feed: job->url, null when it is nothing. On a reader's
 * thread. */
enum rc content_begin(struct job *job, struct feed_record *rec, struct reader *r,
                      struct err *err) NODISCARD;

/* The host ("host:port") that it will ask, or the feed's own. Likewise. */
struct str content_authority(struct arena *a, const struct feed_record *rec, struct reader *r);

/* The answer, as parse_job_run(). */
enum job_step content_run(const struct parse_worker *w, struct job *job);
