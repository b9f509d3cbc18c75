/* server/cli_feeds.c - the commands add, ls, get, import and export. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/format.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 60000
#define LIST_BYTES (256 * 1024 * 1024) /* of a list to import */
#define PART_LEN 1000 /* feeds of an answer */
#define FORM STR(MEDIA_URLENCODED)

static struct str with_field(struct arena *a, struct str form, const char *name, struct str value)
{
    return str_is_null(value)
               ? form
               : str_printf(a, "%.*s&%s=%.*s", STR_ARG(form), name, STR_ARG(url_encode(a, value)));
}

/* ---- add ---- */

/* From the answer to POST /sub: the id of the subscription that already has this URL; 0: none. */
static int64_t known_in(struct arena *a, const struct value *made, struct str url)
{
    const struct value *known = value_getz(made, "known");

    for (size_t i = 0; i < value_len(known); i++)
        if (cli_same_address(a, url, value_get_textz(value_at(known, i), "url")))
            return value_get_int(value_at(known, i), STR("id"), 0);
    return 0;
}

/* From the answer to GET /sub?id=N: the feed to which a URL of the subscription has led. */
static const struct value *feed_of(struct arena *a, const struct value *sub, struct str url)
{
    const struct value *s = value_at(value_getz(sub, "subscriptions"), 0);
    const struct value *urls = value_getz(s, "urls"), *ids = value_getz(s, "feeds");

    for (size_t i = 0; i < value_len(urls); i++)
        if (cli_same_address(a, url, value_at(urls, i)->s))
            return cli_find_feed(a, sub, str_printf(a, "%" PRId64, value_at(ids, i)->i));
    return NULL;
}

enum added { ADDED, KNOWN, FAILING };

/* Print one line: the feed, its title, and the page if the URL was that of a page. KNOWN: it was subscribed before. FAILING:
 * it could not be fetched, which was said; a program is told all the same what is subscribed. */
static void say_added(struct arena *a, int64_t sub, enum added what, const struct value *feed, struct str url)
{
    static const char *const words[] = {[ADDED] = "ok", [KNOWN] = "known", [FAILING] = "failing"};
    struct str title = value_get_textz(feed, "title"), own = value_get_textz(feed, "url");
    bool is_found = own.len > 0 && !cli_same_address(a, url, own);
    const struct str cells[] = {str_printf(a, "%" PRId64, sub), str_from(words[what]),
                                own.len > 0 ? own : url, title, is_found ? url : STR_NULL};
    const struct cli_piece pieces[] = {
        {CELL_TEXT, own.len > 0 ? own : url, 0},
        {CELL_TEXT, title.len > 0 ? title : STR("without a title"), 0},
        {CELL_TEXT, str_printf(a, "(found through %.*s)", STR_ARG(url)), 0}};

    if (!cli_is_terminal()) {
        cli_print_cells(a, cells, ARRAY_LEN(cells));
    } else if (what == KNOWN) {
        printf("  %.*s  subscribed already (subscription %" PRId64 ")\n", STR_ARG(cli_plain(a, url)), sub);
    } else if (what == ADDED) {
        cli_print_pieces(a, 2, pieces, is_found ? 3 : title.len > 0 ? 2 : 1);
    }
}

/* Wait until a subscribed URL has been fetched, and print the result. */
static bool follow_up(const char *name, const struct cli_server *srv, struct arena *a, int64_t sub,
                      struct str url)
{
    struct cli_answer answer;
    struct value *v;
    struct str asked = url, fetch =
        str_printf(a, PATH_FEED "?type=json&len=1&url=%.*s", STR_ARG(url_encode(a, url)));

    if (!cli_ask(srv, a, "GET", fetch, STR_NULL, STR_NULL, WAIT_MS, "entries", &answer)) {
        if (str_starts(answer.problem, url)) /* most problems of publishers name the URL */
            url = STR_NULL;
        cli_fail(name, "%.*s%s%.*s", STR_ARG(cli_plain(a, url)), url.len > 0 ? ": " : "",
                 STR_ARG(answer.problem));
        if (str_is_null(srv->json))
            say_added(a, sub, FAILING, NULL, asked);
        return false;
    }
    v = cli_call_json(name, srv, a, "GET", str_printf(a, PATH_SUB "?type=json&id=%" PRId64, sub),
                      STR_NULL, STR_NULL, WAIT_MS, CLI_ALL_SUBS);
    if (v == NULL)
        return false;
    if (!str_is_null(srv->json)) /* the subscription was told before */
        return true;
    say_added(a, sub, ADDED, feed_of(a, v, url), url);
    return true;
}

