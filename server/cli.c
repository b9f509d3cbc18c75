/* server/cli.c - the table of commands, and the functions that they share. */
#include "server/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/visible.h"
#include "server/cli_out.h"
#include "server/manual.h"
#include "server/suggest.h"

const struct cli_command cli_commands[] = {
    {"add", "[FLAG]... URL...", "subscribe to feeds, or to web pages that lead to one",
     "feedmill add --folder News/Linux planet.debian.org", cli_add},
    {"rm", "FEED...", "end subscriptions to feeds, by URL or by the id that ls shows",
     "feedmill rm planet.debian.org", cli_rm},
    {"forget", "FEED...",
     "remove feeds with all their entries, and from every subscription; this cannot be undone",
     "feedmill forget planet.debian.org", cli_forget},
    {"ls", "[--all] [--state STATE] [--folder A/B] [WORD...]",
     "list feeds: state, last and next fetch and why, last error; all, or those with these words in a title, the "
     "address or the folder",
     "feedmill ls --state failing planet", cli_ls},
    {"refresh", "FEED...", "fetch feeds now, and wait for it", "feedmill refresh planet.debian.org",
     cli_refresh},
    {"set", "FEED KEY=VALUE...", "change the freq, title, folder or mirror of a feed, or how much of it is kept",
     "feedmill set planet.debian.org folder=News/Linux freq=1", cli_set},
    {"show", "FEED", "show all that is known about a feed, by URL or id", "feedmill show 3",
     cli_show},
    {"get", "[FLAG]... FEED...", "print a feed, or several merged into one",
     "feedmill get --type json --len 10 planet.debian.org", cli_get},
    {"import", "FILE.opml | --follow URL",
     "subscribe to every feed of a list and of the lists it includes, or follow the list at a URL",
     "feedmill import subscriptions.opml", cli_import},
    {"export", "", "print the subscribed feeds as OPML", "feedmill export >subscriptions.opml",
     cli_export},
    {"sub", "[add [--sink webhook] [--from start] ENDPOINT URL... | rm ID [URL...] | ACTION ID...]",
     "list, make, change or end subscriptions that push entries to an endpoint",
     "feedmill sub add http://localhost:8000/ planet.debian.org", cli_sub},
    {"views", "", "list the named views", "feedmill views", cli_views},
    {"search", "[FLAG]... WORDS", "list the newest entries with these words in subscribed feeds",
     "feedmill search crane -barge", cli_search},
    {"tail", "[--since start|SEQ] [--exec CMD] [--position FILE] [FEED...]",
     "print new entries as they come, or run a command for each",
     "feedmill tail --exec 'jq -r .entry.title' --position /var/lib/titles.at", cli_tail},
    {"events", "[FLAG]... [FEED...]",
     "print what is new, changed or deleted as it comes, a line each", "feedmill events --folder News",
     cli_events},
    {"archive", "--out DIR [--base URL] URL...",
     "write the documents of /simple as files for any web server; run it again to add new ones",
     "feedmill archive --out public planet.debian.org", cli_archive},
    {"token", "add --name TEXT --role ROLE [FLAG]... | ls | rm ID",
     "make a token for callers and print it, list tokens, or delete one",
     "feedmill token add --db feeds.db --name laptop --role admin", cli_token},
    {"nodes", "[drain NAME]",
     "list the daemons that work on this log, or have one give its work to the others until it is "
     "started anew",
     "feedmill nodes drain node2", cli_nodes},
    {"migrate", "--from DB --to DB [--check]",
     "copy all data from a file to a PostgreSQL database, or back; no daemon may run meanwhile",
     "feedmill migrate --from feeds.db --to postgresql://mill@localhost/feedmill", cli_migrate},
    {"backup", "FILE [--db DB]",
     "copy the database of the daemon to a file while it works, or that in the file DB; the copy is "
     "a database",
     "feedmill backup /srv/backup/feeds.db", cli_backup},
    {"check", "--db DB", "look for damage in a database and for rows that break a rule of the log",
     "feedmill check --db feeds.db", cli_check},
    {"compact", "--db DB", "write a database anew, without free space; no daemon may run meanwhile",
     "feedmill compact --db feeds.db", cli_compact},
    {"parse", "[FLAG]... [FILE...]", "parse documents without a daemon, print JSON",
     "curl -s https://example.org/feed | feedmill parse --url https://example.org/feed", cli_parse},
    {"discover", "[FLAG]... [FILE...]", "print the feeds that web pages announce, as JSON",
     "curl -s https://example.org/ | feedmill discover --url https://example.org/", cli_discover},
    {"opml", "[FLAG]... [FILE...]", "print the feeds of OPML lists, as JSON",
     "feedmill opml subscriptions.opml", cli_opml},
    {"schedule-sim", "--budget N --feeds M",
     "say when feeds of level 1 would be fetched next: fetches in, decisions out, as lines of JSON",
     "feedmill schedule-sim --budget 480000 --feeds 10000 <fetches.jsonl", cli_schedule_sim},
    {"score", "[--days N] [--sin NAME] [-- COMMAND...]",
     "judge how polite a fetcher is to publishers: COMMAND, which finds the feeds in the variable "
     "FEEDMILL_SCORE_URLS, or this program",
     "feedmill score --days 2 -- sh -c 'curl -s $FEEDMILL_SCORE_URLS'", cli_score},
    {"version", "", "print the version", "feedmill version", cli_version},
    {NULL, NULL, NULL, NULL, NULL},
};

