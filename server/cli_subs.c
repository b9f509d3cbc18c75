/* server/cli_subs.c - the commands sub and rm: subscriptions. */
#include <inttypes.h>
#include <stdio.h>

#include "api/http/parameters.h"
#include "api/views/filtering.h"
#include "base/buf.h"
#include "base/map.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 60000
#define FORM STR(MEDIA_URLENCODED)

/* ---- sub ---- */

/* The conditions, by the names of their parameters. */
static struct str conditions_text(struct arena *a, const struct value *filter)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < value_len(filter); i++) {
        const struct value *v = filter->members[i].val;

        for (size_t k = 0; k < (v->kind == VAL_LIST ? value_len(v) : 1); k++)
            buf_printf(&out, "%s%.*s=%.*s", out.len > 0 ? " " : "", STR_ARG(filter->members[i].key),
                       STR_ARG(v->kind == VAL_LIST ? value_at(v, k)->s : v->s));
    }
    return str_dup(a, buf_view(&out));
}

static struct str urls_text(struct arena *a, const struct value *urls)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    if (cli_is_terminal() && value_len(urls) > 1) /* most are cut off */
        buf_printf(&out, "(%zu) ", value_len(urls));
    for (size_t k = 0; k < value_len(urls); k++)
        buf_printf(&out, "%s%.*s", k > 0 ? " " : "", STR_ARG(value_at(urls, k)->s));
    return str_dup(a, buf_view(&out));
}

static const struct cli_column sub_columns[] = {
    {"sub", CELL_NUMBER, NULL, 0},    {"state", CELL_STATE, NULL, 0}, {"sink", CELL_NAME, NULL, 1},
    {"endpoint", CELL_TEXT, NULL, 0}, {"lag", CELL_NUMBER, NULL, 0},  {"age", CELL_SPAN, NULL, 1},
    {"dead", CELL_NUMBER, NULL, 0},   {"feeds", CELL_TEXT, NULL, 1},  {"filter", CELL_TEXT, NULL, 0},
    {"error", CELL_TEXT, NULL, 0}};
#define NOTES 2 /* the last columns, which a terminal has below the row */

static void add_sub_row(struct arena *a, struct cli_table *t, const struct value *s)
{
    bool pushes = value_get_textz(s, "endpoint").len > 0;
    struct str error = value_get_textz(s, "last_error");
    struct str filter = conditions_text(a, value_getz(s, "filter"));
    const struct str cells[] = {str_from(cli_text(a, s, "id")),
                                str_from(cli_text(a, s, "state")),
                                pushes ? str_from(cli_text(a, s, "sink")) : STR_NULL,
                                value_get_textz(s, "endpoint"),
                                str_from(cli_text(a, s, "lag")),
                                str_from(cli_text(a, s, "lag_s")),
                                str_from(cli_text(a, s, "dead")),
                                urls_text(a, value_getz(s, "urls")),
                                filter,
                                error};

    cli_table_add(t, cells);
    if (cli_is_terminal())
        cli_table_note(t, error.len > 0 ? "error: " : "filter: ", error.len > 0 ? error : filter);
}

static int list_subs(const struct cli_server *srv, struct arena *a, const char *name)
{
    struct value *v, *subs;
    struct cli_table *t;

    v = cli_call_json(name, srv, a, "GET", STR(PATH_SUB "?type=json"), STR_NULL, STR_NULL, WAIT_MS, CLI_ALL_SUBS);
    if (v == NULL)
        return CLI_FAILED;
    subs = value_getz(v, "subscriptions");
    if (!str_is_null(srv->json)) {
        cli_print_list(a, subs, "id|endpoint|state");
        return CLI_OK;
    }
    t = cli_table_new(a, sub_columns, ARRAY_LEN(sub_columns) - (cli_is_terminal() ? NOTES : 0));
    for (size_t i = 0; i < value_len(subs); i++)
        add_sub_row(a, t, value_at(subs, i));
    cli_table_print(t);
    return CLI_OK;
}

/* Is this the name of a condition? The daemon ignores parameters that it does not know; here an
 * unknown one would be a filter that lets everything through. */
