/* score/origin.c - see origin.h; the feeds are rows of feeds.def. */
#include "score/origin.h"

#include <inttypes.h>

#include "base/clock.h"

#define USER "reader:s%20e"           /* as it stands in the address */
#define CREDENTIAL "cmVhZGVyOnMgZQ==" /* the same for Basic */
#define POSTS_EACH (24 * SCORE_HOUR)
#define SHOWN 10
#define RENEWED_EACH (2 * SCORE_HOUR)
#define REST_S 7200
#define SLOW_MS 5 /* long enough that a second request meets it */

enum { HAS_ETAG = 1, HAS_DATE = 2 };

static const struct {
    enum score_host host;
    unsigned traits;
} feeds[] = {
#define FEED(name, host, traits, help) {SCORE_##host, traits},
#include "score/feeds.def"
#undef FEED
};

static int64_t age(const struct score_origin *o, const struct score_request *r)
{
    return r->at - o->began;
}

/* Has the feed begun to do what it is here for, and not ended it? */
static bool within(const struct score_origin *o, const struct score_request *r, int64_t from,
                   int64_t to)
{
    return age(o, r) >= from && (to == 0 || age(o, r) < to);
}

static int64_t posted(const struct score_origin *o, const struct score_request *r)
{
    return 3 + age(o, r) / POSTS_EACH;
}

static enum score_feed_id find(const struct score_request *r)
{
    struct str rest = r->path, path = str_split(&rest, '?');

    for (int i = 0; i < SCORE_FEEDS; i++) {
        struct str name = str_from(score_feed_name((enum score_feed_id)i));

        if (path.len == name.len + 5 && str_eq(str_slice(path, 1, name.len + 1), name) &&
            str_ends(path, STR(".rss")))
            return (enum score_feed_id)i;
    }
    return SCORE_NO_FEED;
}

/* ---- the document ---- */

static void put_hints(enum score_feed_id feed, struct buf *out)
{
    if (feed == SCORE_FEED_ttl)
        buf_puts(out, "<ttl>360</ttl>");
    if (feed == SCORE_FEED_sy)
        buf_puts(out, "<sy:updatePeriod>daily</sy:updatePeriod>"
                      "<sy:updateFrequency>2</sy:updateFrequency>");
    if (feed == SCORE_FEED_days)
        buf_puts(out, "<skipDays><day>Saturday</day><day>Sunday</day></skipDays>");
    if (feed != SCORE_FEED_hours)
        return;
    buf_puts(out, "<skipHours>");
    for (int i = 0; i < 12; i++)
        buf_printf(out, "<hour>%d</hour>", i);
    buf_puts(out, "</skipHours>");
}

static void put_items(const struct score_origin *o, const struct score_request *r, struct buf *out)
{
    char date[CLOCK_TEXT];
    int64_t n = posted(o, r), first = n > SHOWN ? n - SHOWN : 0;
    const char *name = score_feed_name(r->feed);

    for (int64_t i = n; i-- > first;) {
        clock_rfc822((o->began + (i - 2) * POSTS_EACH) / SCORE_S, date);
        buf_printf(out,
                   "<item><guid isPermaLink=\"false\">%s-%" PRId64 "</guid><title>%s %" PRId64
                   "</title><pubDate>%s</pubDate></item>",
                   name, i, name, i, date);
    }
}

static void put_document(const struct score_origin *o, const struct score_request *r,
                         struct buf *out)
{
    buf_printf(out,
               "<?xml version=\"1.0\"?><rss version=\"2.0\" "
               "xmlns:sy=\"http://purl.org/rss/1.0/modules/syndication/\"><channel><title>%s"
               "</title><link>http://%s/</link><description>%s</description>",
               score_feed_name(r->feed), o->authority[SCORE_MAIN], score_feed_name(r->feed));
    put_hints(r->feed, out);
    put_items(o, r, out);
    buf_puts(out, "</channel></rss>");
}

