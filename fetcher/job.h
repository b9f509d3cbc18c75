/* fetcher/job.h - one poll of one feed as a step machine, without threads or I/O.
 *
 * A job belongs to one thread at a time and travels: fetch loop (send, answered) -> parse worker
 * (work) -> loop again when there is more to ask, or the storer -> loop (end). What is asked for is
 * first the feed's URL; a page that was found there or that the feed came from before; then up to
 * JOB_ANNOUNCED feeds that the page announces, or when it announces none, up to JOB_GUESSES
 * addresses that may be one, until one is. An archive document leads to the one to subscribe to.
 * When that is stored, documents of the feed's past follow, one by one, as the storer names them;
 * or, of a Smart Feed, the next pieces of it, each as a poll of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "fetcher/follow.h"
#include "fetcher/hub_links.h"
#include "fetcher/response.h"
#include "fetcher/schedule.h"
#include "model/feed.h"
#include "net/http_client.h"

#define JOB_ANNOUNCED 3
#define JOB_GUESSES 13
#define JOB_FIELDS 4

enum job_step {
    JOB_SEND, /* ask job->url */
    JOB_WORK, /* to a worker: understand what came, store what it means */
    JOB_END,  /* the storer has it, or nothing can be stored */
};

enum job_target {
    JOB_FEED,
    JOB_PAGE,
    JOB_CANDIDATE,
    JOB_ARCHIVE,  /* a document of the feed's past */
    JOB_CONTENT,  /* of a metadata record, and nothing else (content.h) */
    JOB_DELIVERY, /* nothing is asked: a hub sent it (delivery.h) */
};

struct loop_timer;
STAILQ_HEAD(job_list, job);

struct job {
    STAILQ_ENTRY(job) link;     /* in a list of its present owner */
    struct arena *arena;        /* record and small strings; lives as long as the job */
    struct arena *answer_arena; /* of the last answer; NULL when there is none */
    void *owner;                /* the fetcher */
    int64_t feed_id;
    unsigned reasons; /* REASON_BITs */
    struct schedule_rules rules;
    int64_t started_at;      /* first request, Unix seconds */
    struct feed_record *rec; /* as read before the first request; NULL: none */

    enum job_target target;
    struct str url;   /* asked now or next; canonical */
    bool conditional; /* with the record's validators */
    struct str page;  /* where the candidates were found; null */
    struct str candidates[JOB_GUESSES];
    size_t n_candidates, next_candidate;
    bool guesses;        /* the candidates are not announced */
    bool announced_only; /* a setting: no usual addresses are tried */
    bool is_led;         /* by an archive document at the URL that was asked first */
    bool is_back;        /* there was nothing: the archive document stands for the feed */

    struct content_job *content; /* JOB_CONTENT: content.c's own */
    struct str accept;           /* null: what feeds are asked for with */
    bool wants_feed;             /* the feed is to be fetched next */
    struct follow_state follow;
    struct str base;         /* of a Smart Feed: what job->url asks a piece of; null before one */
    struct str asked_cursor; /* behind which job->url asks */
    struct str next_cursor;  /* there is more behind it, as the storer says; null: no */
    struct arena *rec_arena; /* of a record read after the first piece */

    struct str next_archive;     /* as the storer says; null: none */
    int n_archives;              /* asked for so far */
    struct loop_timer *patience; /* who waits is told before the past has been read */

    struct response resp;      /* the last answer, or what stands for it */
    struct response own;       /* what the feed's own URL answered before its page was asked */
    struct response page_resp; /* what the page answered */
    struct hub_links hubs;     /* strings in `arena` */
    struct str link_field;     /* Link fields of the answer, joined; null */
    struct str body, content_type, content_location, content_language, final_url;
    bool outage; /* the failure is ours */

    /* the end, for those who wait */
    enum rc rc;
    int status;
    struct str text;   /* why it failed; null */
    int64_t result_id; /* the record after discovery and redirects */
    int64_t retry_ms;  /* nothing was stored: try again then; 0: no */
};

struct job *job_new(void *owner, int64_t feed_id, unsigned reasons,
                    const struct schedule_rules *rules);
void job_free(struct job **jp);

/* The document has been read: give its memory back. What else the answer said is kept. */
void job_drop_body(struct job *job);

/* The record is there: what is asked first. */
void job_begin(struct job *job, struct feed_record *rec);

/* The call for job->url. `fields` must live until it was started. `user_agent` is its
 * beginning, as fetcher_cfg has it: the number of subscribers is added. */
void job_call(struct job *job, const char *user_agent, struct http_field fields[JOB_FIELDS],
              struct http_call *call);

/* The answer to it; takes over answer->arena. JOB_SEND or JOB_WORK. */
enum job_step job_answered(struct job *job, enum rc rc, struct http_answer *answer,
                           const struct err *err);

/* The document is a page that announces these (absolute URLs, the best first), or announces none
 * and may lead to these; JOB_SEND, or JOB_WORK when none can be asked: then job->resp says why. */
enum job_step job_discovered(struct job *job, const struct str *hrefs, size_t n, bool guesses);

/* The candidate is a list of feeds (an Atom service document): its feeds are tried in its place, as
 * far as there is room. As job_next_candidate(). */
enum job_step job_expanded(struct job *job, const struct str *hrefs, size_t n);

/* May the usual addresses of the page's site be tried? Not when it was done before: the page was
 * there at the last fetch and led nowhere. */
bool job_may_guess(const struct job *job);

/* The candidate is no feed: the next one, or the end of them. As job_discovered(). */
enum job_step job_next_candidate(struct job *job);

/* What came is an archive document, and this the URL to subscribe to: JOB_SEND; JOB_WORK when it is
 * not followed (only once, and not to a host that may not have the credential). */
enum job_step job_led_to(struct job *job, struct str url);

/* What an archive document led to is no feed: JOB_SEND, the archive document is asked for again to
 * stand for it; JOB_WORK when it is not that, or there is a feed in the store. */
enum job_step job_led_back(struct job *job);

/* The feed's document is stored: ask for what is behind job->next_cursor; false when it cannot be
 * asked for. */
bool job_ask_more(struct job *job);

/* The URL that the answer is of, without what asks for a piece; where it has moved to for good. */
struct str job_own_url(struct job *job);

/* The feed's document is stored: ask for job->next_archive. */
void job_ask_archive(struct job *job);

/* The job has failed for this reason, whatever was answered. */
void job_fail(struct job *job, enum rc rc, struct str text);

/* Has the feed a document in the store? */
bool job_has_document(const struct job *job);

/* May the credential of the record be sent to this URL? Only to the host it was given for (the
 * page's when the feed was found there); a change from http to https on it is allowed. */
bool job_may_identify(const struct feed_record *rec, struct str url);
