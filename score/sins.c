/* score/sins.c - see score_plant(): for each rule, what a fetcher does that breaks it alone. */
#include <stdlib.h>

#include "base/clock.h"
#include "score/score.h"

/* The k-th request for a feed's own address with this status, 0: with any; NULL: there are fewer.
 */
static struct score_request *pick(struct score_record *rec, enum score_feed_id feed, int status,
                                  int k)
{
    for (size_t i = 0; i < rec->n; i++) {
        struct score_request *r = &rec->rows[i];

        if (r->feed == feed && !r->is_hop && r->status != 401 &&
            (status == 0 || r->status == status) && k-- == 0)
            return r;
    }
    return NULL;
}

static struct score_request *pick_hop(struct score_record *rec, enum score_feed_id feed, int k)
{
    for (size_t i = 0; i < rec->n; i++)
        if (rec->rows[i].feed == feed && rec->rows[i].is_hop && k-- == 0)
            return &rec->rows[i];
    return NULL;
}

/* The same request once more, so much later. */
static bool again(struct score_record *rec, const struct score_request *r, int64_t later)
{
    struct score_request copy;

    if (r == NULL)
        return false;
    copy = *r;
    copy.at += later;
    copy.end = copy.at;
    score_record_add(rec, &copy);
    return true;
}

static bool again_soon(struct score_record *rec, enum score_feed_id feed)
{
    return again(rec, pick(rec, feed, 304, 1), 60 * SCORE_S);
}

/* ---- what each request has ---- */

static bool sin_names_itself(struct score_record *rec)
{
    for (size_t i = 0; i < rec->n; i++)
        rec->rows[i].agent = STR("Reader/1.0 (1 subscriber)");
    return true;
}

static bool sin_subscribers(struct score_record *rec)
{
    for (size_t i = 0; i < rec->n; i++)
        rec->rows[i].agent = STR("Reader/1.0 (+http://reader.example/)");
    return true;
}

static bool sin_gzip(struct score_record *rec)
{
    for (size_t i = 0; i < rec->n; i++)
        rec->rows[i].coding = STR_NULL;
    return true;
}

static bool sin_cookie(struct score_record *rec)
{
    struct score_request *r = pick(rec, SCORE_FEED_cookie, 0, 1);

    if (r != NULL)
        r->cookie = STR("visitor=1");
    return r != NULL;
}

/* ---- validators ---- */

static bool sin_etag(struct score_record *rec)
{
    struct score_request *r = pick(rec, SCORE_FEED_plain, 0, 1);

    /* as a weak one is taken for a strong one */
    if (r != NULL)
        r->none_match = str_slice(r->none_match, 2, r->none_match.len);
    return r != NULL;
}

static bool sin_date(struct score_record *rec)
{
    struct score_request *r = pick(rec, SCORE_FEED_dated, 0, 1);

    /* as a program writes a date that it has read */
    if (r == NULL || r->since.len < 5)
        return false;
    r->since = str_printf(&rec->arena, "%.*sGMT", (int)r->since.len - 5, r->since.ptr);
    return true;
}

/* The ETag of the last document, not of the last answer. */
static bool sin_renewed(struct score_record *rec)
{
    struct str kept = STR_NULL;
    bool is_planted = false;

    for (size_t i = 0; i < rec->n; i++) {
        struct score_request *r = &rec->rows[i];

        if (r->feed != SCORE_FEED_renewed)
            continue;
        if (!str_is_null(kept) && !str_eq(kept, r->none_match)) {
            r->none_match = kept;
            is_planted = true;
        }
        if (r->status == 200)
            kept = r->etag;
    }
    return is_planted;
}

static bool sin_dropped(struct score_record *rec)
{
    struct score_request *known = pick(rec, SCORE_FEED_dropped, 0, 0);
    bool is_bare = false, is_planted = false;

    for (size_t i = 0; known != NULL && i < rec->n; i++) {
        struct score_request *r = &rec->rows[i];

        if (r->feed != SCORE_FEED_dropped)
            continue;
        if (is_bare) {
            r->none_match = known->etag;
            is_planted = true;
        }
        is_bare = str_is_null(r->etag);
    }
    return is_planted;
}

