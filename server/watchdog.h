/* server/watchdog.h - signs of life for the service manager (WatchdogSec= of a unit of systemd).
 *
 * A thread says WATCHDOG=1 at half the interval that the manager demands, while the loops and the
 * storer beat (base/pulse.h). When one of them has not beaten for half an interval, the thread is
 * silent, and after at most one and a half intervals the manager ends the daemon and starts it
 * anew. Main thread. Sources: sd_watchdog_enabled(3), sd_notify(3).
 */
#pragma once

struct watchdog;

/* Start it, if the environment says that a manager demands signs of life (WATCHDOG_USEC and
 * WATCHDOG_PID). NULL: none does. Call it before the threads start that are to beat. */
struct watchdog *watchdog_start(void);

/* End its thread, and clear the pointer. */
void watchdog_stop(struct watchdog **wp);