static bool is_condition(struct str name)
{
    for (size_t i = 0; i < n_filtering_params; i++)
        if (str_eqz(name, param_name(filtering_params[i])))
            return true;
    return false;
}

/* The names of the conditions: "q|author|...". Arena. */
static const char *condition_names(struct arena *a)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < n_filtering_params; i++)
        buf_printf(&out, "%s%s", i > 0 ? "|" : "", param_name(filtering_params[i]));
    return str_z(a, buf_view(&out));
}

/* CLI_OK: --filter has conditions only. Else it has said what is wrong. */
static int check_filter(struct arena *a, const char *name, struct str filter)
{
    while (!str_is_null(filter)) {
        struct str condition = str_split(&filter, '&'), key = str_split(&condition, '=');

        if (str_is_null(condition))
            return cli_misuse(name, "--filter has \"%.*s\", which is not NAME=VALUE, such as q=crane",
                              STR_ARG(key));
        if (!is_condition(key))
            return cli_unknown(name, "in --filter the condition", str_z(a, key), condition_names(a));
    }
    return CLI_OK;
}

/* The secret of a webhook is told only now. */
static int add_sub(const struct cli_server *srv, struct arena *a, struct str from, struct str sink,
                   struct str filter, int argc, char **argv)
{
    struct str endpoint = cli_url(a, str_from(argv[2]));
    struct str form = str_printf(a, "endpoint=%.*s&%.*s", STR_ARG(url_encode(a, endpoint)),
                                 STR_ARG(cli_urls_query(a, 3, argc, argv)));
    struct str secret;
    struct value *v;

    if (check_filter(a, argv[0], filter) != CLI_OK)
        return CLI_USAGE;
    if (!str_is_null(sink))
        form = str_printf(a, "%.*s&sink=%.*s", STR_ARG(form), STR_ARG(url_encode(a, sink)));
    if (!str_is_null(filter))
        form = str_printf(a, "%.*s&%.*s", STR_ARG(form), STR_ARG(filter));
    if (!str_is_null(from))
        form = str_printf(a, "%.*s&from=%.*s", STR_ARG(form), STR_ARG(url_encode(a, from)));
    v = cli_call_json(argv[0], srv, a, "POST", STR(PATH_SUB), FORM, form, WAIT_MS, "id|urls");
    if (v == NULL)
        return CLI_FAILED;
    if (!str_is_null(srv->json)) {
        cli_complete(a, v, "id|endpoint|urls|secret");
        cli_print_json(v);
        return CLI_OK;
    }
    secret = value_get_textz(v, "secret");
    if (!cli_is_terminal()) {
        cli_print_cells(a, (const struct str[]){str_from(cli_text(a, v, "id")), secret}, 2);
        return CLI_OK;
    }
    printf("subscription %" PRId64 "\n", value_get_int(v, STR("id"), 0));
    if (secret.len > 0)
        printf("secret %.*s\n", STR_ARG(secret));
    return CLI_OK;
}

/* DELETE /sub: end the whole subscription, or with `url` only one feed of it. */
static bool end_sub(const char *name, const struct cli_server *srv, struct arena *a, int64_t id,
                    struct str url)
{
    struct str path = str_printf(a, PATH_SUB "?id=%" PRId64, id);
    struct cli_answer answer;

    if (!str_is_null(url))
        path = str_printf(a, "%.*s&url=%.*s", STR_ARG(path), STR_ARG(url_encode(a, url)));
    return cli_call(name, srv, a, "DELETE", path, STR_NULL, STR_NULL, WAIT_MS, CLI_NOTHING, &answer);
}

/* The URL by which a subscription has a feed. `typed`: what the user typed; `feed`: the feed that
 * it names, or NULL. Null: the subscription does not have this feed. */
static struct str url_in(struct arena *a, const struct value *sub, struct str typed,
                         const struct value *feed)
{
    const struct value *urls = value_getz(sub, "urls"), *ids = value_getz(sub, "feeds");

    for (size_t i = 0; i < value_len(urls); i++)
        if (cli_same_address(a, typed, value_at(urls, i)->s) ||
            (feed != NULL && value_at(ids, i)->i == value_get_int(feed, STR("id"), 0)))
            return value_at(urls, i)->s;
    return STR_NULL;
}

