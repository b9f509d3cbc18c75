/* server/cli_feeds.c - add, ls, show, get, import, export: feeds through the daemon's own API. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "feed/json.h"
#include "net/url.h"
#include "server/cli.h"

#define WAIT_MS 60000
#define FORM STR("application/x-www-form-urlencoded")

#define SERVER_FLAGS(srv)                                                                          \
    {"--server", &(srv).url, NULL, 0, NULL},                                                       \
    {                                                                                              \
        "--token", &(srv).token, NULL, 0, NULL                                                     \
    }

/* "url=A&url=B..." of the operands argv[from..argc). */
static struct str urls_query(struct arena *a, int from, int argc, char **argv)
{
    struct buf b = BUF_INIT(BUF_ANY);
    struct str s;

    for (int k = from; k < argc; k++) {
        buf_puts(&b, k == from ? "url=" : "&url=");
        buf_str(&b, url_encode(a, str_from(argv[k])));
    }
    s = str_dup(a, buf_view(&b));
    buf_release(&b);
    return s;
}

static struct str with_field(struct arena *a, struct str form, const char *name, struct str value)
{
    return str_is_null(value)
               ? form
               : str_printf(a, "%.*s&%s=%.*s", STR_ARG(form), name, STR_ARG(url_encode(a, value)));
}

int cli_add(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str freq = STR_NULL, title = STR_NULL, folder = STR_NULL, raw = STR_NULL, form;
    const struct cli_flag flags[] = {SERVER_FLAGS(srv),
                                     {"--freq", &freq, NULL, 0, NULL},
                                     {"--title", &title, NULL, 0, NULL},
                                     {"--folder", &folder, NULL, 0, NULL},
                                     {"--no-sanitize", &raw, NULL, 1, NULL}};
    struct value *v;

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc < 2)
        return cli_usage(argv[0]);
    form = urls_query(&a, 1, argc, argv);
    form = with_field(&a, form, "freq", freq);
    form = with_field(&a, form, "title", title);
    form = with_field(&a, form, "folder", folder);
    form = with_field(&a, form, "sanitize", str_is_null(raw) ? STR_NULL : STR("no"));
    v = cli_call_json(argv[0], &srv, &a, "POST", STR("/sub"), FORM, form, WAIT_MS);
    if (v == NULL)
        return 1;
    printf("subscription %" PRId64 ": %d feed%s\n", value_get_int(v, STR("id"), 0), argc - 1,
           argc == 2 ? "" : "s");
    return 0;
}

static const char *or_dash(struct arena *a, const struct value *v, const char *key)
{
    const struct value *m = value_get(v, str_from(key));

    if (m == NULL || m->kind == VAL_NULL)
        return "-";
    if (m->kind == VAL_BOOL)
        return m->b ? "yes" : "no";
    if (m->kind == VAL_INT)
        return arena_printf(a, "%" PRId64, m->i);
    return m->kind == VAL_TEXT && m->s.len > 0 ? str_z(a, m->s) : "-";
}

/* The level, or the exact period. */
static const char *pace(struct arena *a, const struct value *feed)
{
    const char *level = or_dash(a, feed, "level");

    return strcmp(level, "-") != 0
               ? level
               : arena_printf(a, "%" PRId64 "s", value_get_int(feed, STR("period"), 0));
}

int cli_ls(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str all = STR_NULL;
    const struct cli_flag flags[] = {SERVER_FLAGS(srv), {"--all", &all, NULL, 1, NULL}};
    struct value *v, *feeds;

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc != 1)
        return cli_usage(argv[0]);
    v = cli_call_json(argv[0], &srv, &a, "GET",
                      str_is_null(all) ? STR("/sub?type=json") : STR("/sub?type=json&all=1"),
                      STR_NULL, STR_NULL, WAIT_MS);
    if (v == NULL)
        return 1;
    feeds = value_getz(v, "feeds");
    printf("%-5s %-8s %-6s %-5s %-20s %-20s %-11s %s\n", "id", "state", "level", "http",
           "last fetch", "next fetch", "why", "feed");
    for (size_t i = 0; i < value_len(feeds); i++) {
        const struct value *f = value_at(feeds, i);
        const char *error = or_dash(&a, f, "last_error");
        printf("%-5s %-8s %-6s %-5s %-20s %-20s %-11s ", or_dash(&a, f, "id"),
               or_dash(&a, f, "state"), pace(&a, f), or_dash(&a, f, "status"),
               or_dash(&a, f, "last_check"), or_dash(&a, f, "next_check"),
               or_dash(&a, f, "next_reason"));
        cli_print_plain(str_from(or_dash(&a, f, "url")));
        if (strcmp(error, "-") != 0) {
            fputs("\n      error: ", stdout);
            cli_print_plain(str_from(error));
        }
        putchar('\n');
    }
    return 0;
}

/* The record named by id or URL among all feeds. */
static const struct value *find_record(const struct value *all, struct str name)
{
    const struct value *feeds = value_getz(all, "feeds");
    int64_t id = 0;
    bool by_id = str_to_i64(name, &id);

    for (size_t i = 0; i < value_len(feeds); i++) {
        const struct value *f = value_at(feeds, i);
        if (by_id ? value_get_int(f, STR("id"), 0) == id
                  : str_eq(value_get_textz(f, "url"), name) ||
                        str_eq(value_get_textz(f, "page_url"), name))
            return f;
    }
    return NULL;
}