/* Print the result for each address. */
static int say_all(const char *name, const struct cli_server *srv, struct arena *a,
                   const struct value *made, bool has_settings, int argc, char **argv)
{
    int code = CLI_OK;

    for (int k = 1; k < argc; k++) {
        struct str url = cli_url(a, str_from(argv[k]));
        struct url_parts parts;
        int64_t known;

        if (url_parse(a, url, &parts, NULL) == RC_OK)
            url = parts.url;
        known = known_in(a, made, url);
        if (known == 0) {
            if (!follow_up(name, srv, a, value_get_int(made, STR("id"), 0), url))
                code = CLI_FAILED;
        } else if (has_settings) {
            code = cli_fail(name,
                            "%.*s is subscribed already (subscription %" PRId64 "), and its "
                            "settings stay as they are; to change them, end it with \"feedmill "
                            "rm\" first",
                            STR_ARG(url), known);
        } else if (str_is_null(srv->json)) {
            say_added(a, known, KNOWN, NULL, url);
        }
    }
    return code;
}

int cli_add(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str freq = STR_NULL, title = STR_NULL, folder = STR_NULL, raw = STR_NULL;
    struct str mirror = STR_NULL, form;
    const struct cli_flag flags[] = {
        {"--freq", "N",
         "How often to fetch: 0 (daily), 1 (every 30 minutes), 2 (every 5), or seconds.", &freq,
         NULL, 0, NULL},
        {"--title", "NAME", "A name of your own for the feed.", &title, NULL, 0, NULL},
        {"--folder", "A/B", "The folder in which it is listed.", &folder, NULL, 0, NULL},
        {"--no-sanitize", NULL, "Keep HTML as the publisher wrote it, scripts included.", &raw,
         NULL, 0, NULL},
        {"--mirror", NULL, "Keep copies of the files that its new entries name.", &mirror, NULL, 0,
         NULL},
        CLI_SERVER_FLAGS(srv)};
    struct value *made;
    size_t n_new;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc < 2)
        return cli_usage(argv[0]);
    form = str_concat(&a, STR("known=skip&"), cli_urls_query(&a, 1, argc, argv));
    form = with_field(&a, form, "freq", freq);
    form = with_field(&a, form, "title", title);
    form = with_field(&a, form, "folder", folder);
    form = with_field(&a, form, "sanitize", str_is_null(raw) ? STR_NULL : STR("no"));
    form = with_field(&a, form, "mirror", str_is_null(mirror) ? STR_NULL : STR("yes"));
    made = cli_call_json(argv[0], &srv, &a, "POST", STR(PATH_SUB), FORM, form, WAIT_MS, "id|urls");
    if (made == NULL)
        return CLI_FAILED;
    n_new = value_len(value_getz(made, "urls"));
    if (!str_is_null(srv.json)) {
        cli_complete(&a, made, "id|endpoint|urls|known");
        cli_print_json(made);
    } else if (n_new > 0 && cli_is_terminal())
        printf("subscription %" PRId64 ": %zu feed%s\n", value_get_int(made, STR("id"), 0), n_new,
               n_new == 1 ? "" : "s");
    fflush(stdout); /* publishers may take long to answer */
    return say_all(argv[0], &srv, &a, made,
                   !str_is_null(freq) || !str_is_null(title) || !str_is_null(folder) ||
                       !str_is_null(raw) || !str_is_null(mirror),
                   argc, argv);
}

/* ---- ls ---- */

/* The level, or the exact period. */
static const char *pace(struct arena *a, const struct value *feed)
{
    const char *level = cli_text(a, feed, "level");

    return strcmp(level, "-") != 0
               ? level
               : arena_printf(a, "%" PRId64 "s", value_get_int(feed, STR("period"), 0));
}

