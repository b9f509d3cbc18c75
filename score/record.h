/* score/record.h - what a fetcher asked of the score's publisher, and what it was answered.
 *
 * Times are microseconds of Unix time by the clock of the score.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define SCORE_S INT64_C(1000000)
#define SCORE_HOUR (3600 * SCORE_S)
#define SCORE_DAY (24 * SCORE_HOUR)

enum score_host { SCORE_MAIN, SCORE_BUSY, SCORE_OTHER, SCORE_HOSTS };

enum score_feed_id {
#define FEED(name, host, traits, help) SCORE_FEED_##name,
#include "score/feeds.def"
#undef FEED
    SCORE_FEEDS,
    SCORE_NO_FEED
};

struct score_request {
    int64_t at, end; /* it came; its answer was given */
    enum score_host host;
    enum score_feed_id feed; /* SCORE_NO_FEED: what nobody has named to the fetcher */
    bool is_hop;             /* where a redirect leads */
    struct str path;         /* with query */
    struct str agent, coding, none_match, since, cookie, auth; /* fields; null: absent */
    int status;
    struct str etag, modified; /* of the answer; null: it had none */
};

struct score_record {
    struct score_request *rows; /* by time, once it is sorted */
    size_t n, cap;
    int64_t ended; /* until when was judged */
    double speed;  /* seconds of the score's clock in one real second; 0: it goes by the fetcher */
    bool is_early; /* the fetcher ended by itself before its days were over */
    struct arena arena; /* of the texts */
};

#define SCORE_RECORD_INIT                                                                          \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }

/* Append a copy. Its texts are borrowed, and must live as long as the record. */
struct score_request *score_record_add(struct score_record *rec, const struct score_request *r);

/* Put the requests in order of time. */
void score_record_sort(struct score_record *rec);

/* A copy to plant something in; it borrows the texts of `rec`. */
void score_record_copy(const struct score_record *rec, struct score_record *out);

void score_record_release(struct score_record *rec);

const char *score_feed_name(enum score_feed_id feed);
