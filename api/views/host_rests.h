/* api/views/host_rests.h - which hosts asked for a pause (429, or 503 with Retry-After), so that a feed is told to
 * come when it can come, not when it was due. It is read once for an answer, however many feeds that has. */
#pragma once

#include "base/arena.h"
#include "model/feed.h"
#include "storage/store.h"

/* Unix seconds. */
struct host_until {
    struct str host;
    int64_t cool_at;   /* none of its feeds is fetched before, but for readers and pings */
    int64_t gentle_at; /* until then they are fetched one after another */
};

struct host_rests {
    struct host_until *list; /* sorted by host */
    size_t n;
    int64_t now; /* when it was read */
};

/* Reader threads. Arena. */
enum rc host_rests_read(struct host_rests *out, struct reader *r, struct arena *a,
                        struct err *err) NODISCARD;

/* The pause of the host of a feed's URL; NULL: there is none, or what is due for this reason does not wait for it.
 * Any thread. */
const struct host_until *host_rests_of(const struct host_rests *rests, struct str url,
                                       enum fetch_reason reason);

/* When a feed is fetched that is due at `at`. */
int64_t host_until_due(const struct host_until *until, int64_t at);