/* What was said on standard error: that something failed, that something was typed wrongly. */
static struct {
    bool failure, misuse;
} said;

/* Take passwords out of the addresses in a text, in place. ETIQ-08 */
static void hide_passwords(char *text)
{
    for (char *p = text; (p = strstr(p, "://")) != NULL;) {
        size_t n = strcspn(p += 3, "/?# \"");

        for (size_t at = n; at-- > 0;)
            if (p[at] == '@') {
                memmove(p, p + at + 1, strlen(p + at + 1) + 1);
                break;
            }
    }
}

/* One line, whatever was typed, without the passwords that were. */
static void complain(const char *name, const char *fmt, va_list ap)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *text = arena_vprintf(&a, NULL, fmt, ap);
    struct str plain;

    hide_passwords(text);
    plain = cli_plain(&a, str_from(text));
    cli_progress_end(); /* the line begins where that one stands */
    fprintf(stderr, "feedmill %s: %.*s\n", name, STR_ARG(plain));
}

int cli_fail(const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    complain(name, fmt, ap);
    va_end(ap);
    said.failure = true;
    return CLI_FAILED;
}

int cli_misuse(const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    complain(name, fmt, ap);
    va_end(ap);
    said.misuse = true;
    return CLI_USAGE;
}

static const struct cli_command *find_command(const char *name)
{
    const struct cli_command *c = cli_commands;

    while (c->name != NULL && strcmp(c->name, name) != 0)
        c++;
    return c;
}

int cli_usage(const char *name)
{
    const struct cli_command *c = find_command(name);

    return cli_misuse(name, "usage: feedmill %s%s%s (feedmill help %s explains it)", name,
                      c->args[0] != '\0' ? " " : "", c->args, name);
}

bool cli_is_word(struct str typed, const char *words)
{
    for (struct str rest = str_from(words); !str_is_null(rest);)
        if (str_eq(typed, str_split(&rest, '|')))
            return true;
    return false;
}

int cli_unknown(const char *name, const char *what, const char *typed, const char *words)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct suggestion s = {.typed = typed};

    for (struct str rest = str_from(words); !str_is_null(rest);)
        suggest_consider(&s, str_z(&a, str_split(&rest, '|')));
    if (s.best != NULL)
        return cli_misuse(name, "%s \"%s\" is not known; did you mean \"%s\"?", what, typed, s.best);
    return cli_misuse(name, "%s \"%s\" is not known, but %s (feedmill help %s explains them)", what,
                      typed, words, name);
}

int cli_finish(const char *name, int code)
{
    bool failed = ferror(stdout) != 0;

    if (code == CLI_FAILED && said.misuse && !said.failure) /* the daemon has refused what was typed */
        code = CLI_USAGE;
    if (fflush(stdout) == 0 && !failed)
        return code;
    cli_fail(name, "standard output cannot be written: %s", strerror(errno));
    return code == CLI_OK ? CLI_FAILED : code;
}

/* ---- flags ---- */

static const struct cli_listener *told; /* NULL: help is printed */
static bool is_told_as_json;            /* the help was printed, as JSON */

void cli_describe(const struct cli_command *c, const struct cli_listener *listener)
{
    AUTO(mem_autofree) char *name = mem_strdup(c->name);
    char help[] = "--help", *args[] = {name, help, NULL};

    told = listener;
    (void)c->fn(2, args);
    told = NULL;
}

void cli_print_action(size_t i, const char *name, const char *args, const char *help)
{
    if (told != NULL)
        told->action(told->ctx, name, args, help);
    else if (!is_told_as_json)
        printf("%s  %s %s\n      %s\n", i == 0 ? "\nactions:\n" : "", name, args, help);
}

static void print_help(const char *name, const struct cli_flag *flags, size_t n)
{
    const struct cli_command *c = find_command(name);

    for (size_t i = 0; told != NULL && i < n; i++)
        told->flag(told->ctx, &flags[i]);
    if (told != NULL)
        return;
    printf("usage: feedmill %s%s%s\n  %s\n\n", name, c->args[0] != '\0' ? " " : "", c->args,
           c->help);
    for (size_t i = 0; i < n; i++)
        printf("  %s%s%s\n      %s\n", flags[i].name, flags[i].arg != NULL ? " " : "",
               flags[i].arg != NULL ? flags[i].arg : "", flags[i].help);
    printf("  -h, --help\n      Print this.\n\nexample: %s\n", c->example);
}

