/* score/rules.c - see score.h; one function for each row of rules.def. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "score/score.h"

#define FLOOR (300 * SCORE_S)
#define WEEK (7 * SCORE_DAY)
#define BACKOFF_MAX (12 * SCORE_HOUR)
#define REDIRECTS_MAX 5

struct judge {
    const struct score_record *rec;
    struct score_verdict *v; /* of the rule that judges */
    int64_t slack;           /* clocks of both sides differ by so much at most */
    int64_t together;        /* what belongs to one fetch is not farther apart */
};

static void fault(struct judge *j, const struct score_request *r, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void fault(struct judge *j, const struct score_request *r, const char *fmt, ...)
{
    int64_t s = (r->at - j->rec->rows[0].at) / SCORE_S;
    va_list ap;
    int n;

    if (j->v->n_faults++ > 0)
        return;
    n = snprintf(j->v->why, sizeof j->v->why,
                 "%.*s on day %d at %02d:%02d: ", r->path.len > 60 ? 60 : (int)r->path.len,
                 r->path.ptr, (int)(s / 86400) + 1, (int)(s % 86400 / 3600), (int)(s % 3600 / 60));
    va_start(ap, fmt);
    vsnprintf(j->v->why + n, sizeof j->v->why - (size_t)n, fmt, ap);
    va_end(ap);
}

/* One more thing to judge. */
static void demand(struct judge *j, bool is_kept, const struct score_request *r, const char *why)
{
    j->v->n_cases++;
    if (!is_kept)
        fault(j, r, "%s", why);
}

/* Can so long a time be told from one of nothing? At a high speed the clocks of both sides differ too much:
 * a rule of it would be kept by anybody, or broken by chance. Then it is not tried. */
static bool can_tell(const struct judge *j, int64_t span)
{
    return span > 4 * j->slack;
}

/* The next request for a feed's own address after `r`; NULL: for the first one, or there is none.
 * What only led to the question for a password does not count. */
static const struct score_request *next(const struct judge *j, enum score_feed_id feed,
                                        const struct score_request *r)
{
    const struct score_request *end = j->rec->rows + j->rec->n;

    for (r = r == NULL ? j->rec->rows : r + 1; r < end; r++)
        if (r->feed == feed && !r->is_hop && r->status != 401)
            return r;
    return NULL;
}

#define EACH(j, r)                                                                                 \
    for (const struct score_request *r = (j)->rec->rows; r < (j)->rec->rows + (j)->rec->n; r++)
#define EACH_OF(j, feed, r)                                                                        \
    for (const struct score_request *r = next(j, feed, NULL); r != NULL; r = next(j, feed, r))

static bool is_document(const struct score_request *r)
{
    return r->status == 200 || r->status == 304;
}

/* ---- what each request has ---- */

static void rule_names_itself(struct judge *j)
{
    EACH (j, r)
        demand(j, str_find(r->agent, STR("+http")) >= 0, r, "no \"+http...\" in User-Agent");
}

static bool has_count(struct str agent)
{
    ssize_t at = str_find(agent, STR(" subscriber"));

    return at > 0 && agent.ptr[at - 1] >= '0' && agent.ptr[at - 1] <= '9';
}

static void rule_subscribers(struct judge *j)
{
    EACH (j, r)
        if (r->feed != SCORE_NO_FEED)
            demand(j, has_count(r->agent), r, "no \"N subscribers\" in User-Agent");
}

static void rule_gzip(struct judge *j)
{
    EACH (j, r)
        demand(j, str_ifind(r->coding, STR("gzip")) >= 0, r, "no gzip in Accept-Encoding");
}

static void rule_cookie(struct judge *j)
{
    EACH (j, r)
        demand(j, str_is_null(r->cookie), r, "a cookie was sent");
}

/* ---- validators ---- */

/* `since`: look at dates, else at ETags. */
static void judge_validator(struct judge *j, enum score_feed_id feed, bool since, const char *why)
{
    struct str known = STR_NULL;

    EACH_OF (j, feed, r) {
        if (!str_is_null(known))
            demand(j, str_eq(since ? r->since : r->none_match, known), r, why);
        if (is_document(r))
            known = since ? r->modified : r->etag;
    }
}

static void rule_etag(struct judge *j)
{
    judge_validator(j, SCORE_FEED_plain, false, "If-None-Match is not the ETag of the last answer");
}

static void rule_date(struct judge *j)
{
    judge_validator(j, SCORE_FEED_dated, true,
                    "If-Modified-Since is not the Last-Modified of the last answer");
}

static void rule_renewed(struct judge *j)
{
    judge_validator(j, SCORE_FEED_renewed, false, "If-None-Match is not the ETag of the 304");
}

static void rule_dropped(struct judge *j)
{
    bool is_bare = false;

    EACH_OF (j, SCORE_FEED_dropped, r) {
        if (is_bare)
            demand(j, str_is_null(r->none_match) && str_is_null(r->since), r,
                   "a validator of an answer before the last one");
        if (r->status == 200)
            is_bare = str_is_null(r->etag) && str_is_null(r->modified);
    }
}

static void rule_made_up(struct judge *j)
{
    EACH_OF (j, SCORE_FEED_bare, r)
        demand(j, str_is_null(r->none_match) && str_is_null(r->since), r,
               "a validator that never came");
}

/* ---- pauses ---- */

static void judge_pause(struct judge *j, enum score_feed_id feed, int64_t least)
{
    const struct score_request *before = NULL;

    if (!can_tell(j, least))
        return;
    EACH_OF (j, feed, r) {
        if (before != NULL && is_document(before)) {
            j->v->n_cases++;
            if (r->at - before->at < least - j->slack)
                fault(j, r, "asked again after %" PRId64 " s, not %" PRId64,
                      (r->at - before->at) / SCORE_S, least / SCORE_S);
        }
        before = r;
    }
}

static void rule_pause(struct judge *j)
{
    static const enum score_feed_id feeds[] = {SCORE_FEED_plain,   SCORE_FEED_dated,
                                               SCORE_FEED_renewed, SCORE_FEED_dropped,
                                               SCORE_FEED_bare,    SCORE_FEED_cookie};

    for (size_t i = 0; i < ARRAY_LEN(feeds); i++)
        judge_pause(j, feeds[i], FLOOR);
}

static void rule_ttl(struct judge *j)
{
    judge_pause(j, SCORE_FEED_ttl, 6 * SCORE_HOUR);
}

static void rule_max_age(struct judge *j)
{
    judge_pause(j, SCORE_FEED_max_age, 4 * SCORE_HOUR);
}

static void rule_expires(struct judge *j)
{
    judge_pause(j, SCORE_FEED_expires, 3 * SCORE_HOUR);
}

static void rule_sy(struct judge *j)
{
    judge_pause(j, SCORE_FEED_sy, 12 * SCORE_HOUR);
}

static void rule_twice(struct judge *j)
{
    judge_pause(j, SCORE_FEED_twice, FLOOR);
}

static bool is_skipped_day(int64_t at)
{
    return clock_civil(at / SCORE_S).weekday >= 5;
}

static bool is_skipped_hour(int64_t at)
{
    return clock_civil(at / SCORE_S).hour < 12;
}

/* The first request cannot know the document. */
static void rule_skip_hours(struct judge *j)
{
    const struct score_request *first = next(j, SCORE_FEED_hours, NULL);

    if (!can_tell(j, 12 * SCORE_HOUR))
        return;
    EACH_OF (j, SCORE_FEED_hours, r)
        if (r->at > first->end + j->together)
            demand(j, !is_skipped_hour(r->at - j->slack) || !is_skipped_hour(r->at + j->slack), r,
                   "an hour of skipHours");
}

static void rule_skip_days(struct judge *j)
{
    const struct score_request *first = next(j, SCORE_FEED_days, NULL);
    int64_t before = -1;

    EACH_OF (j, SCORE_FEED_days, r) {
        int64_t day = r->at / SCORE_DAY;

        if (r == first)
            continue;
        demand(j, !is_skipped_day(r->at) || day != before, r,
               "once more on a day of skipDays");
        before = day;
    }
}

/* ---- refusals ---- */

/* When the busy host first refused with this status; NULL: it has not. */
static const struct score_request *refusal(const struct judge *j, int status)
{
    EACH (j, r)
        if (r->host == SCORE_BUSY && r->status == status)
            return r;
    return NULL;
}

#define REST (7200 * SCORE_S)

/* What was asked before the answer was there could not know it. */
static void judge_rest(struct judge *j, int status)
{
    const struct score_request *first = refusal(j, status);

    if (first == NULL || j->rec->ended < first->at + REST || !can_tell(j, REST) ||
        j->together >= REST / 2)
        return;
    j->v->n_cases++;
    EACH (j, r)
        if (r->host == SCORE_BUSY && r->at > first->end + j->together &&
            r->at < first->at + REST - j->slack)
            fault(j, r, "asked %" PRId64 " s before the end of Retry-After",
                  (first->at + REST - r->at) / SCORE_S);
}

static void rule_rest_429(struct judge *j)
{
    judge_rest(j, 429);
}

static void rule_rest_503(struct judge *j)
{
    judge_rest(j, 503);
}

static void judge_return(struct judge *j, const struct score_request *first)
{
    int64_t from = first->at + REST, end = 0;

    EACH (j, r) {
        if (r->host != SCORE_BUSY || r->at < from || r->at > from + SCORE_HOUR)
            continue;
        if (end > 0)
            demand(j, r->at >= end, r, "asked before the answer to the one before");
        end = r->end;
    }
}

static void rule_one_by_one(struct judge *j)
{
    static const int kinds[] = {429, 503};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct score_request *first = refusal(j, kinds[i]);

        if (first != NULL)
            judge_return(j, first);
    }
}

