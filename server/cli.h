/* server/cli.h - the commands for people: a table of names, and what they share.
 *
 * A command gets its own arguments (argv[0] is its name) and returns the exit code: 0 done, 1 it
 * failed, 2 it was used wrongly. One line on standard error says why. Main thread.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/value.h"

#define CLI_OK 0
#define CLI_FAILED 1
#define CLI_USAGE 2

typedef int cli_fn(int argc, char **argv);

struct cli_command {
    const char *name, *args, *help, *example;
    cli_fn *fn;
};
extern const struct cli_command cli_commands[]; /* ends with a NULL name */

/* One line on standard error, "feedmill NAME: ...". Returns CLI_FAILED or CLI_USAGE. */
int cli_fail(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);
int cli_misuse(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* cli_misuse() with "usage: feedmill NAME ARGS". */
int cli_usage(const char *name);

/* The end of every command: write out what standard output still holds. When that fails, or failed
 * before, it says so and a code of CLI_OK becomes CLI_FAILED. */
int cli_finish(const char *name, int code);

/* A flag of a command: "--name VALUE" or "--name=VALUE"; without `arg` a switch, whose value
 * becomes "yes". */
struct cli_flag {
    const char *name;  /* "--type" */
    const char *arg;   /* what the help calls its value; NULL: a switch */
    const char *help;  /* one sentence */
    struct str *value; /* the last one given */
    struct str *list;  /* or, for one that may be repeated, room for `max` */
    size_t max, *n;
};

/* Take the flags out of argv and store their values; what remains are the operands. Returns -1 to
 * go on, or the exit code: after --help or -h, which print the help of the command, or after saying
 * which flag is wrong. */
int cli_take_flags(int *argc, char **argv, const struct cli_flag *flags, size_t n);

/* Remove the bytes that control a terminal, because texts of publishers may hold any bytes. The
 * first function returns the text in the arena, the second writes it to standard output. */
struct str cli_plain(struct arena *a, struct str text);
void cli_print_plain(struct str text);

/* A whole file, or standard input for "-". malloc'ed; NULL after saying why not. */
char *cli_read_file(const char *name, const char *path, size_t max, size_t *len_out);

/* ---- talking to the daemon (server/cli_http.c) ---- */

/* The flags of all commands that talk to the daemon. */
struct cli_server {
    struct str url, token; /* null: FEEDMILL_SERVER and FEEDMILL_TOKEN count */
    bool ends_with_output; /* while waiting: exit when nobody reads standard output any more */
};
#define CLI_SERVER_FLAGS(srv)                                                                      \
    {"--server", "URL", "The daemon; default: FEEDMILL_SERVER, or http://127.0.0.1:8080.",         \
     &(srv).url, NULL,  0,                                                                         \
     NULL},                                                                                        \
    {                                                                                              \
        "--token", "TEXT", "The daemon's token; default: FEEDMILL_TOKEN.", &(srv).token, NULL, 0,  \
            NULL                                                                                   \
    }

struct cli_answer {
    int status; /* 0: none came */
    struct str body, content_type;
    struct str problem; /* why it failed: a sentence; null: it did not */
};

/* One request; strings of the answer are in the arena. False for a status of 400 and more, and when
 * no answer came: out->problem says why. */
bool cli_ask(const struct cli_server *srv, struct arena *a, const char *method, struct str path,
             struct str content_type, struct str body, int64_t timeout_ms, struct cli_answer *out);

/* The same; the problem is printed. */
bool cli_call(const char *name, const struct cli_server *srv, struct arena *a, const char *method,
              struct str path, struct str content_type, struct str body, int64_t timeout_ms,
              struct cli_answer *out);

/* The same, and the answer read as JSON. NULL after saying why. */
struct value *cli_call_json(const char *name, const struct cli_server *srv, struct arena *a,
                            const char *method, struct str path, struct str content_type,
                            struct str body, int64_t timeout_ms);

/* ---- what people type (server/cli_names.c) ---- */

/* The URL of an address as typed: without a scheme, a host name means https, an IP address, a name
 * of this machine or a host with a port means http. Anything else is left as it is. */
struct str cli_url(struct arena *a, struct str typed);

/* "url=A&url=B..." of argv[from..argc), percent-encoded. */
struct str cli_urls_query(struct arena *a, int from, int argc, char **argv);

/* Do both texts name the same address? The typed one may lack the scheme and the slash at the end.
 */
bool cli_same_address(struct arena *a, struct str typed, struct str url);

/* Among the feeds of GET /sub: the one with this id, or this URL (its own, or its page's). NULL:
 * none. */
const struct value *cli_find_feed(struct arena *a, const struct value *all, struct str typed);

/* A member as text: "-" for null and absent, "yes" and "no". */
const char *cli_text(struct arena *a, const struct value *v, const char *key);

cli_fn cli_archive;
cli_fn cli_add, cli_ls, cli_show, cli_get, cli_import, cli_export, cli_rm, cli_sub, cli_tail;
cli_fn cli_parse, cli_discover, cli_opml, cli_version;
