/* server/daemon.h - `feedmill serve`: start order, wiring, signals, stop order.
 *
 * The one place that knows every part. Start is recovery: whatever must survive is in the store.
 * Stop follows the data: no new requests, no new fetches, no new pushes, then the storer's last
 * commit. Main thread only.
 */
#pragma once

#include "base/err.h"
#include "server/options.h"

/* Block the signals that daemon_run() waits for. Before any thread starts. */
void daemon_block_signals(void);

/* Start everything, print the ready line, wait for SIGTERM or SIGINT, stop everything.
 * `reload` loads the options again (SIGHUP). Errors are those of a start that failed. */
typedef enum rc daemon_reload_fn(struct options **out, struct err *err);
enum rc daemon_run(const struct options *o, daemon_reload_fn *reload, struct err *err) NODISCARD;
