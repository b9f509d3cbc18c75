/* server/score_server.h - the publisher of score/origin.h on sockets, with the record of what it
 * was asked.
 */
#pragma once

#include "base/err.h"
#include "score/origin.h"

struct score_server;

/* Listen on three loopback addresses, so that there are three hosts. Make it before the clock
 * jumps: its own timeouts go by the real one. */
enum rc score_server_start(struct score_server **out, struct err *err) NODISCARD;

/* From now on the clock of this process goes so many times as fast. 1: as usual. Main thread. */
void score_server_set_speed(struct score_server *s, double speed);

/* The time of the score, in microseconds of Unix time. Any thread. */
int64_t score_server_now(struct score_server *s);

/* How much the time of the score is ahead of the real clock; set it, at speed 1. Main thread. */
void score_server_set_ahead(struct score_server *s, int64_t ahead_us);

/* Has somebody asked? When the first one did; 0: not yet. Any thread. */
int64_t score_server_began(struct score_server *s);

/* Append the addresses of all feeds, with `before` and `after` around each. */
void score_server_list(struct score_server *s, const char *before, const char *after,
                       struct buf *out);

/* Answer no more. *rec gets the record, sorted. Main thread. */
void score_server_stop(struct score_server **sp, struct score_record *rec);