/* End this feed of the subscription, unless this command has already ended it (`ended`). A command
 * may name a feed twice, for example by its URL and by its id. */
static bool end_once(const char *name, const struct cli_server *srv, struct arena *a,
                     struct map *ended, int64_t id, struct str url, bool *is_first)
{
    struct str key = str_printf(a, "%" PRId64 " %.*s", id, STR_ARG(url));

    *is_first = map_get(ended, key) == NULL;
    if (!*is_first)
        return true;
    map_put(ended, key, a);
    return end_sub(name, srv, a, id, url);
}

/* End the feeds argv[3], argv[4] and so on of subscription `id`. If it does not have one of them,
 * none is ended. */
static int end_feeds(const struct cli_server *srv, struct arena *a, int64_t id, int argc,
                     char **argv)
{
    struct value *v =
        cli_call_json(argv[0], srv, a, "GET", str_printf(a, PATH_SUB "?type=json&id=%" PRId64, id),
                      STR_NULL, STR_NULL, WAIT_MS, CLI_ALL_SUBS);
    struct str *urls = ARENA_ARRAY(a, struct str, (size_t)argc);
    AUTO(map_forget) struct map ended = MAP_INIT;
    bool is_first;

    if (v == NULL)
        return CLI_FAILED;
    for (int k = 3; k < argc; k++) {
        struct str typed = str_from(argv[k]);

        urls[k] = url_in(a, value_at(value_getz(v, "subscriptions"), 0), typed,
                         cli_find_named(srv, a, v, typed));
        if (str_is_null(urls[k]))
            return cli_fail(argv[0], "subscription %" PRId64 " has no feed \"%s\"", id, argv[k]);
    }
    for (int k = 3; k < argc; k++)
        if (!end_once(argv[0], srv, a, &ended, id, urls[k], &is_first))
            return CLI_FAILED;
    return CLI_OK;
}

static int rm_sub(const struct cli_server *srv, struct arena *a, int64_t id, int argc, char **argv)
{
    int code = argc > 3 ? end_feeds(srv, a, id, argc, argv)
               : end_sub(argv[0], srv, a, id, STR_NULL) ? CLI_OK
                                                        : CLI_FAILED;

    if (code == CLI_OK && !str_is_null(srv->json))
        printf("{\"id\":%" PRId64 ",\"ended\":true}\n", id);
    return code;
}

bool cli_sub_id(const char *name, const char *typed, int64_t *id)
{
    if (str_to_i64(str_from(typed), id) && *id > 0)
        return true;
    cli_misuse(name,
               "\"%s\" is not the number of a subscription; \"feedmill sub\" lists them, "
               "and \"feedmill rm\" takes URLs",
               typed);
    return false;
}

int cli_sub(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str from = STR_NULL, sink = STR_NULL, filter = STR_NULL;
    const struct cli_flag flags[] = {
        {"--sink", "webhook",
         "With add: what the endpoint speaks: xmlrpc (default for http and https), webhook, amqp "
         "or "
         "xmpp. The secret that signs webhooks is printed now, and never again.",
         &sink, NULL, 0, NULL},
        {"--from", "start",
         "With add: also push the entries that are stored already. A position of the log is "
         "allowed, too: push the entries after it.",
         &from, NULL, 0, NULL},
        {"--filter", "'q=crane&lang=en'",
         "With add: push only entries that match: parameters of a filter, as in a URL.", &filter,
         NULL, 0, NULL},
        CLI_SERVER_FLAGS(srv)};
    int64_t id = 0;
    int code;

    code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));
    if (code == CLI_OK) /* it has printed the help */
        cli_sub_actions_help();
    if (code >= 0)
        return code;
    if ((argc == 1 || strcmp(argv[1], "add") != 0) &&
        (!str_is_null(from) || !str_is_null(sink) || !str_is_null(filter)))
        return cli_misuse(argv[0], "--from, --sink and --filter are flags of \"%s add\"", argv[0]);
    if (argc == 1)
        return list_subs(&srv, &a, argv[0]);
    if (strcmp(argv[1], "add") == 0 && argc >= 4)
        return add_sub(&srv, &a, from, sink, filter, argc, argv);
    if (strcmp(argv[1], "add") == 0)
        return cli_usage(argv[0]);
    if (strcmp(argv[1], "rm") != 0)
        return cli_sub_act(&srv, &a, argc, argv);
    if (argc < 3)
        return cli_usage(argv[0]);
    if (!cli_sub_id(argv[0], argv[2], &id))
        return CLI_USAGE;
    return rm_sub(&srv, &a, id, argc, argv);
}

