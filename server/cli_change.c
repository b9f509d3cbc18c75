/* server/cli_change.c - the commands refresh, set and forget: fetch a feed now, change how it is kept, and remove
 * it with all that it has. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "feed/text/date.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 60000
#define FORM STR(MEDIA_URLENCODED)
#define FETCH_MS 120000 /* a fetch that has not ended by then is not waited for */
#define LOOK_MS 150

static struct value *all_feeds(const char *name, const struct cli_server *srv, struct arena *a)
{
    return cli_call_json(name, srv, a, "GET", STR(PATH_SUB "?type=json&all=1"), STR_NULL, STR_NULL,
                         WAIT_MS, CLI_ALL_SUBS);
}

static int no_feed(const char *name, const char *typed)
{
    return cli_fail(name, "there is no feed \"%s\"; \"feedmill ls --all\" lists all feeds", typed);
}

/* ---- refresh ---- */

static void pause_ms(int64_t ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&ts, NULL);
}

/* Times of fetches are told in seconds: wait until a fetch from now on has another one. */
static void leave_second(struct str last)
{
    int64_t at;

    while (date_parse(last, &at) && at >= clock_now_s() && at < clock_now_s() + 2)
        pause_ms(LOOK_MS);
}

/* Have the feed fetched. A daemon that has no such call is pinged. */
static bool order(const char *name, const struct cli_server *srv, struct arena *a,
                  const struct value *feed)
{
    struct str form = str_printf(a, "name=feedmill&url=%.*s",
                                 STR_ARG(url_encode(a, value_get_textz(feed, "url"))));
    struct str path = str_printf(a, PATH_SUB "/feed?id=%" PRId64 "&fetch=1",
                                 value_get_int(feed, STR("id"), 0));
    struct cli_answer answer;

    if (cli_ask(srv, a, "PATCH", path, STR_NULL, STR_NULL, WAIT_MS, "id|url", &answer))
        return true;
    if (answer.status == 404 || answer.status == 405)
        return cli_call(name, srv, a, "POST", STR(PATH_PING), FORM, form, WAIT_MS, "flerror", &answer);
    cli_fail(name, "%.*s", STR_ARG(answer.problem));
    return false;
}

/* Wait until the feed has been fetched: it alone is asked for, because a list of thousands takes long. NULL: it has
 * said why that did not come to an end. */
static const struct value *await(const char *name, const struct cli_server *srv, struct arena *a,
                                 const struct value *before)
{
    struct str id = str_printf(a, "%" PRId64, value_get_int(before, STR("id"), 0));
    struct str last = value_get_textz(before, "last_check");
    struct str path = str_printf(a, PATH_SUB "/feed?id=%.*s", STR_ARG(id));
    int64_t end = clock_mono_ms() + FETCH_MS;

    while (clock_mono_ms() < end) {
        AUTO(arena_release) struct arena scratch = ARENA_INIT;
        struct cli_answer answer;

        if (!cli_ask(srv, &scratch, "GET", path, STR_NULL, STR_NULL, WAIT_MS, "id|last_check", &answer)) {
            if (answer.status == 404)
                cli_fail(name, "feed %.*s is gone: it has become part of another feed", STR_ARG(id));
            else
                cli_fail(name, "%.*s", STR_ARG(answer.problem));
            return NULL;
        }
        if (!str_eq(value_get_textz(answer.json, "last_check"), last))
            return value_copy(a, answer.json);
        cli_progress("fetching %.*s ...", STR_ARG(value_get_textz(before, "url")));
        pause_ms(LOOK_MS);
    }
    cli_fail(name, "feed %.*s was not fetched within %d seconds; \"feedmill show %.*s\" says when it "
                   "will be",
             STR_ARG(id), FETCH_MS / 1000, STR_ARG(id));
    return NULL;
}

/* Have one feed fetched. NULL: it has said why not; *failed: it makes no sense to ask for others. */
static const struct value *order_named(const char *name, const struct cli_server *srv, struct arena *a,
                                       struct value **all, const char *typed, bool *failed)
{
    const struct value *feed = cli_look_up(name, srv, a, str_from(typed), all, failed);