/* Fill *out: from the id of each feed to the ids of its subscriptions, as "1,4". */
static void read_subs(struct arena *a, const struct value *all, struct map *out)
{
    const struct value *subs = value_getz(all, "subscriptions");

    for (size_t i = 0; i < value_len(subs); i++) {
        const struct value *s = value_at(subs, i), *ids = value_getz(s, "feeds");
        int64_t sub = value_get_int(s, STR("id"), 0);

        for (size_t k = 0; k < value_len(ids); k++) {
            const int64_t *feed = &value_at(ids, k)->i;
            struct str key = str_of((const char *)feed, sizeof *feed);
            const char *before = map_get(out, key);

            map_put(out, key,
                    before == NULL ? arena_printf(a, "%" PRId64, sub)
                                   : arena_printf(a, "%s,%" PRId64, before, sub));
        }
    }
}

/* A narrow terminal keeps the title: by it a feed is known. */
static const struct cli_column feed_columns[] = {
    {"feed", CELL_NUMBER, NULL, 0},    {"sub", CELL_NAME, NULL, 1},   {"state", CELL_STATE, NULL, 0},
    {"level", CELL_NAME, NULL, 5},     {"http", CELL_NUMBER, NULL, 3}, {"last fetch", CELL_TIME, NULL, 2},
    {"next fetch", CELL_TIME, NULL, 0}, {"why", CELL_NAME, NULL, 6},   {"url", CELL_TEXT, NULL, 4},
    {"title", CELL_TEXT, NULL, 0},     {"error", CELL_TEXT, NULL, 0}};

/* For eyes: "1,4", or "1,+5" when there are many. */
static const char *few(struct arena *a, const char *subs)
{
    size_t first = subs == NULL ? 0 : strcspn(subs, ","), n = 0;

    if (subs == NULL || !cli_is_terminal() || strlen(subs) < 8)
        return subs;
    for (const char *p = subs; *p != '\0'; p++)
        n += *p == ',';
    return n == 0 ? subs : arena_printf(a, "%.*s,+%zu", (int)first, subs, n);
}

/* For eyes a feed without a title is known by its URL, which has a column only where there is room. */
static struct str name_of(const struct value *f)
{
    struct str title = value_get_textz(f, "title");

    return title.len > 0 || !cli_is_terminal() ? title : value_get_textz(f, "url");
}

/* Whether it is paused, or else how its last fetch went. */
static struct str state_of(const struct value *f)
{
    const struct value *paused = value_getz(f, "paused");

    return paused != NULL && paused->kind == VAL_BOOL && paused->b ? STR("paused") : value_get_textz(f, "state");
}

/* On a terminal an error has a line of its own. */
static void add_row(struct arena *a, struct cli_table *t, const struct value *f,
                    const struct map *subs)
{
    int64_t id = value_get_int(f, STR("id"), 0);
    const char *sub = map_get(subs, str_of((const char *)&id, sizeof id));
    struct str error = value_get_textz(f, "last_error");
    const struct str cells[] = {str_printf(a, "%" PRId64, id),
                                str_from(few(a, sub)),
                                state_of(f),
                                str_from(pace(a, f)),
                                str_from(cli_text(a, f, "status")),
                                value_get_textz(f, "last_check"),
                                value_get_textz(f, "next_check"),
                                str_from(cli_text(a, f, "next_reason")),
                                value_get_textz(f, "url"),
                                name_of(f),
                                error};

    cli_table_add(t, cells);
    if (cli_is_terminal())
        cli_table_note(t, "error: ", error);
}

/* What is to be listed. */
struct listing {
    struct str all, state, folder; /* flags; null: not given */
    struct str words;              /* empty: none */
    bool is_part;
    struct map ids; /* is_part: of the feeds that fit */
};