/* ---- rm ---- */

static void tell_ended(struct arena *a, struct value *told, int64_t id, struct str url)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "id", value_int(a, id));
    value_set_textz(a, v, "url", url);
    value_push(a, told, v);
}

/* The subscription has the feed from a list, so it would come back. */
static void say_listed(const char *name, const char *typed, const struct value *sub)
{
    int64_t id = value_get_int(sub, STR("id"), 0);

    (void)cli_fail(name,
                   "\"%s\" stays in subscription %" PRId64 ", which has it from the list %.*s; \"feedmill sub rm %" PRId64
                   "\" ends that subscription",
                   typed, id, STR_ARG(value_get_textz(value_getz(sub, "list"), "url")), id);
}

/* End all subscriptions that only list this feed. Those with an endpoint belong to a receiver, and those that
 * follow a list get it from there; they are not ended, and the message names one of them.
 * `ended` is for end_once(). */
static int rm_feed(const char *name, const struct cli_server *srv, struct arena *a,
                   const struct value *all, const char *typed, struct map *ended,
                   struct value *told)
{
    const struct value *feed = cli_find_named(srv, a, all, str_from(typed));
    const struct value *subs = value_getz(all, "subscriptions");
    const struct value *listed = NULL;
    size_t n_ended = 0;
    int64_t pushed = 0;

    for (size_t i = 0; i < value_len(subs); i++) {
        const struct value *s = value_at(subs, i);
        int64_t id = value_get_int(s, STR("id"), 0);
        struct str url = url_in(a, s, str_from(typed), feed);
        bool is_first;

        if (str_is_null(url))
            continue;
        if (value_get_textz(s, "endpoint").len > 0) {
            pushed = id;
            continue;
        }
        if (value_get_textz(value_getz(s, "list"), "url").len > 0) {
            listed = s;
            continue;
        }
        if (!end_once(name, srv, a, ended, id, url, &is_first))
            return CLI_FAILED;
        n_ended++;
        if (!is_first)
            continue;
        tell_ended(a, told, id, url);
        if (!str_is_null(srv->json))
            continue;
        cli_print_deed(a, "subscription", id, "ended", url);
    }
    if (listed != NULL)
        say_listed(name, typed, listed);
    if (n_ended > 0 || listed != NULL)
        return n_ended > 0 ? CLI_OK : CLI_FAILED;
    if (pushed != 0)
        return cli_fail(name,
                        "\"%s\" is pushed to an endpoint only; \"feedmill sub rm %" PRId64
                        "\" ends that subscription",
                        typed, pushed);
    return cli_fail(name, "no subscription has a feed \"%s\"; \"feedmill ls\" lists them", typed);
}

int cli_rm(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(srv)};
    AUTO(map_forget) struct map ended = MAP_INIT;
    struct value *all, *told = value_list(&a);
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc < 2)
        return cli_usage(argv[0]);
    all = cli_call_json(argv[0], &srv, &a, "GET", STR(PATH_SUB "?type=json"), STR_NULL, STR_NULL,
                        WAIT_MS, CLI_ALL_SUBS);
    if (all == NULL)
        return CLI_FAILED;
    code = CLI_OK;
    for (int k = 1; k < argc; k++)
        if (rm_feed(argv[0], &srv, &a, all, argv[k], &ended, told) != CLI_OK)
            code = CLI_FAILED;
    if (!str_is_null(srv.json))
        cli_print_json(told);
    return code;
}
