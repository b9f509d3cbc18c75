/* server/cli_show.c - the command show: all that is known of a feed, and what its subscriptions set. */
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 60000
#define KEY_WIDTH 15
#define TIME_WIDTH 12

/* ---- lines ---- */

/* Into a pipe each line has a name, a tab and a text. */
static void print_line(struct arena *a, struct str key, enum cli_cell kind, struct str text)
{
    const struct cli_piece pieces[] = {{CELL_NAME, key, KEY_WIDTH}, {kind, text, 0}};
    const struct str cells[] = {key, text};

    if (cli_is_terminal())
        cli_print_pieces(a, 0, pieces, ARRAY_LEN(pieces));
    else
        cli_print_cells(a, cells, ARRAY_LEN(cells));
}

static void print_entry(struct arena *a, const struct value *e)
{
    struct str title = str_from(cli_text(a, e, "title")), link = str_from(cli_text(a, e, "link"));
    const struct cli_piece head[] = {{CELL_TIME, cli_entry_date(a, e), TIME_WIDTH},
                                     {CELL_TEXT, title, 0}};

    if (cli_is_terminal()) {
        cli_print_pieces(a, 2, head, ARRAY_LEN(head));
        cli_print_pieces(a, 4, &(struct cli_piece){CELL_TEXT, link, 0}, 1);
        return;
    }
    print_line(a, STR("entry"), CELL_TEXT, title);
    print_line(a, STR("entry link"), CELL_TEXT, link);
    print_line(a, STR("entry date"), CELL_TIME, cli_entry_date(a, e));
}

static bool is_time(const struct value *v)
{
    return v->kind == VAL_TEXT && v->s.len >= 20 && v->s.ptr[4] == '-' && v->s.ptr[10] == 'T' &&
           str_ends(v->s, STR("Z"));
}

/* For eyes an age is shown as it is typed: keep=36h. */
static struct str text_of(struct arena *a, const struct value *of, struct str key)
{
    static const struct {
        int64_t s;
        char name;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};
    int64_t s = value_get_int(of, key, 0);

    for (size_t i = 0; i < ARRAY_LEN(units) && str_eqz(key, "keep") && cli_is_terminal(); i++)
        if (s > 0 && s % units[i].s == 0)
            return str_printf(a, "%" PRId64 "%c", s / units[i].s, units[i].name);
    return str_from(cli_text(a, of, str_z(a, key)));
}

/* The member of this name. */
static void print_member(struct arena *a, const struct value *of, struct str key, struct str name)
{
    print_line(a, name,
               is_time(value_get(of, key))  ? CELL_TIME
               : str_eqz(key, "state") ? CELL_STATE
                                       : CELL_TEXT,
               text_of(a, of, key));
}

/* ---- what is set ---- */

static struct value *copy_of(struct arena *a, const struct value *v)
{
    return v == NULL ? value_null(a) : value_copy(a, v);
}

static const struct value *in_place(const struct value *sub, struct str list, size_t at)
{
    const struct value *v = value_get(sub, list);

    return at < value_len(v) ? value_at(v, at) : NULL;
}

/* What `set` has set, or would change: of the feed, or of its place in a subscription. A setting that is not named
 * here is a member of the subscription. */
static struct value *setting(struct arena *a, const struct value *feed, const struct value *sub, size_t at,
                             struct str key)
{
    const struct value *level = value_getz(feed, "level");
    struct str folder;

    if (str_eqz(key, "freq"))
        return copy_of(a, level != NULL && level->kind == VAL_INT ? level : value_getz(feed, "period"));
    if (str_eqz(key, "mirror"))
        return copy_of(a, value_getz(feed, "mirror"));
    if (str_eqz(key, "title"))
        return copy_of(a, in_place(sub, STR("names"), at));
    if (!str_eqz(key, "folder"))
        return copy_of(a, value_get(sub, key));
    folder = cli_folder_text(a, in_place(sub, STR("folders"), at));
    return folder.len > 0 ? value_text(a, folder) : value_null(a);
}

