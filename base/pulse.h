/* base/pulse.h - signs of life of the threads that must not stall: the loops and the storer.
 *
 * Such a thread joins when it starts, beats each time it goes on with its work, and leaves when it
 * ends. The watchdog (server/watchdog.h) looks at the oldest beat. Waiting for something outside of
 * this process, such as a database server, does not count as a stall: those who wait beat as well.
 */
#pragma once

#include <stdint.h>

/* Threads are to beat at least each `ms` milliseconds from now on, also when they have no work. 0:
 * nobody looks. Call it before they start. Main thread. */
void pulse_set_period_ms(int64_t ms);

/* That period. 0: nobody looks. Any thread. */
int64_t pulse_period_ms(void);

/* How long a thread that would wait for `ms` (negative: for ever) may wait before it beats again.
 * Any thread. */
int64_t pulse_wait_ms(int64_t ms);

/* The calling thread has a pulse from now on, beats, and has none any more. `name` is borrowed
 * until it leaves. pulse_beat() does nothing for a thread that has not joined. */
void pulse_join(const char *name);
void pulse_beat(void);
void pulse_leave(void);

/* How many milliseconds ago the thread that beat longest ago did so; 0: no thread has a pulse.
 * `name` gets its name. Any thread. */
int64_t pulse_oldest_ms(char name[16]);
