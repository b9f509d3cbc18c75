/* tests/unit/api/positions.h - texts that name a position, and what each parameter makes of them.
 *
 * `stream` is what since= and until= of /smart understand (Smart Feeds, "Position Specs"), `log`
 * what since= of /log and from= of POST /sub understand. The log of the test has the id LOG and
 * ends with LAST_SEQ. What is understood is written as text, so that the table does not depend on
 * the structs of a parser: "seq N"              after seq N of this log "time FROM TO"
 * microseconds: the instant, or the second that begins and ends there "time FROM"          the same
 * where only the beginning is known "group T O C"        the O-th item of second T, whose check is
 * C (T_O_C, D25) "id X"               after the item X NULL                 refused (bad-position)
 */
#pragma once

#include <stddef.h>

#define LOG "0f1e2d3c-1111-4222-8333-444455556666"
#define LAST_SEQ 1000

static const struct {
    const char *text, *stream, *log;
} positions[] = {
    /* cursors of this log, of another one, and from beyond its end (an older backup): D25 */
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
    /* times, in seconds and as dates: D26; a whole second is all of it */
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
    /* nonsense */
    {"", NULL, NULL},
    {"yesterday", NULL, NULL},
    {"position:1", NULL, NULL},
    {"CURSOR:", NULL, NULL},
    {"cursor:fm1.", NULL, NULL},
    {"cursor:fm1.0f1e2d3c", NULL, NULL},
    {"cursor:fm1.0f1e2d3c.-1.1", NULL, NULL},
    {"cursor:fm1.0f1e2d3c.1.99999999999999999999", NULL, NULL},
};