/* The settings of each subscription that has the feed, beside its id, state and endpoint. */
static struct value *settings_of(struct arena *a, const struct value *all, const struct value *feed)
{
    const struct value *subs = value_getz(all, "subscriptions");
    int64_t id = value_get_int(feed, STR("id"), 0);
    struct value *out = value_list(a), *one;

    for (size_t i = 0; i < value_len(subs); i++) {
        const struct value *sub = value_at(subs, i), *ids = value_getz(sub, "feeds");
        size_t at = 0;

        while (at < value_len(ids) && value_at(ids, at)->i != id)
            at++;
        if (at == value_len(ids))
            continue;
        value_push(a, out, one = value_dict(a));
        value_setz(a, one, "id", copy_of(a, value_getz(sub, "id")));
        value_setz(a, one, "state", copy_of(a, value_getz(sub, "state")));
        value_setz(a, one, "endpoint", copy_of(a, value_getz(sub, "endpoint")));
        for (struct str rest = str_from(cli_feed_settings); !str_is_null(rest);) {
            struct str key = str_split(&rest, '|');

            value_set(a, one, key, setting(a, feed, sub, at, key));
        }
    }
    return out;
}

/* Lines "sub 3 keep", for what is set there. The pace and the mirror are the feed's own. */
static void print_settings(struct arena *a, const struct value *settings)
{
    if (value_len(settings) > 0)
        print_member(a, value_at(settings, 0), STR("freq"), STR("freq"));
    for (size_t i = 0; i < value_len(settings); i++) {
        const struct value *one = value_at(settings, i);

        for (uint32_t k = 0; k < one->len; k++) {
            struct str key = one->members[k].key;

            if (!cli_is_word(key, "id|freq|mirror") && value_get(one, key)->kind != VAL_NULL)
                print_member(a, one, key, str_printf(a, "sub %s %.*s", cli_text(a, one, "id"), STR_ARG(key)));
        }
    }
}

/* ---- the command ---- */

static int print_entries(const char *name, const struct cli_server *srv, struct arena *a, const struct value *f)
{
    struct str path = str_printf(a, PATH_FEED "?type=json&len=10&url=%.*s",
                                 STR_ARG(url_encode(a, value_get_textz(f, "url"))));
    const struct value *doc = cli_call_json(name, srv, a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, "entries");
    const struct value *entries = value_getz(doc, "entries");

    if (doc == NULL)
        return CLI_FAILED;
    if (cli_is_terminal())
        puts("newest entries");
    for (size_t i = 0; i < value_len(entries); i++)
        print_entry(a, value_at(entries, i));
    return CLI_OK;
}

int cli_show(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(srv)};
    struct value *all, *told, *settings;
    const struct value *f;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc != 2 || argv[1][0] == '\0')
        return cli_usage(argv[0]);
    all = cli_call_json(argv[0], &srv, &a, "GET", STR(PATH_SUB "?type=json&all=1"), STR_NULL,
                        STR_NULL, WAIT_MS, CLI_ALL_SUBS);
    if (all == NULL)
        return CLI_FAILED;
    if ((f = cli_find_named(&srv, &a, all, str_from(argv[1]))) == NULL)
        return cli_fail(argv[0], "there is no feed \"%s\"; \"feedmill ls --all\" lists all feeds",
                        argv[1]);
    settings = settings_of(&a, all, f);
    if (!str_is_null(srv.json)) {
        told = value_copy(&a, f);
        cli_complete(&a, told, CLI_FEED_MEMBERS);
        value_setz(&a, told, "settings", settings);
        cli_print_json(told);
        return CLI_OK;
    }
    for (uint32_t i = 0; i < f->len; i++)
        print_member(&a, f, f->members[i].key, f->members[i].key);
    print_settings(&a, settings);
    return value_get_int(f, STR("entries"), 0) == 0 ? CLI_OK : print_entries(argv[0], &srv, &a, f);
}