/* ---- redirects ---- */

static const struct score_request *first_with(const struct judge *j, enum score_feed_id feed,
                                              int status)
{
    EACH_OF (j, feed, r)
        if (r->status == status)
            return r;
    return NULL;
}

/* Does the request at a redirect's target follow one at the old address, with none between them? At a high
 * speed much is close together. */
static bool is_led(const struct judge *j, const struct score_request *hop)
{
    for (const struct score_request *r = hop; r-- > j->rec->rows && hop->at - r->at <= j->together;)
        if (r->feed == hop->feed)
            return !r->is_hop && r->status >= 300 && r->status < 400;
    return false;
}

/* A period of a day may lie before the fetch that completes the week. */
static void rule_moved(struct judge *j)
{
    const struct score_request *first = first_with(j, SCORE_FEED_moved, 301);
    int64_t sure;

    if (first == NULL || j->rec->ended < (sure = first->at + WEEK + 2 * SCORE_DAY))
        return;
    j->v->n_cases++;
    EACH_OF (j, SCORE_FEED_moved, r)
        if (r->at > sure)
            fault(j, r, "the old address, %" PRId64 " days after the first 301",
                  (r->at - first->at) / SCORE_DAY);
}

static void rule_not_yet_moved(struct judge *j)
{
    const struct score_request *first = first_with(j, SCORE_FEED_moved, 301);
    int n = 0;

    if (first == NULL)
        return;
    EACH (j, r) {
        if (r->feed != SCORE_FEED_moved || !r->is_hop)
            continue;
        if (r->at < first->at + WEEK - j->slack || n < 3)
            demand(j, is_led(j, r), r, "the new address, without a look at the old one");
        n++;
    }
}