/* Take the ids of the feeds that fit: the daemon looks for them, as for the console. */
static bool find_part(const char *name, const struct cli_server *srv, struct arena *a, struct listing *l, bool subscribed)
{
    struct str asked = str_printf(a, PATH_SUB "/feeds?sort=url&len=%d&subscribed=%d", PART_LEN, subscribed ? 1 : 0);
    size_t n = 0, n_all = 1;

    asked = with_field(a, with_field(a, with_field(a, asked, "state", l->state), "folder", l->folder), "q",
                       l->words.len > 0 ? l->words : STR_NULL);
    for (const struct value *feeds = NULL; n < n_all; n += value_len(feeds)) {
        struct str path = n == 0 ? asked : str_printf(a, "%.*s&skip=%zu", STR_ARG(asked), n);
        const struct value *v = cli_call_json(name, srv, a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, "total|feeds");

        if (v == NULL)
            return false;
        feeds = value_getz(v, "feeds");
        n_all = value_len(feeds) == 0 ? 0 : (size_t)value_get_int(v, STR("total"), 0);
        for (size_t i = 0; i < value_len(feeds); i++) {
            int64_t *id = ARENA_NEW(a, int64_t);

            *id = value_get_int(value_at(feeds, i), STR("id"), 0);
            map_put(&l->ids, str_of((const char *)id, sizeof *id), id);
        }
    }
    return true;
}

static bool is_listed(const struct listing *l, const struct value *f)
{
    int64_t id = value_get_int(f, STR("id"), 0);

    return !l->is_part || map_get(&l->ids, str_of((const char *)&id, sizeof id)) != NULL;
}

/* For eyes, at the end of a long list: how many there are, and in which states. */
static void print_states(const struct value *feeds, bool is_part)
{
    static const char *const states[] = {"ok", "failing", "gone", "quota", "new", "paused"};
    size_t n_all = value_len(feeds);
    const char *before = ": ";

    if (n_all == 0) {
        puts(is_part ? "Nothing matches." : "There are no feeds yet; \"feedmill add URL\" subscribes to one.");
        return;
    }
    printf("%zu feed%s", n_all, n_all == 1 ? "" : "s");
    for (size_t k = 0; k < ARRAY_LEN(states); k++) {
        size_t n = 0;

        for (size_t i = 0; i < n_all; i++)
            n += str_eqz(state_of(value_at(feeds, i)), states[k]);
        if (n > 0)
            printf("%s%zu %s", before, n, states[k]);
        before = n > 0 ? ", " : before;
    }
    putchar('\n');
}

static int list(const char *name, const struct cli_server *srv, struct arena *a, struct listing *l)
{
    AUTO(map_forget) struct map subs = MAP_INIT;
    const struct value *all = cli_call_json(name, srv, a, "GET", str_is_null(l->all) ? STR(PATH_SUB "?type=json")
                                                                 : STR(PATH_SUB "?type=json&all=1"),
                                            STR_NULL, STR_NULL, WAIT_MS, CLI_ALL_SUBS);
    struct cli_table *t = cli_table_new(a, feed_columns, ARRAY_LEN(feed_columns) - (cli_is_terminal() ? 1 : 0));
    struct value *feeds = value_list(a);

    if (all == NULL || (l->is_part && !find_part(name, srv, a, l, true)) ||
        (l->is_part && !str_is_null(l->all) && !find_part(name, srv, a, l, false)))
        return CLI_FAILED;
    for (size_t i = 0; i < value_len(value_getz(all, "feeds")); i++)
        if (is_listed(l, value_at(value_getz(all, "feeds"), i)))
            value_push(a, feeds, value_at(value_getz(all, "feeds"), i));
    if (!str_is_null(srv->json)) {
        cli_print_list(a, feeds, CLI_FEED_MEMBERS);
        return CLI_OK;
    }
    read_subs(a, all, &subs);
    for (size_t i = 0; i < value_len(feeds); i++)
        add_row(a, t, value_at(feeds, i), &subs);
    cli_table_print(t);
    if (cli_is_terminal())
        print_states(feeds, l->is_part);
    return CLI_OK;
}

int cli_ls(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf words = BUF_INIT(BUF_ANY);
    struct cli_server srv = {0};
    struct listing l = {.all = STR_NULL, .state = STR_NULL, .folder = STR_NULL, .ids = MAP_INIT};
    const struct cli_flag flags[] = {
        {"--all", NULL, "Also feeds that nobody is subscribed to.", &l.all, NULL, 0, NULL},
        {"--state", "STATE", "Only feeds in this state: new, ok, failing, gone, quota or paused.", &l.state, NULL, 0, NULL},
        {"--folder", "A/B", "Only the feeds in this folder, or below it.", &l.folder, NULL, 0, NULL},
        CLI_SERVER_FLAGS(srv)};
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    for (int k = 1; k < argc; k++)
        buf_printf(&words, "%s%s", k > 1 ? " " : "", argv[k]);
    l.words = str_dup(&a, buf_view(&words));
    l.is_part = l.words.len > 0 || !str_is_null(l.state) || !str_is_null(l.folder);
    code = list(argv[0], &srv, &a, &l);
    map_forget(&l.ids);
    return code;
}

