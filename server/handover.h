/* server/handover.h - the sockets that the process before this one leaves to it, and the service
 * manager.
 *
 * A new version takes over in the same process: the daemon stops but for its listening sockets and
 * the connections between two requests, and executes the program again. So the process id stays,
 * the database has one owner at a time, and clients that come meanwhile wait in the kernel's queue.
 * Main thread only. Sources: sd_listen_fds(3), sd_notify(3).
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "net/http_server.h"

/* What "serve --check" prints when all is well. Whoever does not is not this program. */
#define HANDOVER_IN_ORDER "feedmill serve: the options are in order"

/* Note by which path this program was started (argv[0]): links in it are followed anew at each
 * handover. If this is not the path of the program that runs, the file of that one counts. Call it at
 * the start, before the file can be replaced. */
void handover_note_program(const char *argv0);

/* That path. Good as long as the process. */
const char *handover_program(void);

/* Take the sockets that were left to this process: by the daemon before it, or by a service manager
 * (LISTEN_FDS). RC_IO: some were, and they cannot be used. Otherwise *out may be empty. */
enum rc handover_receive(struct http_sockets *out, struct err *err) NODISCARD;

/* The first address of these sockets at which other machines reach them, as --listen would name it;
 * null: there is none. Arena. */
struct str handover_exposed(const struct http_sockets *sockets, struct arena *a);

/* Does the file that is now at the program's path run, and accept these arguments ("feedmill serve
 * ..."), the environment and the config file? It is asked by "serve --check". RC_IO: *err says what
 * is wrong. Takes as long as it takes to start. */
enum rc handover_check(char **argv, struct err *err) NODISCARD;

/* Execute the program with these arguments and sockets. Returns only if it failed, and *err says
 * why. */
enum rc handover_execute(char **argv, const struct http_sockets *sockets, struct err *err);

/* Tell the service manager that started this daemon, if one did: "READY=1", "STOPPING=1",
 * "WATCHDOG=1". Any thread. */
void handover_tell(const char *state);
