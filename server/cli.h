/* server/cli.h - the commands for people: a table of names, and what they share.
 *
 * A command gets its own arguments (argv[0] is its name) and returns the exit code. If it failed or
 * was used wrongly, it has written one line to standard error that says why. All functions are
 * called on the main thread.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/value.h"

#define CLI_OK 0     /* done */
#define CLI_FAILED 1 /* the command failed */
#define CLI_USAGE 2  /* wrong arguments */

typedef int cli_fn(int argc, char **argv);

struct cli_command {
    const char *name, *args, *help, *example;
    cli_fn *fn;
};
extern const struct cli_command cli_commands[]; /* ends with a NULL name */

/* Write one line to standard error: "feedmill NAME: ...". cli_fail() returns CLI_FAILED,
 * cli_misuse() returns CLI_USAGE. */
int cli_fail(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);
int cli_misuse(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* cli_misuse() with "usage: feedmill NAME ARGS". */
int cli_usage(const char *name);

/* The same with "WHAT \"TYPED\" is not known", and the nearest of the words ("a|b|c"), if one is
 * near, else all of them. */
int cli_unknown(const char *name, const char *what, const char *typed, const char *words);

/* Every command ends with this: flush standard output, and return the exit code. If all that was
 * said is that the command was used wrongly (cli_misuse()), CLI_FAILED becomes CLI_USAGE: so what
 * the daemon refuses counts as what the program refuses itself. If something could not be written,
 * now or before, it says so and returns CLI_FAILED in place of CLI_OK. */
int cli_finish(const char *name, int code);

/* A flag of a command: "--name VALUE" or "--name=VALUE". Without `arg` it is a switch, "--name",
 * and its value becomes "yes". */
struct cli_flag {
    const char *name;  /* "--type" */
    const char *arg;   /* what the help calls its value; NULL: a switch */
    const char *help;  /* one sentence */
    struct str *value; /* gets the value; if the flag is repeated, the last one */
    struct str *list;  /* or gets all values of a flag that may be repeated, at most `max` */
    size_t max, *n;    /* *n: how many there are */
};

/* Take the flags out of argv and store their values. The operands remain in argv. Returns -1: go
 * on. Otherwise it returns the exit code, because the help was printed (--help, -h), or because a
 * flag was wrong; it has said which one. */
int cli_take_flags(int *argc, char **argv, const struct cli_flag *flags, size_t n);

/* The same for a command whose operands are words: "-word" is one of them. */
int cli_take_flags_of_words(int *argc, char **argv, const struct cli_flag *flags, size_t n);

/* Instead of printing its help, `c` tells these functions its flags, and what may follow its name:
 * the actions of `sub`. */
struct cli_listener {
    void *ctx;
    void (*flag)(void *ctx, const struct cli_flag *f);
    void (*action)(void *ctx, const char *name, const char *args, const char *help);
};
void cli_describe(const struct cli_command *c, const struct cli_listener *listener);

/* Print one of the actions of a command, as a part of its help; the first one with a head. */
void cli_print_action(size_t i, const char *name, const char *args, const char *help);

/* What `set` and `sub set` may change, as "a|b". With `sub set` there is header.NAME, too. */
extern const char cli_feed_settings[], cli_sub_settings[];

/* Is it one of the words of "a|b|c"? */
bool cli_is_word(struct str typed, const char *words);

/* Take out what is not seen (base/visible.h), because the text of a publisher may have any
 * bytes. cli_plain() returns the text in the arena, cli_print_plain() writes it to standard output.
 */
struct str cli_plain(struct arena *a, struct str text);
void cli_print_plain(struct str text);

/* Read a whole file, or standard input for "-", of at most `max` bytes. Free the bytes with free().
 * NULL: it cannot be read; the function has said why. */
char *cli_read_file(const char *name, const char *path, size_t max, size_t *len_out);

/* ---- talking to the daemon (server/cli_http.c) ---- */

/* The flags of all commands that talk to the daemon. */
struct cli_server {
    struct str url, token; /* null: use FEEDMILL_SERVER and FEEDMILL_TOKEN */
    struct str json;       /* null: print for people */
    bool ends_with_output; /* while waiting, exit if standard output is closed by its reader */
    bool is_patient;       /* it waits for news, so nobody is told that it waits */
};
#define CLI_JSON_FLAG(json)                                                                        \
    {                                                                                              \
        "--json", NULL, "Print JSON: one document, or of what goes on an object a line.", &(json), \
            NULL, 0, NULL                                                                          \
    }
#define CLI_SERVER_FLAGS(srv)                                                                      \
    CLI_JSON_FLAG((srv).json),                                                                     \
        {"--server", "URL", "The daemon; default: FEEDMILL_SERVER, or http://127.0.0.1:8080.",     \
         &(srv).url, NULL,  0,                                                                     \
         NULL},                                                                                    \
    {                                                                                              \
        "--token", "TEXT", "The daemon's token; default: FEEDMILL_TOKEN.", &(srv).token, NULL, 0,  \
            NULL                                                                                   \
    }

struct cli_answer {
    int status; /* 0: no answer came */
    struct str body, content_type, location;
    struct value *json; /* the body, where members were wanted */
    struct str problem; /* a sentence that says why the request failed; null: it did not fail */
    bool is_misuse;     /* because something was typed wrongly */
};

/* What an answer must be, so that it is believed (`wants`): CLI_NOTHING, which is status 204; a document of this
 * media type; or an object of JSON with these members, "id|urls". */
#define CLI_NOTHING ""
#define CLI_ALL_SUBS "subscriptions|feeds" /* what GET /sub lists */
#define CLI_ONE_SUB "id|urls|state"         /* a subscription as it is now */

/* What each feed has in JSON, null where it is unknown. */
#define CLI_FEED_MEMBERS "id|url|title|publisher_title|state"

/* Send one request, and wait for the answer for at most `timeout_ms`, and not at all if who is there answers nothing
 * else either. A person is told what is waited for. The strings of the answer are
 * in the arena. False: no answer came, its status is 300 or more, or it is not what `wants` says; out->problem
 * says why. */
bool cli_ask(const struct cli_server *srv, struct arena *a, const char *method, struct str path,
             struct str content_type, struct str body, int64_t timeout_ms, const char *wants,
             struct cli_answer *out);

/* The same, but print the problem (cli_fail(), cli_misuse()). */
bool cli_call(const char *name, const struct cli_server *srv, struct arena *a, const char *method,
              struct str path, struct str content_type, struct str body, int64_t timeout_ms,
              const char *wants, struct cli_answer *out);

/* Takes the body of an answer with status 200 and the media type that is wanted, piece by piece as it comes, on
 * another thread while the main thread waits. `n_all`: its length; -1: it is not told. Anything but RC_OK, with
 * *err, ends the call. */
typedef enum rc cli_take_fn(void *ctx, int64_t n_all, struct str piece, struct err *err);

/* As cli_ask(), for an answer of any length, whose body goes to `take`. How long it takes is not
 * bounded as long as it goes on; what `take` refuses, and a body that ends too soon, is a problem. */
bool cli_download(const struct cli_server *srv, struct arena *a, const char *method,
                  struct str path, const char *type, cli_take_fn *take, void *ctx,
                  struct cli_answer *out);

/* The same as cli_call(), for an object with these members. NULL: it failed; the function has said why. */
struct value *cli_call_json(const char *name, const struct cli_server *srv, struct arena *a,
                            const char *method, struct str path, struct str content_type,
                            struct str body, int64_t timeout_ms, const char *members);

/* Subscribe to the feeds of an OPML list that are not known yet. A list that is too long for a request is sent in
 * parts, one after the other, and each becomes a subscription. Returns the answers as one: `id` is the first of
 * `ids`. NULL: it failed; the function has said why. (server/cli_list.c) */
struct value *cli_send_list(const char *name, const struct cli_server *srv, struct arena *a, struct str text);

/* Why this is not an answer of a daemon, in a sentence; null: it is one, or a problem that should have been told
 * before. Reads answer->json where members are wanted. */
struct str cli_judge(struct arena *a, struct str origin, struct cli_answer *answer, const char *wants);

/* ---- the command sub (server/cli_subs.c, server/cli_sub_actions.c) ---- */

/* Read the number of a subscription. False: it has said what is wrong. */
bool cli_sub_id(const char *name, const char *typed, int64_t *id) NODISCARD;

/* argv[1] is an action, argv[2] the number of a subscription: do it. */
int cli_sub_act(const struct cli_server *srv, struct arena *a, int argc, char **argv);

/* Print the actions. */
void cli_sub_actions_help(void);

/* ---- what people type (server/cli_names.c) ---- */

/* The URL of an address as a person typed it. If it has no scheme, it gets http:// if its host is
 * an IP address or a name of this machine, or has a port; otherwise it gets https://. Text that is
 * not an address stays as it is. */
struct str cli_url(struct arena *a, struct str typed);

/* "url=A&url=B..." for the arguments from argv[from] on, percent-encoded. */
struct str cli_urls_query(struct arena *a, int from, int argc, char **argv);

/* The same of feeds that are known: a number stands for its address, which the daemon is asked for. False: it has said what
 * is wrong. */
bool cli_feeds_query(const char *name, const struct cli_server *srv, struct arena *a, int from, int argc, char **argv,
                     struct str *out) NODISCARD;

/* Do both texts name the same address? The typed one may be without scheme, and without the slash
 * at the end. */
bool cli_same_address(struct arena *a, struct str typed, struct str url);

/* Find a feed in the answer to GET /sub: by its id, its URL, or the URL of its page. NULL: there is
 * no such feed. */
const struct value *cli_find_feed(struct arena *a, const struct value *all, struct str typed);

/* The same, and by an address that the feed had before it moved, which the daemon knows. */
const struct value *cli_find_named(const struct cli_server *srv, struct arena *a,
                                   const struct value *all, struct str typed);

/* The same without the list of all feeds, as long as the daemon knows the feed by this text; *all is read when it is
 * needed, NULL before. NULL: there is none, or *failed: the daemon could not be asked, which was said. */
const struct value *cli_look_up(const char *name, const struct cli_server *srv, struct arena *a, struct str typed,
                                struct value **all, bool *failed);

/* What the daemon answers to GET /sub/feed?url=...; NULL: it refuses, and
 * *status says with which HTTP status; 0: no answer came. */
const struct value *cli_ask_feed(const struct cli_server *srv, struct arena *a, struct str url, int *status);

/* The date of an entry (updated, else published) as RFC 3339; null: it has none. Arena. */
struct str cli_entry_date(struct arena *a, const struct value *entry);

/* The names of a folder, with / between them. Arena. */
struct str cli_folder_text(struct arena *a, const struct value *folder);

/* A member as text. "-": it is null or absent; "yes" and "no": it is a boolean. */
const char *cli_text(struct arena *a, const struct value *v, const char *key);

cli_fn cli_archive, cli_backup, cli_check, cli_compact;
cli_fn cli_refresh, cli_set, cli_forget, cli_views, cli_search, cli_events;
cli_fn cli_add, cli_ls, cli_show, cli_get, cli_import, cli_export, cli_rm, cli_sub, cli_tail;
cli_fn cli_schedule_sim, cli_score;
cli_fn cli_nodes, cli_token, cli_migrate, cli_parse, cli_discover, cli_opml, cli_version;