/* ---- get ---- */

/* Send a request, and write the body of the answer to standard output. */
static int print_body(const char *name, const struct cli_server *srv, struct arena *a,
                      struct str path, const char *wants)
{
    struct cli_answer answer;

    if (!cli_call(name, srv, a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, wants, &answer))
        return CLI_FAILED;
    cli_print_document(answer.body, answer.content_type);
    return CLI_OK;
}

/* What the document must be. The daemon refuses a format that is not known here. */
static const char *wanted_of(struct arena *a, struct str name)
{
    enum feed_format format = FORMAT_ATOM;

    (void)format_find(name, FORMAT_IS_OFFERED, &format);
    return format == FORMAT_JSON ? "entries" : str_z(a, format_bare_type(format));
}

int cli_get(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct str type = STR("atom"), len = STR("50"), feeds;
    char names[FORMAT_NAMES_MAX], formats[FORMAT_NAMES_MAX + 40];
    const struct cli_flag flags[] = {
        {"--type", "TYPE", formats, &type, NULL, 0, NULL},
        {"--len", "N", "At most so many entries; default: 50.", &len, NULL, 0, NULL},
        CLI_SERVER_FLAGS(srv)};
    int code;

    format_names(FORMAT_IS_OFFERED, names, sizeof names);
    snprintf(formats, sizeof formats, "The format: %s. Default: atom.", names);
    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc < 2)
        return cli_usage(argv[0]);
    if (!str_is_null(srv.json))
        type = STR("json");
    if (!cli_feeds_query(argv[0], &srv, &a, 1, argc, argv, &feeds))
        return CLI_FAILED;
    return print_body(argv[0], &srv, &a,
                      str_printf(&a, "/%s?type=%.*s&len=%.*s&%.*s", argc == 2 ? "feed" : "feeds",
                                 STR_ARG(url_encode(&a, type)), STR_ARG(url_encode(&a, len)),
                                 STR_ARG(feeds)),
                      wanted_of(&a, type));
}

/* ---- import and export ---- */

/* Print a problem of an import: "list http://..., outline 3 (ftp://...), freq: why". */
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

/* Print the result of an import: one line, and a line on standard error for each problem. */
static void say_import(const char *name, struct arena *a, const struct value *v)
{
    const struct value *problems = value_getz(v, "problems"), *ids = value_getz(v, "ids");
    int64_t doubles = value_get_int(v, STR("doubles"), 0);
    int64_t left_out = value_get_int(v, STR("left_out"), 0);
    int64_t n = value_get_int(v, STR("problem_count"), 0);

    size_t n_known = value_len(value_getz(v, "known"));

    printf("subscription%s %" PRId64, value_len(ids) > 1 ? "s" : "", value_get_int(v, STR("id"), 0));
    for (size_t i = 1; i < value_len(ids); i++)
        printf(", %" PRId64, value_at(ids, i)->i);
    printf(": %zu %s", value_len(value_getz(v, "urls")), value_len(value_getz(v, "urls")) == 1 ? "feed" : "feeds");
    if (n_known > 0)
        printf(", %zu subscribed already", n_known);
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

/* Follow the list at a URL. */
static int follow_list(const char *name, const struct cli_server *srv, struct arena *a,
                       struct str url, struct str folder, struct str freq)
{
    struct str form = str_printf(a, "opml=%.*s", STR_ARG(url_encode(a, url)));
    struct value *v;

    form = with_field(a, form, "folder", folder);
    form = with_field(a, form, "freq", freq);
    v = cli_call_json(name, srv, a, "POST", STR(PATH_SUB), FORM, form, WAIT_MS, "id|list");
    if (v == NULL)
        return CLI_FAILED;
    if (!str_is_null(srv->json)) {
        cli_complete(a, v, "id|endpoint|list");
        cli_print_json(v);
        return CLI_OK;
    }
    printf("subscription %" PRId64 ": follows ", value_get_int(v, STR("id"), 0));
    cli_print_plain(value_get_textz(v, "list"));
    putchar('\n');
    return CLI_OK;
}

/* How many feeds of the subscription have been fetched, of how many. False: that cannot be known. */
static bool count_fetched(const struct cli_server *srv, int64_t sub, size_t *n, size_t *all)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_answer answer;
    const struct value *feeds;

    if (!cli_ask(srv, &a, "GET", str_printf(&a, PATH_SUB "?type=json&id=%" PRId64, sub), STR_NULL,
                 STR_NULL, WAIT_MS, CLI_ALL_SUBS, &answer))
        return false;
    feeds = value_getz(answer.json, "feeds");
    *n = 0;
    *all = value_len(feeds);
    for (size_t i = 0; i < *all; i++)
        *n += value_get_textz(value_at(feeds, i), "last_check").len > 0;
    return true;
}

