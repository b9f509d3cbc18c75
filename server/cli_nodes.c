/* server/cli_nodes.c - "feedmill nodes": lists the daemons that work on one log, and drains one. */
#include <inttypes.h>
#include <stdio.h>

#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"

#define WAIT_MS 10000

static bool is_draining(const struct value *n)
{
    const struct value *v = value_getz(n, "draining");

    return v != NULL && v->kind == VAL_BOOL && v->b;
}

static void print_node(const struct value *n)
{
    printf("%5" PRId64 " %6" PRId64 " s %7" PRId64 "  ", value_get_int(n, STR("slots"), 0),
           value_get_int(n, STR("beat_age_s"), 0), value_get_int(n, STR("behind"), 0));
    cli_print_plain(value_get_textz(n, "name"));
    fputs("  ", stdout);
    cli_print_plain(value_get_textz(n, "address"));
    fputs("  ", stdout);
    cli_print_plain(value_get_textz(n, "version"));
    puts(is_draining(n) ? "  draining" : "");
}

static int list_nodes(const char *name, const struct cli_server *srv, struct arena *a)
{
    struct value *v =
        cli_call_json(name, srv, a, "GET", STR(PATH_NODES), STR_NULL, STR_NULL, WAIT_MS);
    const struct value *nodes;

    if (v == NULL)
        return CLI_FAILED;
    nodes = value_getz(v, "nodes");
    printf("%5s %8s %7s  %s\n", "slots", "beat", "behind", "name, address, version");
    for (size_t i = 0; i < value_len(nodes); i++)
        print_node(value_at(nodes, i));
    return CLI_OK;
}

static int drain(const char *name, const struct cli_server *srv, struct arena *a, const char *node)
{
    struct str form =
        str_printf(a, "action=drain&name=%.*s", STR_ARG(url_encode(a, str_from(node))));
    struct cli_answer answer;

    return cli_call(name, srv, a, "POST", STR(PATH_NODES), STR(MEDIA_URLENCODED), form, WAIT_MS,
                    &answer)
               ? CLI_OK
               : CLI_FAILED;
}

int cli_nodes(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(srv)};
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    if (argc == 1)
        return list_nodes(argv[0], &srv, &a);
    if (argc == 3 && strcmp(argv[1], "drain") == 0)
        return drain(argv[0], &srv, &a, argv[2]);
    return cli_usage(argv[0]);
}