/* The time of the last fetch, as if it were the publisher's. */
static bool sin_made_up(struct score_record *rec)
{
    struct score_request *r = pick(rec, SCORE_FEED_bare, 0, 1);
    char date[CLOCK_TEXT];

    if (r == NULL)
        return false;
    clock_http_date(r->at / SCORE_S - 3600, date);
    r->since = str_dup(&rec->arena, str_from(date));
    return true;
}

/* ---- pauses ---- */

static bool sin_pause(struct score_record *rec)
{
    return again_soon(rec, SCORE_FEED_cookie);
}

static bool sin_ttl(struct score_record *rec)
{
    return again_soon(rec, SCORE_FEED_ttl);
}

static bool sin_max_age(struct score_record *rec)
{
    return again_soon(rec, SCORE_FEED_max_age);
}

static bool sin_expires(struct score_record *rec)
{
    return again_soon(rec, SCORE_FEED_expires);
}

static bool sin_sy(struct score_record *rec)
{
    const struct score_request *r = pick(rec, SCORE_FEED_sy, 0, 1);

    return again(rec, r, 60 * SCORE_S);
}

static bool sin_twice(struct score_record *rec)
{
    return again(rec, pick(rec, SCORE_FEED_twice, 0, 1), SCORE_S / 10);
}

static bool sin_skip_hours(struct score_record *rec)
{
    const struct score_request *r = pick(rec, SCORE_FEED_hours, 0, 1);

    return r != NULL && again(rec, r, SCORE_DAY - r->at % SCORE_DAY + 3 * SCORE_HOUR);
}

static bool sin_skip_days(struct score_record *rec)
{
    const struct score_request *r = pick(rec, SCORE_FEED_days, 0, 1);
    int64_t to_sunday;

    if (r == NULL)
        return false;
    to_sunday = (6 - clock_civil(r->at / SCORE_S).weekday) * SCORE_DAY - r->at % SCORE_DAY;
    if (r->at + to_sunday <= rec->rows[0].at)
        to_sunday += 7 * SCORE_DAY;
    again(rec, r, to_sunday + SCORE_HOUR);
    return again(rec, pick(rec, SCORE_FEED_days, 0, 1), to_sunday + 2 * SCORE_HOUR);
}

/* ---- refusals ---- */

static bool asks_in_rest(struct score_record *rec, int status)
{
    const struct score_request *first = NULL;

    for (size_t i = 0; i < rec->n && first == NULL; i++)
        if (rec->rows[i].host == SCORE_BUSY && rec->rows[i].status == status)
            first = &rec->rows[i];
    return again(rec, first, SCORE_HOUR);
}

static bool sin_rest_429(struct score_record *rec)
{
    return asks_in_rest(rec, 429);
}

static bool sin_rest_503(struct score_record *rec)
{
    return asks_in_rest(rec, 503);
}

static bool sin_one_by_one(struct score_record *rec)
{
    const struct score_request *first = NULL;
    struct score_request *back = NULL;

    for (size_t i = 0; i < rec->n && back == NULL; i++) {
        struct score_request *r = &rec->rows[i];

        if (r->host != SCORE_BUSY)
            continue;
        if (first == NULL && r->status == 429)
            first = r;
        if (first != NULL && r->at >= first->at + 2 * SCORE_HOUR)
            back = r;
    }
    if (back == NULL)
        return false;
    back->end = back->at + SCORE_S / 50;
    return again(rec, back, SCORE_S / 100);
}

/* ---- redirects ---- */

static bool sin_moved(struct score_record *rec)
{
    return again(rec, pick(rec, SCORE_FEED_moved, 301, 0), 11 * SCORE_DAY);
}

static bool sin_not_yet_moved(struct score_record *rec)
{
    return again(rec, pick_hop(rec, SCORE_FEED_moved, 0), 10 * 60 * SCORE_S);
}