static void rule_away(struct judge *j)
{
    EACH (j, r)
        if (r->feed == SCORE_FEED_away && r->is_hop)
            demand(j, is_led(j, r), r, "where a 302 led, without a look at the old address");
}

static void rule_circle(struct judge *j)
{
    const struct score_request *before = NULL;
    int n = 0;

    EACH (j, r) {
        if (r->feed != SCORE_FEED_circle || r->status != 302)
            continue;
        n = before != NULL && r->is_hop && r->at - before->at <= j->together ? n + 1 : 0;
        demand(j, n <= REDIRECTS_MAX, r, "more than five redirects");
        before = r;
    }
}

static void rule_secret(struct judge *j)
{
    EACH (j, r)
        if (r->feed != SCORE_FEED_secret || r->is_hop)
            demand(j, str_is_null(r->auth), r, "a password that is not for this address");
}

/* ---- failures ---- */

static void rule_gone(struct judge *j)
{
    const struct score_request *first = NULL, *last = NULL;
    int n = 0;

    EACH_OF (j, SCORE_FEED_gone, r) {
        if (r->status != 410)
            continue;
        if (n >= 3 && last->at - first->at >= SCORE_DAY)
            demand(j, r->at - last->at >= WEEK - j->slack, r,
                   "asked within a week, and it is gone");
        first = first == NULL ? r : first;
        last = r;
        n++;
    }
}