/* ---- validators ---- */

static bool has_validator(const struct score_origin *o, const struct score_request *r,
                          unsigned trait)
{
    if (r->feed == SCORE_FEED_dropped && within(o, r, 12 * SCORE_HOUR, 0))
        return false;
    return (feeds[r->feed].traits & trait) != 0;
}

/* The part of an ETag that changes with the document alone. */
static struct str etag_base(const struct score_origin *o, struct arena *a,
                            const struct score_request *r)
{
    return str_printf(a, "W/\"%s;%" PRId64 "--/=~", score_feed_name(r->feed), posted(o, r));
}

static void set_validators(const struct score_origin *o, struct arena *a, struct score_request *r)
{
    struct str base = etag_base(o, a, r);
    char date[CLOCK_TEXT];

    if (has_validator(o, r, HAS_ETAG))
        r->etag = r->feed == SCORE_FEED_renewed
                      ? str_printf(a, "%.*s.%" PRId64 "\"", STR_ARG(base), age(o, r) / RENEWED_EACH)
                      : str_concat(a, base, STR("\""));
    if (!has_validator(o, r, HAS_DATE))
        return;
    clock_http_date((o->began + (posted(o, r) - 3) * POSTS_EACH) / SCORE_S, date);
    /* "Sun, 06 Nov 1994 08:49:37 GMT" becomes what some servers send in its place */
    r->modified = r->feed == SCORE_FEED_dated ? str_printf(a, "%.26s+0000", date)
                                              : str_dup(a, str_from(date));
}

static bool is_unchanged(const struct score_origin *o, struct arena *a,
                         const struct score_request *r)
{
    if (!str_is_null(r->etag) && !str_is_null(r->none_match))
        return r->feed == SCORE_FEED_renewed ? str_starts(r->none_match, etag_base(o, a, r))
                                             : str_eq(r->none_match, r->etag);
    return !str_is_null(r->modified) && !str_is_null(r->since) && str_eq(r->since, r->modified);
}

/* ---- the answer ---- */

/* Does the busy host refuse? 0: no. */
static int refusal(struct score_origin *o, const struct score_request *r, struct buf *fields)
{
    char date[CLOCK_TEXT];

    for (int i = 0; i < 2; i++) {
        if (o->rests_until[i] == 0 && age(o, r) >= (i == 0 ? 12 : 30) * SCORE_HOUR)
            o->rests_until[i] = (r->at / SCORE_S + REST_S) * SCORE_S;
        if (r->at >= o->rests_until[i])
            continue;
        if (i == 0) {
            buf_printf(fields, "Retry-After: %" PRId64 "\r\n",
                       (o->rests_until[i] - r->at + SCORE_S - 1) / SCORE_S);
            return 429;
        }
        clock_http_date(o->rests_until[i] / SCORE_S, date);
        buf_printf(fields, "Retry-After: %s\r\n", date);
        return 503;
    }
    return 0;
}

static int redirect(const struct score_origin *o, const struct score_request *r, int status,
                    struct buf *fields)
{
    buf_printf(fields, "Location: http://%s/%s.rss\r\n", o->authority[SCORE_OTHER],
               score_feed_name(r->feed));
    return status;
}

/* Each leads to the next one. */
static int circle(const struct score_origin *o, const struct score_request *r, struct buf *fields)
{
    struct str rest = r->path, n;
    int64_t hop;

    str_split(&rest, '=');
    n = rest;
    if (str_is_null(n) || !str_to_i64(n, &hop))
        hop = 0;
    buf_printf(fields, "Location: http://%s/circle.rss?n=%" PRId64 "\r\n", o->authority[SCORE_MAIN],
               hop + 1);
    return 302;
}

static int ask_for_password(const struct score_request *r, struct buf *fields)
{
    if (str_eq(r->auth, STR("Basic " CREDENTIAL)))
        return 200;
    buf_puts(fields, "WWW-Authenticate: Basic realm=\"score\"\r\n");
    return 401;
}