    if (feed == NULL) {
        if (!*failed)
            no_feed(name, typed);
        return NULL;
    }
    leave_second(value_get_textz(feed, "last_check"));
    return order(name, srv, a, feed) ? feed : NULL;
}

static struct cli_table *fetched_table(struct arena *a)
{
    static const struct cli_column columns[] = {{"feed", CELL_NUMBER, "id", 0},
                                                {"state", CELL_STATE, "state", 0},
                                                {"http", CELL_NUMBER, "status", 0},
                                                {"entries", CELL_NUMBER, "entries", 0},
                                                {"url", CELL_TEXT, "url", 0}};

    return cli_table_new(a, columns, ARRAY_LEN(columns));
}

/* A program gets each row at once; eyes get one table with one head, at the end. */
static void say_fetched(struct arena *a, struct cli_table **t, const struct value *feed)
{
    cli_table_add_value(*t, feed);
    if (cli_is_terminal())
        return;
    cli_table_print(*t);
    fflush(stdout);
    *t = fetched_table(a);
}

/* Of a command that names feeds: take the flags. Below 0: it may go on; else it has ended with this code. */
static int begin(int *argc, char **argv, struct cli_server *srv)
{
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(*srv)};
    int code = cli_take_flags(argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    return *argc < 2 ? cli_usage(argv[0]) : -1;
}

int cli_refresh(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct value *all = NULL, *done = value_list(&a);
    struct cli_table *t = fetched_table(&a);
    const struct value **ordered = ARENA_ARRAY(&a, const struct value *, (size_t)argc);
    bool failed = false;
    int code = begin(&argc, argv, &srv);

    if (code >= 0)
        return code;
    code = CLI_OK;
    for (int k = 1; k < argc; k++) /* all together: the slowest one is waited for, and not each */
        ordered[k] = failed ? NULL : order_named(argv[0], &srv, &a, &all, argv[k], &failed);
    for (int k = 1; k < argc; k++) {
        const struct value *now = ordered[k] == NULL ? NULL : await(argv[0], &srv, &a, ordered[k]);
        struct str error = value_get_textz(now, "last_error");

        cli_progress_end();
        if (now == NULL) {
            code = CLI_FAILED;
            continue;
        }
        value_push(&a, done, value_copy(&a, now));
        if (error.len > 0)
            code = cli_fail(argv[0], "%.*s: %.*s", STR_ARG(value_get_textz(now, "url")),
                            STR_ARG(cli_plain(&a, error)));
        else if (str_is_null(srv.json))
            say_fetched(&a, &t, now);
    }
    cli_table_print(t);
    if (!str_is_null(srv.json))
        cli_print_json(done);
    return code;
}

/* ---- set ---- */

const char cli_feed_settings[] = "freq|title|folder|mirror|keep|keep_entries";

struct setting {
    const char *name; /* of the command */
    const struct cli_server *srv;
    struct arena *a;
    struct str form;                         /* what was typed, as a form */
    bool gives_title, gives_folder;
    struct value *done;  /* a list: the subscriptions as they are now */
    struct str cannot;   /* why the first one that cannot be changed here cannot; null: there is none */
    bool is_refused;     /* by the daemon, which would refuse it again; the reason was printed */
};

/* Read "key=value" from argv[2] on. CLI_OK, or it has said what is wrong. */
static int read_settings(struct setting *s, int argc, char **argv)
{
    AUTO(buf_release) struct buf form = BUF_INIT(BUF_ANY);

    for (int k = 2; k < argc; k++) {
        struct str value = str_from(argv[k]), key = str_split(&value, '=');

        if (str_is_null(value))
            return cli_misuse(s->name, "\"%s\" is not KEY=VALUE, such as folder=News", argv[k]);
        if (!cli_is_word(key, cli_feed_settings))
            return cli_unknown(s->name, "the setting", str_z(s->a, key), cli_feed_settings);
        if (value.len == 0 && (str_eqz(key, "freq") || str_eqz(key, "mirror")))
            return cli_misuse(s->name, "%s needs a value, such as %s", argv[k],
                              str_eqz(key, "freq") ? "freq=1" : "mirror=no");
        s->gives_title |= str_eqz(key, "title");
        s->gives_folder |= str_eqz(key, "folder");
        buf_printf(&form, "%s%.*s=%.*s", k > 2 ? "&" : "", STR_ARG(key),
                   STR_ARG(url_encode(s->a, value)));
    }
    s->form = str_dup(s->a, buf_view(&form));
    return CLI_OK;
}

