/* server/cli_subs.c - sub and tail: subscriptions, and the log as it grows. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "feed/json.h"
#include "net/url.h"
#include "server/cli.h"

#define WAIT_MS 60000
#define POLL_S 50
#define FORM STR("application/x-www-form-urlencoded")

static int list_subs(const struct cli_server *srv, struct arena *a, const char *name)
{
    struct value *v, *subs;

    v = cli_call_json(name, srv, a, "GET", STR("/sub?type=json"), STR_NULL, STR_NULL, WAIT_MS);
    if (v == NULL)
        return 1;
    subs = value_getz(v, "subscriptions");
    for (size_t i = 0; i < value_len(subs); i++) {
        const struct value *s = value_at(subs, i), *urls = value_getz(s, "urls");
        struct str endpoint = value_get_textz(s, "endpoint");
        struct str error = value_get_textz(s, "last_error");
        printf("%" PRId64 " %.*s -> %.*s\n", value_get_int(s, STR("id"), 0),
               STR_ARG(value_get_textz(s, "state")),
               STR_ARG(endpoint.len > 0 ? endpoint : STR("(listed only)")));
        if (error.len > 0) {
            fputs("    error: ", stdout);
            cli_print_plain(error);
            putchar('\n');
        }
        for (size_t k = 0; k < value_len(urls); k++) {
            fputs("    ", stdout);
            cli_print_plain(value_at(urls, k)->s);
            putchar('\n');
        }
    }
    return 0;
}

static int add_sub(const struct cli_server *srv, struct arena *a, struct str from, int argc,
                   char **argv)
{
    struct buf form = BUF_INIT(BUF_ANY);
    struct value *v;

    buf_puts(&form, "endpoint=");
    buf_str(&form, url_encode(a, str_from(argv[2])));
    if (!str_is_null(from)) {
        buf_puts(&form, "&from=");
        buf_str(&form, url_encode(a, from));
    }
    for (int k = 3; k < argc; k++) {
        buf_puts(&form, "&url=");
        buf_str(&form, url_encode(a, str_from(argv[k])));
    }
    v = cli_call_json(argv[0], srv, a, "POST", STR("/sub"), FORM, buf_view(&form), WAIT_MS);
    buf_release(&form);
    if (v == NULL)
        return 1;
    printf("subscription %" PRId64 "\n", value_get_int(v, STR("id"), 0));
    return 0;
}

/* One call about subscription argv[2], with feed URLs argv[3..]. */
static int change_sub(const struct cli_server *srv, struct arena *a, const char *method,
                      const char *action, int argc, char **argv)
{
    struct buf path = BUF_INIT(BUF_ANY);
    struct cli_answer answer = {0};
    bool ok;

    buf_printf(&path, "/sub?id=%.*s", STR_ARG(url_encode(a, str_from(argv[2]))));
    buf_puts(&path, action);
    for (int k = 3; k < argc; k++) {
        buf_puts(&path, "&url=");
        buf_str(&path, url_encode(a, str_from(argv[k])));
    }
    ok = cli_call(argv[0], srv, a, method, buf_view(&path), STR_NULL, STR_NULL, WAIT_MS, &answer);
    buf_release(&path);
    return ok ? 0 : 1;
}

int cli_sub(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str from = STR_NULL;
    const struct cli_flag flags[] = {{"--server", &srv.url, NULL, 0, NULL},
                                     {"--token", &srv.token, NULL, 0, NULL},
                                     {"--from", &from, NULL, 0, NULL}};

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (argc == 1)
        return list_subs(&srv, &a, argv[0]);
    if (strcmp(argv[1], "add") == 0 && argc >= 4)
        return add_sub(&srv, &a, from, argc, argv);
    if (strcmp(argv[1], "rm") == 0 && argc >= 3)
        return change_sub(&srv, &a, "DELETE", "", argc, argv);
    if (strcmp(argv[1], "resume") == 0 && argc == 3)
        return change_sub(&srv, &a, "POST", "&action=resume", argc, argv);
    return cli_usage(argv[0]);
}

static void print_revision(const struct value *r)
{
    const struct value *e = value_getz(r, "entry");
    struct str title = value_get_textz(e, "title"), link = value_get_textz(e, "link");

    printf("%" PRId64 " %.*s %.*s\n    ", value_get_int(r, STR("seq"), 0),
           STR_ARG(value_get_textz(r, "kind")), STR_ARG(value_get_textz(r, "url")));
    cli_print_plain(title);
    if (link.len > 0) {
        fputs(" <", stdout);
        cli_print_plain(link);
        putchar('>');
    }
    putchar('\n');
}

int cli_tail(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(arena_release) struct arena keep = ARENA_INIT;
    struct cli_server srv = {0};
    struct str since = STR_NULL;
    const struct cli_flag flags[] = {{"--server", &srv.url, NULL, 0, NULL},
                                     {"--token", &srv.token, NULL, 0, NULL},
                                     {"--since", &since, NULL, 0, NULL}};
    struct str feeds;
    struct buf b = BUF_INIT(BUF_ANY);
    int64_t seq = -1;

    if (!cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags)))
        return 2;
    if (!str_is_null(since) && (!str_to_i64(since, &seq) || seq < 0))
        return cli_fail(argv[0], "--since: \"%.*s\" is no position in the log (a number from 0 on)",
                        STR_ARG(since));
    for (int k = 1; k < argc; k++) {
        buf_puts(&b, "&url=");
        buf_str(&b, url_encode(&keep, str_from(argv[k])));
    }
    feeds = str_dup(&keep, buf_view(&b));
    buf_release(&b);
    for (;;) {
        struct value *v, *items;
        struct str path =
            seq < 0 ? str_printf(&a, "/log?since=end&max=0%.*s", STR_ARG(feeds)) /* where is it? */
                    : str_printf(&a, "/log?since=%" PRId64 "&timeout=%d%.*s", seq, POLL_S,
                                 STR_ARG(feeds));
        v = cli_call_json(argv[0], &srv, &a, "GET", path, STR_NULL, STR_NULL, 2 * WAIT_MS);
        if (v == NULL)
            return 1;
        items = value_getz(v, "revisions");
        for (size_t i = 0; i < value_len(items); i++)
            print_revision(value_at(items, i));
        fflush(stdout);
        seq = value_get_int(v, STR("seq"), seq < 0 ? 0 : seq); /* one answer may not hold all */
        arena_release(&a);
    }
}