/* On a terminal, show how the new feeds are fetched, for a minute at most. They are fetched anyway. */
static void show_progress(const char *name, const struct cli_server *srv, int64_t sub)
{
    const struct timespec pause = {0, 300 * 1000000L};
    int64_t end = clock_mono_ms() + WAIT_MS;
    size_t n, all;

    while (isatty(STDERR_FILENO) == 1 && clock_mono_ms() < end &&
           count_fetched(srv, sub, &n, &all) && n < all) {
        cli_progress("feedmill %s: fetched %zu of %zu feeds", name, n, all);
        nanosleep(&pause, NULL);
    }
    cli_progress_end();
}

int cli_import(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(mem_autofree) char *bytes = NULL;
    struct cli_server srv = {0};
    struct str url = STR_NULL, folder = STR_NULL, freq = STR_NULL;
    const struct cli_flag flags[] = {
        {"--follow", "URL", "Follow the list at this URL, now and when it changes.", &url, NULL, 0,
         NULL},
        {"--folder", "A/B", "With --follow: the folder in which its feeds are.", &folder, NULL, 0,
         NULL},
        {"--freq", "N", "With --follow: how often the list is fetched, as for add.", &freq, NULL, 0,
         NULL},
        CLI_SERVER_FLAGS(srv)};
    struct value *v;
    size_t len;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (!str_is_null(url) && argc == 1)
        return follow_list(argv[0], &srv, &a, url, folder, freq);
    if (argc != 2 || !str_is_null(url) || !str_is_null(folder) || !str_is_null(freq))
        return cli_usage(argv[0]);
    if (strstr(argv[1], "://") != NULL && access(argv[1], F_OK) != 0)
        return cli_misuse(argv[0],
                          "%s is a URL, and a file is needed; \"feedmill import --follow %s\" "
                          "follows the list at a URL",
                          argv[1], argv[1]);
    if ((bytes = cli_read_file(argv[0], argv[1], LIST_BYTES, &len)) == NULL)
        return CLI_FAILED;
    if (len == 0)
        return cli_fail(argv[0], "%s is empty, and an OPML list is needed",
                        strcmp(argv[1], "-") == 0 ? "standard input" : argv[1]);
    v = cli_send_list(argv[0], &srv, &a, str_of(bytes, len));
    if (v == NULL)
        return CLI_FAILED;
    if (!str_is_null(srv.json)) {
        cli_complete(&a, v, "id|ids|endpoint|urls|known|doubles|left_out|problems|problem_count");
        cli_print_json(v);
        return CLI_OK;
    }
    show_progress(argv[0], &srv, value_get_int(v, STR("id"), 0));
    say_import(argv[0], &a, v);
    return CLI_OK;
}

int cli_export(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(srv)};
    struct value *v;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc != 1)
        return cli_usage(argv[0]);
    if (str_is_null(srv.json))
        return print_body(argv[0], &srv, &a, STR(PATH_SUB), MEDIA_OPML);
    if ((v = cli_call_json(argv[0], &srv, &a, "GET", STR(PATH_SUB "?type=json"), STR_NULL, STR_NULL,
                           WAIT_MS, CLI_ALL_SUBS)) == NULL)
        return CLI_FAILED;
    cli_print_list(&a, value_getz(v, "feeds"), CLI_FEED_MEMBERS);
    return CLI_OK;
}
