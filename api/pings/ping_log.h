/* api/pings/ping_log.h - the pings of the last three hours, for /changes.xml. Any thread; its lock
 * is held only briefly. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

struct ping_log;
struct ping_log *ping_log_new(void);
void ping_log_free(struct ping_log **lp);

/* Note a ping at a time (Unix seconds). It replaces an older ping with the same URL. Texts are
 * copied. `rss_url` may be null. */
void ping_log_add(struct ping_log *l, struct str name, struct str url, struct str rss_url,
                  int64_t at);

/* Write changes.xml as of `now`, newest ping first. The bytes stay the same until a new ping comes
 * or an old one is dropped, because `updated` is the time of the newest ping. Returns that time, or
 * the time when the log began if there are no pings. */
int64_t ping_log_write(struct ping_log *l, struct buf *out, int64_t now);
