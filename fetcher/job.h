/* fetcher/job.h - one turn of a feed in the fetcher: what all sources need of it, and its present
 * step.
 *
 * A job belongs to one thread at a time: the fetch loop, a reader that loads its row, a worker that
 * reads its document, or the storer. It is always in one step (steps.def) and has one source
 * (source.h). A source keeps its own data in `states`. This file starts no threads and does no I/O.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "fetcher/upstream_links.h"
#include "fetcher/response.h"
#include "fetcher/schedule.h"
#include "model/feed.h"
#include "model/fetch_secrets.h"
#include "model/ports.h"
#include "net/http_client.h"
#include "storage/nodes.h"
#include "storage/store.h"

#define JOB_FIELDS (4 + FETCH_SECRETS_MAX) /* of a request, at most: ours, and the feed's own */

enum job_step {
#define STEP(NAME, name, meaning) STEP_##NAME,
#include "fetcher/steps.def"
#undef STEP
    STEP_AWAY, /* another thread, a queue or a timer has the job */
};

enum source_id {
#define SOURCE(name) SOURCE_ID_##name,
#include "fetcher/sources.def"
#undef SOURCE
    SOURCE_COUNT_
};

struct source;
struct loop_timer;
STAILQ_HEAD(job_list, job);

struct job {
    STAILQ_ENTRY(job) link; /* in a list of its present owner */
    const struct source *source;
    enum job_step step;
    void *states[SOURCE_COUNT_]; /* of each source that had a turn; its own file knows the type */
    struct arena *arena;         /* lives as long as the job */
    struct arena *answer_arena;  /* of the last answer; NULL: none */
    struct arena *feed_arena;    /* of `loaded`, when it was read again after `feed`; or NULL */
    struct arena *own_arena; /* of `feed`, when it was read again; NULL: it was not read again */
    void *owner;             /* the fetcher */
    int64_t feed_id;
    bool is_claimed; /* the next one counts among what runs in its slot of hosts */
    struct node_claim claim;
    uint64_t call;    /* the transfer, while it is under way */
    int64_t asked_us; /* monotonic: when it began */
    int64_t room;     /* bytes of the database that it has taken (fetcher/room.h) */
    bool is_cut;      /* the host is another node's now, so nothing of this counts */
    unsigned reasons; /* REASON_BITs */
    struct schedule_rules rules;
    bool announced_only;       /* a setting: the usual addresses of a site are not tried */
    int64_t seen_check_at;     /* of the feed, as it was read, or as this job has set it since */
    int64_t started_at;        /* Unix seconds */
    struct feed *feed;         /* as it was when the job began; NULL: not read yet */
    struct loaded_feed loaded; /* as it was read last, for outcomes */
    struct str credential;        /* of the feed, opened; null: it has none. SECRET */
    struct fetch_secrets secrets; /* of the feed, opened */
    struct str refusal; /* why nothing may be asked: these cannot be opened; null: they were */

    /* what is asked now or next */
    struct str url;   /* canonical */
    bool conditional; /* the request is sent with the feed's validators */

    /* the last answer, or what is used instead of it */
    struct response resp;
    struct str body, content_type, content_location, content_language;
    struct str final_url;       /* where the document was */
    struct str link_field;      /* Link fields, joined; null: none */
    bool outage;                /* the failure is ours */
    bool is_list;               /* a list of feeds came: nothing for those who wait for a feed */
    struct upstream_links hubs; /* upstream hubs; strings in `arena` */

    /* what is asked after what was stored */
    struct {
        const struct source *source; /* NULL: nothing */
        struct str what;             /* the source's: a URL, a cursor */
    } next;
    int n_more;                  /* documents asked for in this way */
    struct loop_timer *patience; /* when it fires, waiters are told before all were read */
    struct fetch_result so_far;  /* what the waiters are told then; belongs to the loop, even while
                                    another thread has the job */

    /* how the job ended, for its waiters */
    enum rc rc;
    int status;
    struct str text;   /* why it failed; null */
    int64_t result_id; /* the feed after discovery and redirects */
    int64_t retry_ms;  /* nothing was stored: try again after this time; 0: do not try again */
    bool wants_feed;   /* the feed itself is to be fetched next */
};

struct job *job_new(void *owner, const struct source *source, int64_t feed_id, unsigned reasons,
                    const struct schedule_rules *rules);
void job_free(struct job **jp);

/* The URL to which the validators of its feed are sent, and no other one: the one that gave them. */
struct str job_validators_url(const struct job *job);

/* The request of a feed document: with the validators, when job->conditional. `user_agent` is its
 * beginning, as fetcher_cfg has it: the number of subscribers is added. */
void job_request(struct job *job, struct http_field *fields, struct http_call *call);
void job_call(struct job *job, const char *user_agent, struct http_field fields[JOB_FIELDS],
              struct http_call *call);

/* Judge the answer to the request, and take it over with answer->arena. */
void job_take_answer(struct job *job, enum rc rc, struct http_answer *answer,
                     const struct err *err);

/* Ask for this URL next, without the feed's validators. Returns STEP_QUEUE. */
enum job_step job_ask(struct job *job, struct str url);

/* Free the memory of the document, which has been read. The rest of the answer is kept. */
void job_drop_body(struct job *job);

/* Let the job fail for this reason, whatever the answer was. */
void job_fail(struct job *job, enum rc rc, struct str text);

/* End the job, because nothing could be stored; it is tried again later. Returns STEP_END. */
enum job_step job_give_back(struct job *job, enum rc rc, const struct err *err);

/* Read the feed's row into job->loaded, in the arena. RC_NOT_FOUND: the feed does not exist. Runs
 * on a thread that has a reader. */
enum rc job_read_feed(struct job *job, struct store *store, struct reader *r, struct arena *a,
                      struct err *err) NODISCARD;

/* Returns true when the store has a document of the feed. */
bool job_has_document(const struct job *job);

/* Returns true when the next request should be sent without validators or cursor. Wrong validators
 * or a wrong cursor would hide all changes of a feed for ever. So a feed that has not changed for a
 * week is now and then asked without them. */
bool job_is_in_doubt(const struct job *job);

/* Returns true when the feed's credential may be sent to this URL. It may be sent only to the host
 * for which it was given. When the feed was found on a web page, this is the host of the page. A
 * change from http to https on the same host is allowed. */
bool job_may_identify(const struct feed *feed, struct str url);

/* Open what the feed's row has of secrets, or note why that cannot be. Nothing is asked without them
 * then. */
void job_unseal(struct job *job, struct store *store);

/* "load", "queue", ... */
const char *job_step_name(enum job_step step);
