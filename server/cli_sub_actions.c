/* server/cli_sub_actions.c - the command sub: what can be done to one subscription. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 70000 /* a test may wait for a call that is under way */
#define FORM STR("application/x-www-form-urlencoded")
#define SETTINGS "title|folder|freq|mirror|keep|keep_entries|events|batch|endpoint|secret" /* and header.NAME */

const char cli_sub_settings[] = SETTINGS;

/* An action under way. */
struct acting {
    const char *name; /* of the command, for errors */
    const struct cli_server *srv;
    struct arena *a;
    const struct action *action;
    int64_t id;
    int n; /* values after the id */
    char **values;
};

typedef int run_fn(const struct acting *act);

/* POST /sub with the action; its value is the parameter `parameter`. NULL: it failed, and the
 * reason was printed. */
static struct value *post(const struct acting *act, const char *action, const char *parameter, const char *members)
{
    struct str path = str_printf(act->a, "/sub?id=%" PRId64 "&action=%s", act->id, action);

    if (act->n > 0)
        path = str_printf(act->a, "%.*s&%s=%.*s", STR_ARG(path), parameter,
                          STR_ARG(url_encode(act->a, str_from(act->values[0]))));
    return cli_call_json(act->name, act->srv, act->a, "POST", path, STR_NULL, STR_NULL, WAIT_MS, members);
}

/* What the daemon said of an action is printed as JSON, or not at all. */
static int say(const struct acting *act, const struct value *v)
{
    if (v != NULL && !str_is_null(act->srv->json))
        cli_print_json(v);
    return v != NULL ? CLI_OK : CLI_FAILED;
}

static int run_pause(const struct acting *act)
{
    return say(act, post(act, "pause", "", CLI_ONE_SUB));
}

static int run_resume(const struct acting *act)
{
    return say(act, post(act, "resume", "from", CLI_ONE_SUB));
}

static int run_replay(const struct acting *act)
{
    return say(act, post(act, "replay", "from", CLI_ONE_SUB));
}

static int run_skip(const struct acting *act)
{
    return say(act, post(act, "skip", "to", CLI_ONE_SUB));
}

static int run_retry_dead(const struct acting *act)
{
    return say(act, post(act, "retry-dead", "dead", CLI_ONE_SUB));
}

static int run_drop_dead(const struct acting *act)
{
    return say(act, post(act, "drop-dead", "dead", CLI_ONE_SUB));
}

/* Print a text on a line of its own, indented; nothing when it is empty. */
static void print_line(const char *before, struct str text)
{
    if (text.len == 0)
        return;
    fputs(before, stdout);
    cli_print_plain(text);
    putchar('\n');
}

static int run_test(const struct acting *act)
{
    struct value *v = post(act, "test", "", "status|answer|error");
    struct str error;

    if (v == NULL)
        return CLI_FAILED;
    if (!str_is_null(act->srv->json)) {
        cli_print_json(v);
    } else if (cli_is_terminal()) {
        printf("status %s\n", cli_text(act->a, v, "status"));
        print_line("answer ", value_get_textz(v, "answer"));
    } else {
        cli_print_cells(act->a, (const struct str[]){str_from(cli_text(act->a, v, "status")), value_get_textz(v, "answer")}, 2);
    }
    error = cli_plain(act->a, value_get_textz(v, "error"));
    return error.len == 0 ? CLI_OK : cli_fail(act->name, "%.*s", STR_ARG(error));
}

/* GET what is listed of the subscription, and print it. */
static int print_list(const struct acting *act, const char *name, const char *list,
                      const struct cli_column *columns, size_t n)
{
    struct str path = str_printf(act->a, "/sub/%s?id=%" PRId64, name, act->id);
    struct value *v =
        cli_call_json(act->name, act->srv, act->a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, list);
    const struct value *rows = value_get(v, str_from(list));
    struct cli_table *t = cli_table_new(act->a, columns, n);

    if (v == NULL)
        return CLI_FAILED;
    if (!str_is_null(act->srv->json)) {
        cli_print_list(act->a, rows, columns[0].key);
        return CLI_OK;
    }
    for (size_t i = 0; i < value_len(rows); i++)
        cli_table_add_value(t, value_at(rows, i));
    cli_table_print(t);
    return CLI_OK;
}

