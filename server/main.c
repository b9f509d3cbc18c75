/* server/main.c - the command line: finds the command, and runs it.
 *
 * Libraries with global state are set up here, before any thread starts.
 */
#include <fcntl.h>
#include <libxml/parser.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/digest.h"
#include "base/metrics.h"
#include "net/http_client.h"
#include "net/xmlrpc.h"
#include "server/cli.h"
#include "server/cli_out.h"
#include "server/daemon.h"
#include "server/handover.h"
#include "server/manual.h"
#include "server/suggest.h"

static struct {
    int argc;
    char **argv;
    char **all; /* with the program's name and "serve" */
} serve_args;   /* of this process, for reloads */

static enum rc reload(struct options **out, struct err *err)
{
    bool help;

    return options_load(serve_args.argc, serve_args.argv, out, &help, err);
}

/* docs/metrics.md */
static int print_metrics(void)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    metrics_write_markdown(&out);
    fwrite(buf_view(&out).ptr, 1, out.len, stdout);
    return 0;
}

/* A config file with these options. */
static int print_config(int argc, char **argv)
{
    struct options *o = NULL;
    struct err err = ERR_INIT;
    bool help;

    if (options_load(argc, argv, &o, &help, &err) != RC_OK)
        return cli_misuse("serve", "%s", err.text);
    options_print_config(o, stdout);
    options_free(&o);
    return CLI_OK;
}

/* Take "--json" out of the arguments of --check. */
static bool take_json(int *argc, char **argv)
{
    int n = 2;

    for (int k = 2; k < *argc; k++)
        if (strcmp(argv[k], "--json") != 0)
            argv[n++] = argv[k];
    argv[n] = NULL;
    if (n == *argc)
        return false;
    *argc = n;
    return true;
}

/* `problem`: what is wrong; NULL: nothing. */
static void print_check(const char *problem)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct value *v = value_dict(&a);

    value_setz(&a, v, "ok", value_bool(&a, problem == NULL));
    value_setz(&a, v, "problem", problem == NULL ? value_null(&a) : value_text(&a, str_from(problem)));
    cli_print_json(v);
}

