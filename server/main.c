/* server/main.c - the command line: find the command, start libraries, run it.
 *
 * Libraries with global state are started here, before any thread exists.
 */
#include <libxml/parser.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/digest.h"
#include "net/http_client.h"
#include "net/xmlrpc.h"
#include "server/cli.h"
#include "server/daemon.h"

static struct {
    int argc;
    char **argv;
} serve_args; /* of this process, for reloads */

static enum rc reload(struct options **out, struct err *err)
{
    bool help;

    return options_load(serve_args.argc, serve_args.argv, out, &help, err);
}

static int serve(int argc, char **argv)
{
    struct options *o = NULL;
    struct err err = ERR_INIT;
    bool help = false;
    enum rc rc;

    serve_args.argc = argc - 1;
    serve_args.argv = argv + 1;
    if (argc > 1 && strcmp(argv[1], "--help-markdown") == 0) {
        options_print_markdown(stdout);
        return 0;
    }
    if (options_load(argc - 1, argv + 1, &o, &help, &err) != RC_OK) {
        cli_fail("serve", "%s", err.text);
        return 2;
    }
    if (help) {
        puts(
            "usage: feedmill serve [OPTION]...\n"
            "Run the daemon. Each option can also be set as FEEDMILL_NAME in the environment or as "
            "a line\n'name = value' of a config file.\n");
        options_print_help(stdout);
        options_free(&o);
        return 0;
    }
    rc = daemon_run(o, reload, &err);
    options_free(&o);
    return rc == RC_OK ? 0 : cli_fail("serve", "%s", err.text);
}

static void usage(FILE *to)
{
    fputs("Feedmill " FEEDMILL_VERSION ": fetches, stores, merges and delivers web feeds.\n"
          "usage: feedmill COMMAND [ARGUMENT]...\n\n"
          "  serve [OPTION]...\n      run the daemon (feedmill serve --help)\n",
          to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        fprintf(to, "  %s %s\n      %s\n", c->name, c->args, c->help);
    fputs("\nCommands that talk to a daemon take --server URL and --token TEXT (or FEEDMILL_SERVER "
          "and\nFEEDMILL_TOKEN); the default is http://127.0.0.1:8080.\n",
          to);
}

/* Memory of a large document goes back to the system when it is freed. Left to itself, glibc raises
 * the size from which it maps pieces to the largest one freed, and keeps them on the heaps of the
 * threads for good. */
static void set_up_heap(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 512 * 1024);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * 1024 * 1024);
#endif
}

static void start_libraries(void)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* libcurl's and libidn2's conversions */
    digest_init();
    xmlInitParser();
    http_client_global_init();
    rpc_init();
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("feedmill " FEEDMILL_VERSION);
        return 0;
    }
    start_libraries();
    if (strcmp(argv[1], "serve") == 0) {
        set_up_heap();
        daemon_block_signals();
        return serve(argc - 1, argv + 1);
    }
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        if (strcmp(c->name, argv[1]) == 0) {
            if (argc == 3 && is_help(argv[2])) {
                printf("usage: feedmill %s %s\n  %s\n", c->name, c->args, c->help);
                return 0;
            }
            return c->fn(argc - 1, argv + 1);
        }
    fprintf(stderr, "feedmill: \"%s\" is no command; feedmill --help lists them\n", argv[1]);
    return 2;
}