static bool change(struct setting *s, int64_t sub)
{
    struct str path = str_printf(s->a, PATH_SUB "?id=%" PRId64, sub);
    struct value *v =
        cli_call_json(s->name, s->srv, s->a, "PATCH", path, FORM, s->form, WAIT_MS, CLI_ONE_SUB);

    s->is_refused = v == NULL;
    if (v != NULL)
        value_push(s->a, s->done, v);
    return v != NULL;
}

/* The feed shares its subscription with others, so it gets one of its own: with what it had, and what
 * is set now. Then it is taken out of the old one. */
static bool move(struct setting *s, const struct value *sub, size_t at)
{
    struct arena *a = s->a;
    struct str url = value_at(value_getz(sub, "urls"), at)->s, form;
    struct str title = value_at(value_getz(sub, "names"), at)->s;
    struct str folder = cli_folder_text(a, value_at(value_getz(sub, "folders"), at));
    bool has_title = value_at(value_getz(sub, "names"), at)->kind == VAL_TEXT;
    struct cli_answer answer;
    struct value *made, *v;

    form = str_printf(a, "url=%.*s&%.*s", STR_ARG(url_encode(a, url)), STR_ARG(s->form));
    if (!s->gives_title && has_title)
        form = str_printf(a, "%.*s&title=%.*s", STR_ARG(form), STR_ARG(url_encode(a, title)));
    if (!s->gives_folder && folder.len > 0)
        form = str_printf(a, "%.*s&folder=%.*s", STR_ARG(form), STR_ARG(url_encode(a, folder)));
    made = cli_call_json(s->name, s->srv, a, "POST", STR(PATH_SUB), FORM, form, WAIT_MS, "id|urls");
    if (made == NULL ||
        !cli_call(s->name, s->srv, a, "DELETE",
                  str_printf(a, PATH_SUB "?id=%" PRId64 "&url=%.*s",
                             value_get_int(sub, STR("id"), 0), STR_ARG(url_encode(a, url))),
                  STR_NULL, STR_NULL, WAIT_MS, CLI_NOTHING, &answer)) {
        s->is_refused = true;
        return false;
    }
    v = cli_call_json(s->name, s->srv, a, "GET",
                      str_printf(a, PATH_SUB "?type=json&id=%" PRId64,
                                 value_get_int(made, STR("id"), 0)),
                      STR_NULL, STR_NULL, WAIT_MS, CLI_ALL_SUBS);
    s->is_refused = v == NULL;
    if (v != NULL)
        value_push(a, s->done, value_at(value_getz(v, "subscriptions"), 0));
    return v != NULL;
}

/* Change the feed in one subscription, which may be another one then. False: see `cannot` and
 * `is_refused`. */
static bool set_in(struct setting *s, const struct value *sub, size_t at)
{
    int64_t id = value_get_int(sub, STR("id"), 0);
    struct str list = value_get_textz(value_getz(sub, "list"), "url"), why;

    if (list.len == 0 && value_len(value_getz(sub, "urls")) == 1)
        return change(s, id);
    if (list.len == 0 && value_get_textz(sub, "endpoint").len == 0)
        return move(s, sub, at);
    why = list.len > 0 ? str_printf(s->a,
                                    "has this feed from the list %.*s; \"feedmill sub set %" PRId64
                                    " ...\" changes the list",
                                    STR_ARG(list), id)
                       : str_printf(s->a,
                                    "pushes this feed together with others; \"feedmill sub set "
                                    "%" PRId64 " ...\" changes all of them",
                                    id);
    if (str_is_null(s->cannot))
        s->cannot = str_printf(s->a, "subscription %" PRId64 " %.*s", id, STR_ARG(why));
    return false;
}