static int serve(int argc, char **argv)
{
    struct options *o = NULL;
    struct err err = ERR_INIT;
    bool help = false, only_check = argc > 1 && strcmp(argv[1], "--check") == 0, as_json = false;
    enum rc rc;

    if (help_json_wanted(argc, argv))
        return help_json_write("serve", stdout) ? CLI_OK : CLI_FAILED;
    if (only_check)
        as_json = take_json(&argc, argv);
    argc -= only_check;
    argv += only_check;
    serve_args.argc = argc - 1;
    serve_args.argv = argv + 1;
    if (argc > 1 && strcmp(argv[1], "--help-markdown") == 0) {
        options_print_markdown(stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--metrics-markdown") == 0)
        return print_metrics();
    if (argc > 1 && strcmp(argv[1], "--help-config") == 0)
        return print_config(argc - 2, argv + 2);
    if (options_load(argc - 1, argv + 1, &o, &help, &err) != RC_OK) {
        options_free(&o);
        if (as_json)
            print_check(err.text);
        return cli_misuse("serve", "%s", err.text);
    }
    if (help) {
        puts("usage: feedmill serve [OPTION]...\n"
             "  run the daemon\n\n"
             "Each option can also be set as FEEDMILL_NAME in the environment, or by a line\n"
             "'name = value' of a config file; --help-config prints such a file, and\n"
             "--check [--json] [OPTION]... says whether the daemon would start with these options.\n");
        options_print_help(stdout);
        puts("\nexample: " SERVE_EXAMPLE);
        options_free(&o);
        return 0;
    }
    rc = only_check ? daemon_check(o, &err) : daemon_run(o, serve_args.all, reload, &err);
    options_free(&o);
    if (as_json)
        print_check(rc == RC_OK ? NULL : err.text);
    else if (rc == RC_OK && only_check)
        puts(HANDOVER_IN_ORDER);
    if (rc == RC_INPUT) /* an option is wrong */
        return cli_misuse("serve", "%s", err.text);
    return rc == RC_OK ? CLI_OK : cli_fail("serve", "%s", err.text);
}

static int usage(FILE *to, int code)
{
    fputs("Feedmill " FEEDMILL_VERSION ": fetches, stores, merges and delivers web feeds.\n"
          "usage: feedmill COMMAND [FLAG]... [ARGUMENT]...\n\n"
          "  serve [OPTION]...\n      run the daemon\n",
          to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        fprintf(to, "  %s%s%s\n      %s\n", c->name, c->args[0] != '\0' ? " " : "", c->args,
                c->help);
    fputs("\n\"feedmill help COMMAND\" explains a command and its flags. Commands that talk to a "
          "daemon take\n--server URL and --token TEXT (or FEEDMILL_SERVER and FEEDMILL_TOKEN); the "
          "default is\nhttp://127.0.0.1:8080. Exit codes: 0 done, 1 it failed, 2 it was used "
          "wrongly.\n\n\"feedmill help --man PAGE\" prints a page of the manual, \"feedmill help "
          "--completion SHELL\" what\nbash, zsh or fish read to complete commands.\n",
          to);
    return code;
}

/* help --man PAGE, help --completion SHELL. -1: it is not one of these. */
static int help_for_programs(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : "";

    if (strcmp(kind, "--man") == 0)
        return manual_write(name, stdout)
                   ? CLI_OK
                   : cli_unknown("help", "the page", name, manual_pages);
    if (strcmp(kind, "--completion") == 0)
        return completion_write(name, stdout)
                   ? CLI_OK
                   : cli_unknown("help", "the shell", name, completion_shells);
    return -1;
}

/* Large pieces of memory shall go back to the system when they are freed. By default, glibc raises
 * the size from which it maps pieces each time a larger one is freed, and then keeps such pieces on
 * the heaps of the threads for ever. */
static void set_up_heap(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 512 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * 1024 * 1024);
#endif
}

/* Open what was closed of standard input, output and errors: otherwise the next file that is opened, such
 * as the database, gets its number, and what is printed goes there. Each is opened the wrong way round, so
 * whoever prints still learns that nobody reads it. */
static bool open_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

static void start_libraries(void)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* libcurl's and libidn2's conversions */
    digest_init();
    xmlInitParser();
    http_client_global_init();
    rpc_init();
}

static bool is_command(const char *name)
{
    const struct cli_command *c = cli_commands;

    while (c->name != NULL && strcmp(c->name, name) != 0)
        c++;
    return c->name != NULL || strcmp(name, "serve") == 0;
}

/* "feedmill --server URL ls". The value is not repeated, because it may be a token. */
static int flag_first(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str rest = str_from(argv[0]), flag = cli_plain(&a, str_split(&rest, '='));
    struct suggestion s = {.typed = str_z(&a, flag)};
    bool has_value = !str_is_null(rest) || (argc > 1 && argv[1][0] != '-' && !is_command(argv[1]));
    const char *command = "COMMAND";

    suggest_consider(&s, "--help");
    suggest_consider(&s, "--version");
    for (int k = argc - 1; k > 0; k--)
        if (is_command(argv[k]))
            command = argv[k];
    if (s.best != NULL && !is_command(command)) {
        fprintf(stderr, "feedmill: unknown flag %s; did you mean %s?\n", s.typed, s.best);
        return CLI_USAGE;
    }
    fprintf(stderr, "feedmill: flags come after the command, as in \"feedmill %s %.*s%s\"; \"feedmill help%s%s\" lists %s\n",
            command, STR_ARG(flag), has_value ? " ..." : "", is_command(command) ? " " : "",
            is_command(command) ? command : "", is_command(command) ? "them" : "the commands");
    return CLI_USAGE;
}

/* What other programs call our commands. */
static const char *known_as(const char *name)
{
    static const struct {
        const char *word, *command;
    } rows[] = {{"list", "ls"},     {"feeds", "ls"},      {"remove", "rm"}, {"delete", "rm"},
                {"del", "rm"},      {"unsubscribe", "rm"}, {"start", "serve"}, {"run", "serve"},
                {"subscribe", "add"}, {"fetch", "refresh"}, {"find", "search"}, {"subs", "sub"},
                {"tokens", "token"}, {"info", "show"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcasecmp(rows[i].word, name) == 0)
            return rows[i].command;
    return NULL;
}

static int unknown_command(const char *name)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct suggestion s = {.typed = name};

    suggest_consider(&s, "serve");
    suggest_consider(&s, "help");
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        suggest_consider(&s, c->name);
    if (known_as(name) != NULL)
        s.best = known_as(name);
    fprintf(stderr, "feedmill: \"%.*s\" is not a command; ",
            STR_ARG(cli_plain(&a, str_from(name))));
    if (s.best != NULL)
        fprintf(stderr, "did you mean \"%s\"? ", s.best);
    fputs("\"feedmill help\" lists them\n", stderr);
    return CLI_USAGE;
}

static int run(int argc, char **argv)
{
    if (strcmp(argv[0], "serve") == 0) {
        set_up_heap();
        daemon_block_signals();
        return serve(argc, argv);
    }
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        if (strcmp(c->name, argv[0]) == 0)
            return c->fn(argc, argv);
    return argv[0][0] == '-' ? flag_first(argc, argv) : unknown_command(argv[0]);
}

static bool is_one_of(const char *arg, const char *x, const char *y, const char *z)
{
    return strcmp(arg, x) == 0 || strcmp(arg, y) == 0 || strcmp(arg, z) == 0;
}

static int help_as_json(const char *name)
{
    if (is_one_of(name, "--json", "--help", "-h") || strcmp(name, "help") == 0)
        name = NULL;
    return help_json_write(name, stdout) ? CLI_OK : unknown_command(name);
}

/* help [COMMAND] [--json] */
static int help(int argc, char **argv)
{
    char flag[] = "--help", *args[] = {argc > 1 ? argv[1] : flag, flag, NULL};
    int code = help_for_programs(argc, argv);

    if (code >= 0)
        return code;
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "--json") == 0)
            return help_as_json(argv[k == 1 && argc > 2 ? 2 : 1]);
    if (argc < 2 || is_one_of(argv[1], "help", "--help", "-h"))
        return usage(stdout, CLI_OK);
    return run(2, args);
}

int main(int argc, char **argv)
{
    char version[] = "version", *args[] = {version, NULL};

    if (!open_standard())
        return CLI_FAILED;
    if (argc < 2)
        return usage(stderr, CLI_USAGE);
    if (is_one_of(argv[1], "help", "--help", "-h"))
        return cli_finish("help", help(argc - 1, argv + 1));
    if (is_one_of(argv[1], "--version", "-V", "-v"))
        return cli_finish(version, run(1, args));
    signal(SIGCHLD, SIG_DFL); /* whoever ignored it has left that to us: nobody could learn how a child ended */
    start_libraries();
    serve_args.all = argv;
    return cli_finish(argv[1], run(argc - 1, argv + 1));
}