int cli_show(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {SERVER_FLAGS(srv)};
    struct url_parts parts;
    struct str name;
    struct value *all, *doc, *entries;
    const struct value *f;

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc != 2)
        return cli_usage(argv[0]);
    all = cli_call_json(argv[0], &srv, &a, "GET", STR("/sub?type=json&all=1"), STR_NULL, STR_NULL,
                        WAIT_MS);
    if (all == NULL)
        return 1;
    name = str_from(argv[1]);
    if (url_parse(&a, name, &parts, NULL) == RC_OK)
        name = parts.url;
    if ((f = find_record(all, name)) == NULL)
        return cli_fail(argv[0], "no feed \"%s\" is known; feedmill ls --all lists them", argv[1]);
    for (uint32_t i = 0; i < f->len; i++) {
        printf("%-14.*s ", STR_ARG(f->members[i].key));
        cli_print_plain(str_from(or_dash(&a, f, str_z(&a, f->members[i].key))));
        putchar('\n');
    }
    if (value_get_int(f, STR("entries"), 0) == 0)
        return 0;
    doc = cli_call_json(argv[0], &srv, &a, "GET",
                        str_printf(&a, "/feed?type=json&len=10&url=%.*s",
                                   STR_ARG(url_encode(&a, value_get_textz(f, "url")))),
                        STR_NULL, STR_NULL, WAIT_MS);
    if (doc == NULL)
        return 1;
    puts("newest entries");
    entries = value_getz(doc, "entries");
    for (size_t i = 0; i < value_len(entries); i++) {
        const struct value *e = value_at(entries, i);
        printf("  %-25s ", or_dash(&a, e, "updated"));
        cli_print_plain(str_from(or_dash(&a, e, "title")));
        fputs("\n    ", stdout);
        cli_print_plain(str_from(or_dash(&a, e, "link")));
        putchar('\n');
    }
    return 0;
}

/* Call, and copy the body to standard output. */
static int print_body(const char *name, const struct cli_server *srv, struct arena *a,
                      struct str path)
{
    struct cli_answer answer = {0};

    if (!cli_call(name, srv, a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, &answer))
        return 1;
    if (fwrite(answer.body.ptr, 1, answer.body.len, stdout) != answer.body.len)
        return cli_fail(name, "standard output cannot be written");
    if (!str_ends(answer.body, STR("\n")))
        putchar('\n');
    return 0;
}

int cli_get(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str type = STR("atom"), len = STR("50");
    const struct cli_flag flags[] = {
        SERVER_FLAGS(srv), {"--type", &type, NULL, 0, NULL}, {"--len", &len, NULL, 0, NULL}};

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc < 2)
        return cli_usage(argv[0]);
    return print_body(argv[0], &srv, &a,
                      str_printf(&a, "/%s?type=%.*s&len=%.*s&%.*s", argc == 2 ? "feed" : "feeds",
                                 STR_ARG(url_encode(&a, type)), STR_ARG(url_encode(&a, len)),
                                 STR_ARG(urls_query(&a, 1, argc, argv))));
}

/* "list http://..., outline 3 (ftp://...), freq: why" */
static void say_problem(const char *name, struct arena *a, const struct value *p)
{
    struct str list = value_get_textz(p, "list"), setting = value_get_textz(p, "setting");
    int64_t outline = value_get_int(p, STR("outline"), 0);
    struct str where = STR("");

    if (!str_is_null(list))
        where = str_printf(a, "list %.*s", STR_ARG(list));
    if (outline > 0)
        where = str_printf(a, "%.*s%soutline %" PRId64 " (%.*s)", STR_ARG(where),
                           where.len > 0 ? ", " : "", outline, STR_ARG(value_get_textz(p, "url")));
    if (!str_is_null(setting))
        where = str_printf(a, "%.*s, %.*s", STR_ARG(where), STR_ARG(setting));
    where = str_printf(a, "%.*s: %.*s", STR_ARG(where), STR_ARG(value_get_textz(p, "detail")));
    cli_fail(name, "%.*s", STR_ARG(cli_plain(a, where)));
}

/* What became of a list: one line, and one on standard error for each problem. */
static void say_import(const char *name, struct arena *a, const struct value *v)
{
    const struct value *problems = value_getz(v, "problems");
    int64_t doubles = value_get_int(v, STR("doubles"), 0);
    int64_t left_out = value_get_int(v, STR("left_out"), 0);
    int64_t n = value_get_int(v, STR("problem_count"), 0);

    printf("subscription %" PRId64 ": %zu feeds", value_get_int(v, STR("id"), 0),
           value_len(value_getz(v, "urls")));
    if (doubles > 0)
        printf(", %" PRId64 " named again", doubles);
    if (left_out > 0)
        printf(", %" PRId64 " left out", left_out);
    putchar('\n');
    for (size_t i = 0; i < value_len(problems); i++)
        say_problem(name, a, value_at(problems, i));
    if (n > (int64_t)value_len(problems))
        cli_fail(name, "and %" PRId64 " more", n - (int64_t)value_len(problems));
}

int cli_import(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(mem_autofree) char *bytes = NULL;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {SERVER_FLAGS(srv)};
    struct value *v;
    size_t len;

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc != 2)
        return cli_usage(argv[0]);
    if ((bytes = cli_read_file(argv[0], argv[1], LIMIT_REQUEST_BODY, &len)) == NULL)
        return 1;
    v = cli_call_json(argv[0], &srv, &a, "POST", STR("/sub"), STR("text/x-opml"),
                      str_of(bytes, len), WAIT_MS);
    if (v == NULL)
        return 1;
    say_import(argv[0], &a, v);
    return 0;
}

int cli_export(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {SERVER_FLAGS(srv)};

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc != 1)
        return cli_usage(argv[0]);
    return print_body(argv[0], &srv, &a, STR("/sub"));
}
