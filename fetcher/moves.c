/* fetcher/moves.c - see moves.h. */
#include "fetcher/moves.h"

#include "net/url.h"

struct feed_move move_seen(const struct feed_move *was, struct str to, int64_t now, bool is_proved)
{
    struct feed_move move = {.to = to, .since = now};

    if (!str_is_null(was->to) && str_eq(was->to, to))
        move = (struct feed_move){.to = to, .since = was->since, .n = was->n};
    move.n += is_proved;
    return move;
}

bool move_is_sure(const struct feed_move *move, int64_t now)
{
    return move->n >= MOVE_SURE_TIMES && now - move->since >= MOVE_SURE_S;
}

/* http to https at the same host; the port may be another one. */
static bool is_secured(struct str from, struct str to)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts f, t;

    return url_parse(&a, from, &f, NULL) == RC_OK && url_parse(&a, to, &t, NULL) == RC_OK &&
           str_eqz(f.scheme, "http") && str_eqz(t.scheme, "https") && str_eq(f.host, t.host);
}

bool move_is_plain(const struct feed *feed, struct str to)
{
    return feed->last_success_at == TIME_UNKNOWN || is_secured(feed->url, to);
}
