/* api/views/feed_why.c - see feed_why.h. */
#include "api/views/feed_why.h"

#include "base/clock.h"
#include "model/pace.h"

/* Returns "2 hours": the largest unit that goes into it without rest. Arena. */
static struct str span(struct arena *a, int64_t s)
{
    static const struct {
        int64_t s;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    size_t i = 0;

    while (s % units[i].s != 0)
        i++;
    return str_printf(a, "%lld %s%s", (long long)(s / units[i].s), units[i].name,
                      s == units[i].s ? "" : "s");
}

static const char *fixed(enum fetch_reason reason)
{
    switch (reason) {
    case REASON_READER:
        return "Somebody reads it and waits for it.";
    case REASON_PING:
        return "A ping says that it has changed.";
    case REASON_MAX_AGE:
        return "The publisher's last answer may be kept until then (Cache-Control or Expires).";
    case REASON_TTL:
        return "The feed itself asks for this pause (ttl or sy:updatePeriod).";
    case REASON_SKIP:
        return "The feed names hours or days at which it is not to be fetched.";
    case REASON_RETRY_AFTER:
        return "The publisher asked us to come less often, and this is not earlier than it asked for (429 or Retry-After).";
    case REASON_GONE:
        return "Nobody wants it any more, so it is not fetched.";
    case REASON_NEW:
        return "It was just added.";
    case REASON_HUB:
        return "The publisher's hub tells of news, so it is only looked at now and then, as a check.";
    case REASON_CONTENT:
        return "The content of one of its entries is due.";
    case REASON_HAND:
        return "Somebody asked for it by hand.";
    case REASON_PAUSED:
        return "It is paused: it is fetched by hand only.";
    case REASON_GAP:
        return "Some entries may have been missed, so it is fetched twice as often for a week.";
    case REASON_QUOTA:
        return "It has brought as many new entries as one feed may within a day (--feed-quota).";
    default:
        return "Nothing has been decided yet.";
    }
}

/* Of level 1 the period follows from how the feed posts. */
static struct str why_period(struct arena *a, const struct feed *feed, int64_t period_s)
{
    struct pace p;

    if (feed->level == 1 && pace_read(feed->pace, &p) && p.period_s == period_s)
        return pace_words(a, &p);
    return str_printf(a, "It is fetched every %.*s.", STR_ARG(span(a, period_s)));
}

/* As far as the feed's own row says. */
static struct str own_words(struct arena *a, const struct feed *feed, const struct levels *levels)
{
    int64_t period_s = levels_period_s(levels, feed->level, feed->period_s);
    int n = feed->n_errors;

    if (feed->next_reason == REASON_GONE && feed->state == FEED_GONE)
        return STR("It has been gone (410) for a day or more, so it is asked once a week.");
    if (feed->next_reason == REASON_PERIOD && feed->n_gone > 0)
        return STR("It answered 410, so until that was so for a day it is asked every 6 hours at least.");
    if (feed->next_reason == REASON_PERIOD)
        return why_period(a, feed, period_s);
    if (feed->next_reason == REASON_BACKOFF)
        return n == 0   ? STR("The connection here was down at the last fetch, so it is tried again soon.")
               : n == 1 ? STR("The last fetch failed, so it is left alone for a while.")
                        : str_printf(a, "%d fetches in a row failed, so it is left alone for a while.", n);
    return str_from(fixed(feed->next_reason));
}

static const char *shown_time(struct arena *a, int64_t at)
{
    char text[CLOCK_TEXT];

    clock_rfc3339(at, text);
    return arena_printf(a, "%s", text);
}

enum fetch_reason feed_why_reason(const struct host_until *until, int64_t at, enum fetch_reason reason)
{
    return host_until_due(until, at) == at || reason == REASON_HAND ? reason : REASON_RETRY_AFTER;
}

struct feed_next feed_why_next(struct arena *a, const struct feed *feed, const struct levels *levels,
                               const struct host_rests *rests)
{
    int64_t at = feed->next_fetch_at;
    const struct host_until *until = at == TIME_UNKNOWN ? NULL : host_rests_of(rests, feed->url, feed->next_reason);
    struct feed_next next = {.at = host_until_due(until, at),
                             .reason = feed_why_reason(until, at, feed->next_reason)};
    const char *hand = feed->next_reason == REASON_HAND ? "Somebody asked for it by hand. " : "";

    if (until != NULL && at < until->cool_at && until->cool_at > rests->now)
        next.why = str_printf(a, "%sIts host asked for a pause until %s. After that the feeds of the host are fetched "
                                 "one after another.", hand, shown_time(a, until->cool_at));
    else if (until != NULL && next.at <= rests->now && until->gentle_at > rests->now)
        next.why = str_printf(a, "%sIt is due, and waits for its turn: its host asked for a pause until %s, and the "
                                 "feeds of the host are fetched one after another since then.",
                              hand, shown_time(a, until->cool_at));
    else
        next.why = own_words(a, feed, levels);
    return next;
}

int64_t feed_why_period_s(const struct levels *levels, int level, int64_t own_s, enum fetch_reason next)
{
    int64_t period_s = levels_period_s(levels, level, own_s);

    return next == REASON_GAP ? levels_gap_period_s(period_s) : period_s;
}

const char *feed_why_then(enum fetch_reason reason)
{
    switch (reason) {
    case REASON_PERIOD:
        return "Its period was over.";
    case REASON_BACKOFF:
        return "The pause after an error was over.";
    case REASON_MAX_AGE:
    case REASON_TTL:
    case REASON_SKIP:
    case REASON_RETRY_AFTER:
        return "The pause that the publisher asked for was over.";
    case REASON_HUB:
        return "It was looked at as a check of the publisher's hub.";
    case REASON_QUOTA:
        return "A day was over for which it had brought enough.";
    case REASON_GONE:
        return "A week was over since it was found gone.";
    case REASON_GAP:
        return "Its period, which was shorter after missed entries, was over.";
    case REASON_NONE:
    case REASON_PAUSED:
        return "It was asked for.";
    default:
        return fixed(reason);
    }
}