/* After the second error in a row the pause doubles at least the floor; a tenth is left to chance.
 */
static void judge_backoff(struct judge *j, enum score_feed_id feed)
{
    const struct score_request *before = NULL;
    int64_t least = FLOOR;
    int n = 0;

    EACH_OF (j, feed, r) {
        if (n > 1) {
            least = least * 2 < BACKOFF_MAX ? least * 2 : BACKOFF_MAX;
            j->v->n_cases += can_tell(j, least);
            if (can_tell(j, least) && r->at - before->at < least / 10 * 8 - j->slack)
                fault(j, r, "asked %" PRId64 " s after error %d in a row",
                      (r->at - before->at) / SCORE_S, n);
        }
        n = r->status >= 400 ? n + 1 : 0;
        least = n == 0 ? FLOOR : least;
        before = r;
    }
}

static void rule_missing(struct judge *j)
{
    judge_backoff(j, SCORE_FEED_missing);
}

static void rule_broken(struct judge *j)
{
    judge_backoff(j, SCORE_FEED_broken);
}

/* ---- all of them together ---- */

static void rule_at_once(struct judge *j)
{
    const struct score_request *before = NULL;

    EACH_OF (j, SCORE_FEED_slow, r) {
        if (before != NULL)
            demand(j, r->at >= before->end, r, "asked before the answer to the same question");
        before = r;
    }
}

#define SPREAD_LEAST 20              /* fewer requests say nothing, ... */
#define SPREAD_SLACK (120 * SCORE_S) /* ... nor do they if the hour is not known better */

static void rule_spread(struct judge *j)
{
    const struct score_request *last = NULL;
    size_t n = 0, n_full = 0;

    if (j->slack > SPREAD_SLACK)
        return;
    EACH_OF (j, SCORE_FEED_plain, r) {
        n++;
        n_full += r->at % SCORE_HOUR < 10 * SCORE_S + j->slack;
        last = r;
    }
    if (n >= SPREAD_LEAST)
        demand(j, n_full * 2 <= n, last, "most requests came at the full hour");
}

static bool may_be_left(enum score_feed_id feed)
{
    return feed == SCORE_FEED_gone || feed == SCORE_FEED_moved;
}

/* It was asked for, and the answer was each time that a password is needed. */
static bool was_refused(const struct judge *j, enum score_feed_id feed)
{
    EACH (j, r)
        if (r->feed == feed && r->status == 401)
            return true;
    return false;
}

/* Was the feed left alone for more than two days? Those on which its publisher wants no request do not count. */
static bool is_left(enum score_feed_id feed, int64_t from, int64_t to)
{
    int64_t left = to - from;

    for (int64_t at = from, end; feed == SCORE_FEED_days && at < to; at = end) {
        end = at - at % SCORE_DAY + SCORE_DAY < to ? at - at % SCORE_DAY + SCORE_DAY : to;
        left -= is_skipped_day(at) ? end - at : 0;
    }
    return left > 2 * SCORE_DAY;
}

