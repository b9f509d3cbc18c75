/* server/cli.h - the commands for people: a table of names, and what they share.
 *
 * A command gets its own arguments (argv[0] is its name) and returns the exit code: 0 done, 1 it
 * failed (one line on standard error says why), 2 it was used wrongly. Main thread.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/value.h"

typedef int cli_fn(int argc, char **argv);

struct cli_command {
    const char *name, *args, *help;
    cli_fn *fn;
};
extern const struct cli_command cli_commands[]; /* ends with a NULL name */

/* One line on standard error, "feedmill NAME: ...", and the exit code 1. */
int cli_fail(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "usage: feedmill NAME ARGS" and the exit code 2. */
int cli_usage(const char *name);

/* Flags of a command: takes known "--flag value" pairs out of argv and stores the values; what
 * remains are the operands. False (after saying so) for an unknown flag or a missing value. */
struct cli_flag {
    const char *name;  /* "--type" */
    struct str *value; /* last one given */
    struct str *list;  /* or a repeatable one: room for `max` */
    size_t max, *n;
};
bool cli_take_flags(int *argc, char **argv, const struct cli_flag *flags, size_t n);

/* Without the bytes that command a terminal: publishers' texts may hold anything. In the arena, and
 * on standard output. */
struct str cli_plain(struct arena *a, struct str text);
void cli_print_plain(struct str text);

/* A whole file, or standard input for "-". malloc'ed; NULL after saying why not. */
char *cli_read_file(const char *name, const char *path, size_t max, size_t *len_out);

/* ---- talking to the daemon (server/cli_http.c) ---- */

/* Flags every talking command has: --server URL, --token TEXT (FEEDMILL_SERVER, FEEDMILL_TOKEN). */
struct cli_server {
    struct str url, token;
};

struct cli_answer {
    int status;
    struct str body, content_type;
};

/* One request; the answer's strings are in the arena. False after saying why (also for a status of
 * 400 and more: the problem's detail is printed). */
bool cli_call(const char *name, const struct cli_server *srv, struct arena *a, const char *method,
              struct str path, struct str content_type, struct str body, int64_t timeout_ms,
              struct cli_answer *out);

/* The same, and the answer read as JSON. NULL after saying why. */
struct value *cli_call_json(const char *name, const struct cli_server *srv, struct arena *a,
                            const char *method, struct str path, struct str content_type,
                            struct str body, int64_t timeout_ms);

cli_fn cli_archive;
cli_fn cli_add, cli_ls, cli_show, cli_get, cli_import, cli_export, cli_sub, cli_tail;
cli_fn cli_parse, cli_discover, cli_opml;
