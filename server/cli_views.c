/* server/cli_views.c - the commands views and search: named views, and entries by their words. */
#include <stdio.h>

#include "base/buf.h"
#include "base/map.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 60000

/* ---- views ---- */

int cli_views(int argc, char **argv)
{
    static const struct cli_column columns[] = {{"name", CELL_NAME, "name", 0},
                                                {"changed", CELL_TIME, "changed", 0},
                                                {"title", CELL_TEXT, "title", 1},
                                                {"address", CELL_TEXT, "self", 0}};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(srv)};
    const struct value *views;
    struct cli_table *t;
    struct value *v;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc != 1)
        return cli_usage(argv[0]);
    v = cli_call_json(argv[0], &srv, &a, "GET", STR(PATH_VIEW), STR_NULL, STR_NULL, WAIT_MS, "views");
    if (v == NULL)
        return CLI_FAILED;
    views = value_getz(v, "views");
    if (!str_is_null(srv.json)) {
        cli_print_list(&a, views, "name|title|self|created|changed|url|folder|sub|view|all|q");
        return CLI_OK;
    }
    t = cli_table_new(&a, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < value_len(views); i++)
        cli_table_add_value(t, value_at(views, i));
    cli_table_print(t);
    return CLI_OK;
}

/* ---- search ---- */

/* "q=some%20words" and what else the request says. */
static struct str question(struct arena *a, struct str feeds, struct str len, int argc, char **argv)
{
    AUTO(buf_release) struct buf words = BUF_INIT(BUF_ANY);

    for (int k = 1; k < argc; k++) {
        buf_puts(&words, k > 1 ? " " : "");
        buf_puts(&words, argv[k]);
    }
    return str_printf(a, PATH_FEEDS "?type=json&content=none&len=%.*s&%.*s&q=%.*s",
                      STR_ARG(url_encode(a, len)), STR_ARG(feeds),
                      STR_ARG(url_encode(a, buf_view(&words))));
}

/* The titles of feeds by their URLs, as GET /sub/feed has them. */
struct titles {
    const struct cli_server *srv;
    struct arena *a;
    struct map known; /* URL -> struct str */
    bool is_refused;  /* this caller may read, and is not told of feeds */
};

/* The title by which people know the feed of an entry: their own name for it, or the publisher's. */
static struct str title_of_feed(struct titles *t, const struct value *source)
{
    struct str url = value_get_textz(source, "href"), *title;
    const struct value *feed;
    int status;

    if (url.len == 0 || t->is_refused)
        return value_get_textz(source, "title");
    if ((title = map_get(&t->known, url)) != NULL)
        return *title;
    title = ARENA_NEW(t->a, struct str);
    feed = cli_ask_feed(t->srv, t->a, url, &status);
    t->is_refused = feed == NULL && status != 404;
    *title = value_get_textz(value_get_textz(feed, "title").len > 0 ? feed : source, "title");
    map_put(&t->known, url, title);
    return *title;
}

static void print_found(const struct cli_server *srv, struct arena *a, const struct value *entries)
{
    static const struct cli_column columns[] = {{"date", CELL_TIME, NULL, 0},
                                                {"title", CELL_TEXT, NULL, 0},
                                                {"feed", CELL_TEXT, NULL, 1},
                                                {"link", CELL_TEXT, NULL, 0}};
    struct cli_table *t = cli_table_new(a, columns, ARRAY_LEN(columns));
    struct titles titles = {.srv = srv, .a = a};

    for (size_t i = 0; i < value_len(entries); i++) {
        const struct value *e = value_at(entries, i), *source = value_getz(e, "source");
        const struct str cells[] = {cli_entry_date(a, e), value_get_textz(e, "title"),
                                    title_of_feed(&titles, source), value_get_textz(e, "link")};

        cli_table_add(t, cells);
    }
    map_forget(&titles.known);
    cli_table_print(t);
}

int cli_search(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str len = STR("50"), folder = STR_NULL, view = STR_NULL, feeds;
    const struct cli_flag flags[] = {
        {"--len", "N", "At most so many entries, the newest first; default: 50.", &len, NULL, 0, NULL},
        {"--folder", "A/B", "Only in the feeds of this folder.", &folder, NULL, 0, NULL},
        {"--view", "NAME", "Only in this named view.", &view, NULL, 0, NULL},
        CLI_SERVER_FLAGS(srv)};
    const struct value *entries;
    struct value *v;
    int code;

    if ((code = cli_take_flags_of_words(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc < 2)
        return cli_usage(argv[0]);
    feeds = !str_is_null(view)     ? str_printf(&a, "view=%.*s", STR_ARG(url_encode(&a, view)))
            : !str_is_null(folder) ? str_printf(&a, "folder=%.*s", STR_ARG(url_encode(&a, folder)))
                                   : STR("all=1");
    v = cli_call_json(argv[0], &srv, &a, "GET", question(&a, feeds, len, argc, argv), STR_NULL,
                      STR_NULL, WAIT_MS, "entries");
    if (v == NULL)
        return CLI_FAILED;
    entries = value_getz(v, "entries");
    if (!str_is_null(srv.json))
        cli_print_list(&a, entries, "id|title|link|published|updated|authors|source");
    else if (value_len(entries) == 0 && cli_is_terminal())
        puts("Nothing matches.");
    else
        print_found(&srv, &a, entries);
    return CLI_OK;
}
