/* tests/unit/api/positions.h - texts that name a position, and how each parameter reads them.
 *
 * `stream` is how since= and until= of /smart read it (Smart Feeds, "Position Specs"); `log` is how
 * since= of /log and from= of POST /sub read it. The log of the test has the id LOG and ends with
 * LAST_SEQ. The result is written as text, so that the table does not depend on a parser's structs:
 *
 *   "seq N"         after seq N of this log
 *   "time FROM TO"  microseconds: a point in time, or a second from its first to its last one
 *   "time FROM"     the same, where only the beginning is known
 *   "group T O C"   item O of second T, with the checksum C (T_O_C, D25)
 *   "id X"          after the item X
 *   NULL            refused (bad-position-spec)
 */
#pragma once

#include <stddef.h>

#define LOG "0f1e2d3c-1111-4222-8333-444455556666"
#define LAST_SEQ 1000

static const struct {
    const char *text, *stream, *log;
} positions[] = {
    /* cursors of this log, of another one, and from after its end (an older backup): D25 */
    {"cursor:fm1.0f1e2d3c.42.1700000000123456", "seq 42", NULL},
    {"fm1.0f1e2d3c.42.1700000000123456", NULL, "seq 42"},
    {"cursor:fm1.ffffffff.42.1700000000123456", "time 1700000000123456 1700000000123456", NULL},
    {"fm1.ffffffff.42.1700000000123456", NULL, "time 1700000000123456"},
    {"cursor:fm1.0f1e2d3c.1000.1700000000123456", "seq 1000", NULL},
    {"cursor:fm1.0f1e2d3c.1001.1700000000123456", "time 1700000000123456 1700000000123456", NULL},
    {"fm1.0f1e2d3c.1001.1700000000123456", NULL, "time 1700000000123456"},
    /* before the first item: D27 */
    {"cursor:", "seq 0", NULL},
    {"start", NULL, "seq 0"},
    {"end", NULL, "seq 1000"},
    /* the cursors of servers without a log: D25 */
    {"cursor:1389003527_0_3678689003", "group 1389003527 0 3678689003", NULL},
    {"cursor:1389003527_17_0", "group 1389003527 17 0", NULL},
    {"1389003527_0_3678689003", NULL, NULL},
    {"cursor:1389003527_0", NULL, NULL},
    {"cursor:1389003527_0_4294967296", NULL, NULL},
    {"cursor:1389003527_-1_0", NULL, NULL},
    {"cursor:-1_0_0", NULL, NULL},
    {"cursor:1389003527_0_1_2", NULL, NULL},
    /* times, in seconds and as dates: D26; without a fraction it means the whole second */
    {"time:1700000000", "time 1700000000000000 1700000000999999", "time 1700000000000000"},
    {"1700000000", NULL, "time 1700000000000000"},
    {"time:2023-11-14T22:13:20Z", "time 1700000000000000 1700000000999999",
     "time 1700000000000000"},
    {"time:2023-11-14T22:13:20.25Z", "time 1700000000250000 1700000000250000",
     "time 1700000000250000"},
    {"time:2023-11-15T00:13:20+02:00", "time 1700000000000000 1700000000999999",
     "time 1700000000000000"},
    {"time:0", "time 0 999999", "time 0"},
    {"time:-1", NULL, NULL},
    {"time:", NULL, NULL},
    {"time:yesterday", NULL, NULL},
    {"time:2023-13-14T22:13:20Z", NULL, NULL},
    {"time:99999999999999999999", NULL, NULL},
    /* items */
    {"id:urn:x:1", "id urn:x:1", NULL},
    {"id:http://a.example/?a=b:c", "id http://a.example/?a=b:c", NULL},
    {"id:", NULL, NULL},
    /* texts that are not positions */
    {"", NULL, NULL},
    {"yesterday", NULL, NULL},
    {"position:1", NULL, NULL},
    {"CURSOR:", NULL, NULL},
    {"cursor:fm1.", NULL, NULL},
    {"cursor:fm1.0f1e2d3c", NULL, NULL},
    {"cursor:fm1.0f1e2d3c.-1.1", NULL, NULL},
    {"cursor:fm1.0f1e2d3c.1.99999999999999999999", NULL, NULL},
};
