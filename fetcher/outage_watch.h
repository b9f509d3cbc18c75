/* fetcher/outage_watch.h - what the fetcher does about an outage of our own connection (ETIQ-04).
 *
 * While it lasts, failures count for no feed, and of what is due one fetch at a time is made as a
 * probe. Those failures of the last minute by which the outage was recognised are taken back.
 * All calls come from the fetch loop. */
#pragma once

#include "fetcher/fetcher_priv.h"

/* The job's transfer has ended. Sets job->outage. */
void outage_watch_note(struct fetcher *f, struct job *job, enum rc rc,
                       const struct http_answer *answer);

/* The loop ends: nothing is taken back any more. */
void outage_watch_stop(struct fetcher *f);