static int run_log(const struct acting *act)
{
    static const struct cli_column columns[] = {
        {"at", CELL_TIME, "at", 0},           {"try", CELL_NUMBER, "try", 0},
        {"entries", CELL_NUMBER, "n_entries", 0}, {"status", CELL_NUMBER, "status", 0},
        {"ms", CELL_NUMBER, "ms", 0},         {"verdict", CELL_STATE, "verdict", 0},
        {"error", CELL_TEXT, "error", 0}};

    return print_list(act, "log", "deliveries", columns, ARRAY_LEN(columns));
}

static int run_dead(const struct acting *act)
{
    static const struct cli_column columns[] = {
        {"dead", CELL_NUMBER, "dead", 0}, {"at", CELL_TIME, "at", 0},         {"status", CELL_NUMBER, "status", 0},
        {"uid", CELL_TEXT, "uid", 0},     {"answer", CELL_TEXT, "answer", 0}};

    return print_list(act, "dead", "dead", columns, ARRAY_LEN(columns));
}

/* The server ignores parameters that it does not know; here a wrong name is a mistake of somebody
 * who types. */
static bool is_settable(struct str name)
{
    return cli_is_word(name, cli_sub_settings) || str_starts(name, STR("header."));
}

static int run_set(const struct acting *act)
{
    struct str path = str_printf(act->a, "/sub?id=%" PRId64, act->id), form = STR("");

    for (int i = 0; i < act->n; i++) {
        struct str value = str_from(act->values[i]), name;
        ssize_t eq = str_chr(value, '=');

        if (eq <= 0)
            return cli_misuse(act->name, "\"%s\" is not NAME=VALUE, such as folder=News",
                              act->values[i]);
        name = str_slice(value, 0, (size_t)eq);
        if (!is_settable(name))
            return cli_unknown(act->name, "the setting", str_z(act->a, name), SETTINGS "|header.NAME");
        form = str_printf(act->a, "%.*s%s%.*s=%.*s", STR_ARG(form), i > 0 ? "&" : "",
                          STR_ARG(url_encode(act->a, name)),
                          STR_ARG(url_encode(act->a, str_slice(value, (size_t)eq + 1, value.len))));
    }
    return say(act, cli_call_json(act->name, act->srv, act->a, "PATCH", path, FORM, form, WAIT_MS, CLI_ONE_SUB));
}

static const struct action {
    const char *name, *args, *help;
    int min, max; /* values after the id */
    run_fn *run;
} actions[] = {
    {"pause", "ID", "push nothing until it is resumed", 0, 0, run_pause},
    {"resume", "ID [FROM]", "push again, also what was suspended", 0, 1, run_resume},
    {"replay", "ID FROM", "push again what came after a position, such as start", 1, 1, run_replay},
    {"skip", "ID [TO]", "leave out what came up to a position; default: end", 0, 1, run_skip},
    {"test", "ID", "call the endpoint once, and show what it answers", 0, 0, run_test},
    {"log", "ID", "show the last deliveries", 0, 0, run_log},
    {"dead", "ID", "show the entries that the endpoint refused for good", 0, 0, run_dead},
    {"retry-dead", "ID [DEAD]", "push these again: one, or all", 0, 1, run_retry_dead},
    {"drop-dead", "ID [DEAD]", "forget them: one, or all", 0, 1, run_drop_dead},
    {"set", "ID NAME=VALUE...", "change " SETTINGS "|header.NAME", 1, 100, run_set},
};

/* "add|rm|pause|...": all that may follow `sub`. Arena. */
static const char *action_names(struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_puts(&out, "add|rm");
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        buf_printf(&out, "|%s", actions[i].name);
    return str_z(a, buf_view(&out));
}

void cli_sub_actions_help(void)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        cli_print_action(i, actions[i].name, actions[i].args, actions[i].help);
}

int cli_sub_act(const struct cli_server *srv, struct arena *a, int argc, char **argv)
{
    struct acting act = {.name = argv[0], .srv = srv, .a = a, .n = argc - 3, .values = argv + 3};

    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (strcmp(argv[1], actions[i].name) == 0)
            act.action = &actions[i];
    if (act.action == NULL)
        return cli_unknown(argv[0], "the action", argv[1], action_names(a));
    if (argc < 3 || act.n < act.action->min || act.n > act.action->max)
        return cli_misuse(argv[0], "usage: feedmill %s %s %s (feedmill help %s explains it)",
                          argv[0], act.action->name, act.action->args, argv[0]);
    if (!cli_sub_id(argv[0], argv[2], &act.id))
        return CLI_USAGE;
    return act.action->run(&act);
}