static const struct cli_flag *find_flag(const struct cli_flag *flags, size_t n, const char *arg,
                                        size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(flags[i].name) == len && memcmp(flags[i].name, arg, len) == 0)
            return &flags[i];
    return NULL;
}

static int unknown_flag(const char *name, const struct cli_flag *flags, size_t n, const char *arg, bool words)
{
    struct suggestion s = {.typed = arg};

    for (size_t i = 0; i < n; i++)
        suggest_consider(&s, flags[i].name);
    if (s.best != NULL)
        return cli_misuse(name, "unknown flag %s; did you mean %s?", arg, s.best);
    if (words)
        return cli_misuse(name,
                          "unknown flag %s (feedmill help %s lists the flags); a word with dashes before it stands "
                          "in double quotes: feedmill %s '\"%s\"'",
                          arg, name, name, arg);
    return cli_misuse(name, "unknown flag %s (feedmill help %s lists the flags)", arg, name);
}

/* Store the value of a flag. False: the flag was given too often. */
static bool take_value(const struct cli_flag *f, struct str value)
{
    if (f->list == NULL)
        *f->value = value;
    else if (*f->n < f->max)
        f->list[(*f->n)++] = value;
    else
        return false;
    return true;
}

/* Is this an operand, and no flag? "-" is standard input; "-word" is a word where these are allowed. */
static bool is_operand(const char *arg, bool words)
{
    return arg[0] != '-' || arg[1] == '\0' || (words && arg[1] != '-');
}

static int take_flags(int *argc, char **argv, const struct cli_flag *flags, size_t n, bool words)
{
    int out = 1;
    bool operands_only = false;

    for (int k = 1; k < *argc; k++) {
        const char *arg = argv[k], *eq = strchr(arg, '=');
        const struct cli_flag *f;

        if (!operands_only && (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)) {
            is_told_as_json = told == NULL && help_json_wanted(*argc, argv) && help_json_write(argv[0], stdout);
            if (!is_told_as_json)
                print_help(argv[0], flags, n);
            return CLI_OK;
        }
        if (operands_only || is_operand(arg, words)) {
            argv[out++] = argv[k];
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            operands_only = true;
            continue;
        }
        f = find_flag(flags, n, arg, eq != NULL ? (size_t)(eq - arg) : strlen(arg));
        if (f == NULL)
            return unknown_flag(argv[0], flags, n, arg, words);
        if (f->arg == NULL && eq != NULL)
            return cli_misuse(argv[0], "%s takes no value", f->name);
        if (f->arg != NULL && eq == NULL && k + 1 == *argc)
            return cli_misuse(argv[0], "%s needs a value: %s %s", f->name, f->name, f->arg);
        if (!take_value(f, f->arg == NULL ? STR("yes") : str_from(eq != NULL ? eq + 1 : argv[++k])))
            return cli_misuse(argv[0], "%s is given more than %zu times", f->name, f->max);
    }
    *argc = out;
    return -1;
}

int cli_take_flags(int *argc, char **argv, const struct cli_flag *flags, size_t n)
{
    return take_flags(argc, argv, flags, n, false);
}

int cli_take_flags_of_words(int *argc, char **argv, const struct cli_flag *flags, size_t n)
{
    return take_flags(argc, argv, flags, n, true);
}

int cli_version(int argc, char **argv)
{
    struct str json = STR_NULL;
    const struct cli_flag flags[] = {CLI_JSON_FLAG(json)};
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    if (argc != 1)
        return cli_usage(argv[0]);
    puts(str_is_null(json) ? "feedmill " FEEDMILL_VERSION
                           : "{\"version\":\"" FEEDMILL_VERSION "\"}");
    return CLI_OK;
}

/* ---- texts and files ---- */

struct str cli_plain(struct arena *a, struct str text)
{
    return visible(a, text);
}

void cli_print_plain(struct str text)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str plain = cli_plain(&a, text);

    fwrite(plain.ptr, 1, plain.len, stdout);
}

char *cli_read_file(const char *name, const char *path, size_t max, size_t *len_out)
{
    AUTO(buf_release) struct buf b = BUF_INIT(max);
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char piece[65536];
    size_t n;
    bool bad;

    if (f == NULL && errno == ENOENT && strstr(path, "://") != NULL) {
        cli_fail(name,
                 "%s is a URL, and a file is needed; try \"curl -sL %s | feedmill %s --url %s\"",
                 path, path, name, path);
        return NULL;
    }
    if (f == NULL) {
        cli_fail(name, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (f == stdin && isatty(STDIN_FILENO) == 1)
        fputs("reading standard input; Ctrl-D ends it\n", stderr);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0 && buf_ok(&b))
        buf_append(&b, piece, n);
    bad = ferror(f);
    if (f != stdin)
        fclose(f);
    if (bad || !buf_ok(&b)) {
        cli_fail(name, "%s: %s", path, bad ? strerror(errno) : "the file is too large");
        return NULL;
    }
    return buf_detach(&b, len_out);
}
