/* server/cli_nodes.c - "feedmill nodes": lists the daemons that work on one log, and drains one. */
#include <inttypes.h>
#include <stdio.h>

#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 60000

static void add_node(struct arena *a, struct cli_table *t, const struct value *n)
{
    const struct value *draining = value_getz(n, "draining");
    bool drains = draining != NULL && draining->kind == VAL_BOOL && draining->b;
    const struct str cells[] = {value_get_textz(n, "name"),
                                value_get_textz(n, "address"),
                                value_get_textz(n, "version"),
                                str_from(cli_text(a, n, "slots")),
                                str_from(cli_text(a, n, "beat_age_s")),
                                str_from(cli_text(a, n, "behind")),
                                drains ? STR("draining") : STR("working")};

    cli_table_add(t, cells);
}

static int list_nodes(const char *name, const struct cli_server *srv, struct arena *a)
{
    struct value *v =
        cli_call_json(name, srv, a, "GET", STR(PATH_NODES), STR_NULL, STR_NULL, WAIT_MS, "nodes");
    static const struct cli_column columns[] = {
        {"name", CELL_NAME, NULL, 0},     {"address", CELL_TEXT, NULL, 3},   {"version", CELL_NAME, NULL, 4},
        {"slots", CELL_NUMBER, NULL, 0},  {"beat, s", CELL_NUMBER, NULL, 1}, {"behind", CELL_NUMBER, NULL, 2},
        {"state", CELL_STATE, NULL, 0}};
    const struct value *nodes;
    struct cli_table *t;

    if (v == NULL)
        return CLI_FAILED;
    nodes = value_getz(v, "nodes");
    if (!str_is_null(srv->json)) {
        cli_print_list(a, nodes, "name|address|version|slots|beat_age_s|behind|draining");
        return CLI_OK;
    }
    t = cli_table_new(a, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < value_len(nodes); i++)
        add_node(a, t, value_at(nodes, i));
    cli_table_print(t);
    return CLI_OK;
}

static int drain(const char *name, const struct cli_server *srv, struct arena *a, const char *node)
{
    struct str form =
        str_printf(a, "action=drain&name=%.*s", STR_ARG(url_encode(a, str_from(node))));
    struct value *v = cli_call_json(name, srv, a, "POST", STR(PATH_NODES), STR(MEDIA_URLENCODED),
                                    form, WAIT_MS, "status");

    if (v != NULL && !str_is_null(srv->json))
        cli_print_json(v);
    return v != NULL ? CLI_OK : CLI_FAILED;
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
    if (argc > 1 && strcmp(argv[1], "drain") != 0)
        return cli_unknown(argv[0], "the action", argv[1], "drain");
    return cli_usage(argv[0]);
}