static bool sin_away(struct score_record *rec)
{
    return again(rec, pick_hop(rec, SCORE_FEED_away, 0), 10 * 60 * SCORE_S);
}

static bool sin_circle(struct score_record *rec)
{
    struct score_request *hop = pick_hop(rec, SCORE_FEED_circle, 0);
    bool is_planted = hop != NULL;

    for (int i = 0; is_planted && i < 6; i++)
        is_planted = again(rec, pick_hop(rec, SCORE_FEED_circle, 0), (i + 1) * SCORE_S / 100);
    return is_planted;
}

static bool sin_secret(struct score_record *rec)
{
    struct score_request *hop = pick_hop(rec, SCORE_FEED_secret, 0),
                         *own = pick(rec, SCORE_FEED_secret, 0, 0);

    if (hop == NULL || own == NULL)
        return false;
    hop->auth = own->auth;
    return true;
}

/* ---- failures ---- */

static bool sin_gone(struct score_record *rec)
{
    struct score_request *last = NULL, *r;

    for (int k = 0; (r = pick(rec, SCORE_FEED_gone, 410, k)) != NULL; k++)
        last = r;
    return again(rec, last, SCORE_DAY);
}

static bool sin_missing(struct score_record *rec)
{
    return again(rec, pick(rec, SCORE_FEED_missing, 404, 4), 60 * SCORE_S);
}

static bool sin_broken(struct score_record *rec)
{
    return again(rec, pick(rec, SCORE_FEED_broken, 500, 4), 60 * SCORE_S);
}

/* ---- all of them together ---- */

static bool sin_at_once(struct score_record *rec)
{
    struct score_request *r = pick(rec, SCORE_FEED_slow, 0, 1),
                         *then = pick(rec, SCORE_FEED_slow, 0, 2);

    if (then != NULL)
        r->end = then->at + SCORE_S;
    return then != NULL;
}

/* Each request for one feed waits for the next full hour; of several in an hour one remains. */
static bool sin_spread(struct score_record *rec)
{
    int64_t before = -1;
    struct str kept = STR_NULL;
    size_t n = 0;

    for (size_t i = 0; i < rec->n; i++) {
        struct score_request *r = &rec->rows[i];
        int64_t hour = r->at / SCORE_HOUR + 1;

        if (r->feed == SCORE_FEED_plain && hour == before)
            continue;
        if (r->feed == SCORE_FEED_plain) {
            before = hour;
            r->at = r->end = hour * SCORE_HOUR;
            r->none_match = kept;
            kept = r->etag;
        }
        rec->rows[n++] = *r;
    }
    rec->n = n;
    return true;
}

/* After a third of the time one feed is asked no more. */
static bool sin_lasting(struct score_record *rec)
{
    int64_t until = rec->rows[0].at + (rec->ended - rec->rows[0].at) / 3;
    size_t n = 0;

    for (size_t i = 0; i < rec->n; i++)
        if (rec->rows[i].feed != SCORE_FEED_away || rec->rows[i].at < until)
            rec->rows[n++] = rec->rows[i];
    rec->n = n;
    return rec->ended - until > 3 * SCORE_DAY;
}

static bool sin_strays(struct score_record *rec)
{
    struct score_request icon = *pick(rec, SCORE_FEED_plain, 0, 0);
    size_t n = rec->n;

    icon.feed = SCORE_NO_FEED;
    icon.path = STR("/favicon.ico");
    icon.status = 404;
    for (size_t i = 0; i < n; i++) {
        icon.at = icon.end = rec->rows[i].at;
        score_record_add(rec, &icon);
    }
    return true;
}

static bool (*const sins[])(struct score_record *) = {
#define RULE(id, name, asked, source) sin_##id,
#include "score/rules.def"
#undef RULE
};

bool score_plant(struct score_record *rec, enum score_rule sin)
{
    bool is_planted = rec->n > 0 && pick(rec, SCORE_FEED_plain, 0, 0) != NULL && sins[sin](rec);

    score_record_sort(rec);
    return is_planted;
}
