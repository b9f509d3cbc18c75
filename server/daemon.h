/* server/daemon.h - `feedmill serve`: starts, connects and stops the parts, and handles signals.
 *
 * Only the daemon knows all parts. Everything that must survive a stop or a crash is in the store,
 * so every start is a recovery. The parts are stopped in the order in which data flow: requests,
 * fetches, pushes, and then the storer with its last commit. Main thread only.
 */
#pragma once

#include "base/err.h"
#include "server/options.h"

/* Block the signals for which daemon_run() waits. Call it before any thread starts. */
void daemon_block_signals(void);

/* Can the daemon be started with these options? Only what needs no database and no socket is looked
 * at. RC_INPUT: an option is wrong. Others: the system gives less than they need. */
enum rc daemon_check(const struct options *o, struct err *err) NODISCARD;

/* Start all parts, print the ready line, wait for SIGTERM or SIGINT, and stop all parts. At SIGHUP,
 * `reload` loads the options again. At SIGUSR2, the file at the program's path is executed with
 * `argv` in this process, and goes on with its sockets (server/handover.h). If a part cannot start,
 * the error of its start is returned. */
typedef enum rc daemon_reload_fn(struct options **out, struct err *err);
enum rc daemon_run(const struct options *o, char **argv, daemon_reload_fn *reload,
                   struct err *err) NODISCARD;