/* The status of what is not a plain document; 200 for those that are. */
static int special(struct score_origin *o, const struct score_request *r, struct buf *fields)
{
    bool is_late = within(o, r, 12 * SCORE_HOUR, 0),
         is_bad = within(o, r, 12 * SCORE_HOUR, 5 * SCORE_DAY);
    int status;

    if (r->feed == SCORE_NO_FEED)
        return 404;
    if (r->is_hop && r->feed != SCORE_FEED_circle)
        return 200;
    if (r->host == SCORE_BUSY && (status = refusal(o, r, fields)) != 0)
        return status;
    switch (r->feed) {
    case SCORE_FEED_moved:
        return is_late ? redirect(o, r, 301, fields) : 200;
    case SCORE_FEED_away:
        return is_late ? redirect(o, r, 302, fields) : 200;
    case SCORE_FEED_secret:
        status = ask_for_password(r, fields);
        return status == 200 && is_late ? redirect(o, r, 302, fields) : status;
    case SCORE_FEED_gone:
        return is_late ? 410 : 200;
    case SCORE_FEED_missing:
        return is_bad ? 404 : 200;
    case SCORE_FEED_broken:
        return is_bad ? 500 : 200;
    case SCORE_FEED_circle:
        return within(o, r, 12 * SCORE_HOUR, 4 * SCORE_DAY) ? circle(o, r, fields) : 200;
    default:
        return 200;
    }
}

static void put_fields(const struct score_request *r, struct buf *fields)
{
    char date[CLOCK_TEXT];

    if (!str_is_null(r->etag))
        buf_printf(fields, "ETag: %.*s\r\n", STR_ARG(r->etag));
    if (!str_is_null(r->modified))
        buf_printf(fields, "Last-Modified: %.*s\r\n", STR_ARG(r->modified));
    if (r->feed == SCORE_FEED_max_age)
        buf_puts(fields, "Cache-Control: max-age=14400\r\n");
    if (r->feed == SCORE_FEED_cookie)
        buf_puts(fields, "Set-Cookie: visitor=1; Path=/\r\n");
    if (r->feed == SCORE_FEED_expires) {
        clock_http_date(r->at / SCORE_S + 3 * 3600, date);
        buf_printf(fields, "Expires: %s\r\n", date);
    }
}

/* Does the busy host find out whether its feeds come back together? */
static bool is_back(const struct score_origin *o, const struct score_request *r)
{
    for (int i = 0; r->host == SCORE_BUSY && i < 2; i++)
        if (r->at >= o->rests_until[i] && r->at < o->rests_until[i] + SCORE_HOUR)
            return true;
    return false;
}

int64_t score_origin_answer(struct score_origin *o, struct arena *a, struct score_request *r,
                            struct buf *fields, struct buf *body)
{
    if (o->began == 0)
        o->began = r->at;
    r->feed = find(r);
    r->is_hop = r->host == SCORE_OTHER || str_chr(r->path, '?') >= 0;
    r->status = special(o, r, fields);
    if (r->status == 200) {
        set_validators(o, a, r);
        put_fields(r, fields);
        if (is_unchanged(o, a, r))
            r->status = 304;
        else
            put_document(o, r, body);
        buf_puts(fields, "Content-Type: application/rss+xml\r\n");
    }
    return r->feed == SCORE_FEED_slow || is_back(o, r) ? SLOW_MS : 0;
}

void score_origin_list(const struct score_origin *o, const char *before, const char *after,
                       struct buf *out)
{
    for (int i = 0; i < SCORE_FEEDS; i++)
        for (int again = 0; again <= (i == SCORE_FEED_twice); again++)
            buf_printf(out, "%shttp://%s%s/%s.rss%s", before,
                       i == SCORE_FEED_secret ? USER "@" : "", o->authority[feeds[i].host],
                       score_feed_name((enum score_feed_id)i), after);
}