static void judge_lasting(struct judge *j, enum score_feed_id feed)
{
    const struct score_request *last = NULL, *missed = NULL;

    EACH_OF (j, feed, r) {
        if (last != NULL && is_left(feed, last->at, r->at) && missed == NULL)
            missed = last;
        last = r;
    }
    if (last != NULL && is_left(feed, last->at, j->rec->ended))
        missed = last;
    j->v->n_cases++;
    if (missed != NULL)
        fault(j, missed, "not asked for more than two days after this");
    else if (last == NULL)
        fault(j, j->rec->rows, was_refused(j, feed) ? "%s.rss was never asked for with the right password"
                                                    : "%s.rss was never asked for", score_feed_name(feed));
}

/* Who ends by himself has given up all feeds. */
static void rule_lasting(struct judge *j)
{
    if (j->rec->is_early) {
        j->v->n_cases++;
        fault(j, j->rec->rows + j->rec->n - 1, "after this the command ended by itself");
    }
    if (j->rec->ended - j->rec->rows[0].at < SCORE_DAY)
        return;
    for (int feed = 0; feed < SCORE_FEEDS; feed++)
        if (!may_be_left((enum score_feed_id)feed))
            judge_lasting(j, (enum score_feed_id)feed);
}

#define STRAYS_MAX 10 /* requests for one address within a day: one more is too often */

static void rule_strays(struct judge *j)
{
    int64_t day = -1;
    size_t n = 0;

    j->v->n_cases++;
    EACH (j, r) {
        if (r->feed != SCORE_NO_FEED)
            continue;
        n = r->at / SCORE_DAY == day ? n + 1 : 1;
        day = r->at / SCORE_DAY;
        if (n > STRAYS_MAX)
            fault(j, r, "no feed is there, and this was time %zu on that day", n);
    }
}

/* ---- all rules ---- */

static const struct {
    const char *name, *asked, *source;
    void (*judge)(struct judge *j);
} rules[] = {
#define RULE(id, name, asked, source) {name, asked, source, rule_##id},
#include "score/rules.def"
#undef RULE
};

void score_judge(const struct score_record *rec, struct score_verdict out[SCORE_RULES])
{
    struct judge j = {.rec = rec};

    j.slack = 2 * SCORE_S + (int64_t)(rec->speed * 0.02 * SCORE_S);
    j.together = 60 * SCORE_S + (int64_t)(rec->speed * SCORE_S);
    memset(out, 0, SCORE_RULES * sizeof *out);
    for (int i = 0; i < SCORE_RULES && rec->n > 0; i++) {
        j.v = &out[i];
        rules[i].judge(&j);
    }
}

/* Who has given up feeds has not tried the rules that are not tried: he does not keep them, either. */
int score_points(const struct score_record *rec, const struct score_verdict verdicts[SCORE_RULES])
{
    int n_tried = 0, n_kept = 0;
    bool gave_up = verdicts[SCORE_RULE_lasting].n_faults > 0;

    for (int i = 0; i < SCORE_RULES; i++) {
        n_tried += verdicts[i].n_cases > 0;
        n_kept += verdicts[i].n_cases > 0 && verdicts[i].n_faults == 0;
    }
    if (rec->n == 0 || n_tried == 0)
        return 0;
    return 100 * n_kept / (gave_up ? SCORE_RULES : n_tried);
}

const char *score_rule_name(enum score_rule rule)
{
    return rules[rule].name;
}

const char *score_rule_asked(enum score_rule rule)
{
    return rules[rule].asked;
}

const char *score_rule_source(enum score_rule rule)
{
    return rules[rule].source;
}

enum score_rule score_rule_find(struct str name)
{
    int i = 0;

    while (i < SCORE_RULES && !str_eqz(name, rules[i].name))
        i++;
    return (enum score_rule)i;
}
