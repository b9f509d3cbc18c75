/* model/feed.c - the names of states, reasons and kinds. */
#include "model/feed.h"

#include "base/assert.h"

const char *feed_state_name(enum feed_state s)
{
    static const char *const names[] = {"new", "ok", "failing", "gone", "quota"};

    ASSERT((size_t)s < ARRAY_LEN(names));
    return names[s];
}

const char *feed_state_shown(enum feed_state s, int n_errors)
{
    return feed_state_name(s == FEED_NEW && n_errors > 0 ? FEED_FAILING : s);
}

const char *fetch_reason_name(enum fetch_reason r)
{
    static const char *const names[REASON_COUNT_] = {
        "none",        "reader",  "ping", "period", "max-age", "ttl",    "skip",
        "retry-after", "backoff", "gone", "new",    "hub",     "content",
        "hand",        "paused",  "quota", "gap"};

    ASSERT((size_t)r < ARRAY_LEN(names));
    return names[r];
}

const char *upstream_state_name(enum upstream_state s)
{
    static const char *const names[] = {"idle", "asking", "active", "failed", "ending"};

    ASSERT((size_t)s < ARRAY_LEN(names));
    return names[s];
}

const char *revision_kind_name(enum revision_kind k)
{
    static const char *const names[] = {"new", "changed", "deleted", "left"};

    ASSERT((size_t)k < ARRAY_LEN(names));
    return names[k];
}

const char *sub_state_name(enum sub_state s)
{
    static const char *const names[] = {"active", "suspended", "paused"};

    ASSERT((size_t)s < ARRAY_LEN(names));
    return names[s];
}

const char *sub_event_name(size_t i)
{
    static const char *const names[SUB_EVENT_KINDS] = {"new", "changed", "deleted", "left", "feed"};

    ASSERT(i < ARRAY_LEN(names));
    return names[i];
}

const char *feed_event_name(enum feed_event_kind k)
{
    static const char *const names[] = {"broken", "recovered", "moved", "gone", "gap"};

    ASSERT((size_t)k < ARRAY_LEN(names));
    return names[k];
}

const char *delivery_verdict_name(enum delivery_verdict v)
{
    static const char *const names[] = {"delivered", "retry", "refused", "dead", "suspended"};

    ASSERT((size_t)v < ARRAY_LEN(names));
    return names[v];
}