/* Change the feed where it is only listed, or else where it is pushed; CLI_OK: it was changed
 * somewhere. Else it has said why not, in one line, however many subscriptions the feed has. */
static int set_feed(struct setting *s, const struct value *all, const struct value *feed,
                    const char *typed)
{
    const struct value *subs = value_getz(all, "subscriptions");
    int64_t id = value_get_int(feed, STR("id"), 0);
    size_t n = 0, n_set = 0;

    for (int pushed = 0; pushed < 2 && n == 0; pushed++)
        for (size_t i = 0; i < value_len(subs) && !s->is_refused; i++) {
            const struct value *sub = value_at(subs, i), *ids = value_getz(sub, "feeds");

            if ((value_get_textz(sub, "endpoint").len > 0) != (pushed == 1))
                continue;
            for (size_t k = 0; k < value_len(ids); k++)
                if (value_at(ids, k)->i == id) {
                    n++;
                    n_set += set_in(s, sub, k);
                    break;
                }
        }
    if (s->is_refused)
        return CLI_FAILED;
    if (n > 0)
        return n_set > 0 ? CLI_OK : cli_fail(s->name, "%.*s", STR_ARG(s->cannot));
    return cli_fail(s->name, "\"%s\" is not subscribed; \"feedmill add %s\" subscribes it", typed,
                    typed);
}

static void say_set(const struct setting *s, const struct value *feed)
{
    for (size_t i = 0; i < value_len(s->done); i++) {
        cli_print_deed(s->a, "subscription", value_get_int(value_at(s->done, i), STR("id"), 0), "changed",
                       value_get_textz(feed, "url"));
    }
}

int cli_set(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {CLI_SERVER_FLAGS(srv)};
    struct setting s = {.name = argv[0], .srv = &srv, .a = &a, .done = value_list(&a), .cannot = STR_NULL};
    const struct value *feed;
    struct value *all;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc < 3)
        return cli_usage(argv[0]);
    if ((code = read_settings(&s, argc, argv)) != CLI_OK)
        return code;
    if ((all = all_feeds(argv[0], &srv, &a)) == NULL)
        return CLI_FAILED;
    if ((feed = cli_find_named(&srv, &a, all, str_from(argv[1]))) == NULL)
        return no_feed(argv[0], argv[1]);
    if ((code = set_feed(&s, all, feed, argv[1])) != CLI_OK)
        return code;
    if (!str_is_null(srv.json))
        cli_print_list(&a, s.done, "id|endpoint|state");
    else
        say_set(&s, feed);
    return CLI_OK;
}

/* ---- forget ---- */

/* Have the feed removed. False: it has said why not. */
static bool forget(const char *name, const struct cli_server *srv, struct arena *a,
                   const struct value *feed)
{
    struct str path =
        str_printf(a, PATH_SUB "/feed?id=%" PRId64, value_get_int(feed, STR("id"), 0));
    struct cli_answer answer;

    return cli_call(name, srv, a, "DELETE", path, STR_NULL, STR_NULL, WAIT_MS, CLI_NOTHING, &answer);
}

int cli_forget(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {0};
    struct value *all = NULL, *done = value_list(&a);
    int code = begin(&argc, argv, &srv);
    bool failed = false;

    if (code >= 0)
        return code;
    code = CLI_OK;
    for (int k = 1; k < argc && !failed; k++) {
        const struct value *feed = cli_look_up(argv[0], &srv, &a, str_from(argv[k]), &all, &failed);

        if (feed == NULL || !forget(argv[0], &srv, &a, feed)) {
            code = feed == NULL && !failed ? no_feed(argv[0], argv[k]) : CLI_FAILED;
            continue;
        }
        value_push(&a, done, value_copy(&a, feed));
        if (!str_is_null(srv.json))
            continue;
        cli_print_deed(&a, "feed", value_get_int(feed, STR("id"), 0), "removed", value_get_textz(feed, "url"));
    }
    if (!str_is_null(srv.json))
        cli_print_list(&a, done, "id|url|title|state");
    return code;
}
