/* server/cli_tail.c - the commands tail and events: new revisions of the log, as they come.
 *
 * If the daemon does not answer, they ask again until it does. They go on at the cursor of the
 * last answer, so no revision is left out or repeated. */
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "feed/text/json.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_exec.h"
#include "server/cli_out.h"

#define WAIT_MS 120000
#define POLL_S 50
#define LOG "revisions|cursor"
#define AGAIN_MS 500 /* pause between two tries to reach the daemon */

struct following {
    const char *name;
    struct cli_server srv;
    struct str asked;     /* the rest of the query: which feeds, which filter */
    const char *command;  /* that gets each revision; NULL: they are printed */
    const char *position; /* the file that keeps it; NULL: none */
    bool is_brief;        /* a line each, also on a terminal */
};

/* ---- one revision ---- */

static void print_for_eyes(struct arena *a, const struct value *r)
{
    const struct value *e = value_getz(r, "entry");
    struct str link = value_get_textz(e, "link");
    const struct cli_piece head[] = {{CELL_NUMBER, str_from(cli_text(a, r, "seq")), 0},
                                     {CELL_TIME, value_get_textz(r, "at"), 0},
                                     {CELL_STATE, value_get_textz(r, "kind"), 0},
                                     {CELL_TEXT, value_get_textz(r, "url"), 0}};
    const struct cli_piece entry[] = {{CELL_TEXT, value_get_textz(e, "title"), 0},
                                      {CELL_TEXT, str_printf(a, "<%.*s>", STR_ARG(link)), 0}};

    cli_print_pieces(a, 0, head, ARRAY_LEN(head));
    cli_print_pieces(a, 4, entry, link.len > 0 ? 2 : 1);
}

/* The same on one line, cut to the width. */
static void print_brief(struct arena *a, const struct value *r)
{
    const struct value *e = value_getz(r, "entry");
    const struct cli_piece pieces[] = {{CELL_NUMBER, str_from(cli_text(a, r, "seq")), 0},
                                       {CELL_TIME, value_get_textz(r, "at"), 0},
                                       {CELL_STATE, value_get_textz(r, "kind"), 0},
                                       {CELL_TEXT, value_get_textz(e, "title"), 0},
                                       {CELL_TEXT, value_get_textz(r, "url"), 0}};

    cli_print_pieces(a, 0, pieces, ARRAY_LEN(pieces));
}

static void print_line(struct arena *a, const struct value *r)
{
    const struct value *e = value_getz(r, "entry");
    const struct str cells[] = {str_from(cli_text(a, r, "seq")),   str_from(cli_text(a, r, "at")),
                                str_from(cli_text(a, r, "kind")),  str_from(cli_text(a, r, "url")),
                                str_from(cli_text(a, e, "title")), str_from(cli_text(a, e, "link"))};

    cli_print_cells(a, cells, ARRAY_LEN(cells));
}

/* The object of /log on one line, with an end of line. */
static struct str line_of(struct arena *a, const struct value *r)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    json_write(&out, r);
    buf_putc(&out, '\n');
    return str_dup(a, buf_view(&out));
}

/* Give a revision to whoever gets it, and keep its position. False: the position cannot be kept. */
static bool take(const struct following *f, struct arena *a, const struct value *r)
{
    if (f->command != NULL)
        cli_exec(f->name, f->command, line_of(a, r));
    else if (!str_is_null(f->srv.json))
        cli_print_json(r);
    else if (cli_is_terminal())
        (f->is_brief ? print_brief : print_for_eyes)(a, r);
    else
        print_line(a, r);
    if (f->position == NULL)
        return true;
    return fflush(stdout) == 0 &&
           cli_position_write(f->name, f->position, value_get_textz(r, "cursor"));
}

/* ---- the log ---- */

/* Take the revisions of an answer. *next: its cursor. Otherwise it has said what is wrong. */
static int take_answer(const struct following *f, struct arena *a, const struct cli_answer *answer,
                       struct str *next)
{
    const struct value *items = value_getz(answer->json, "revisions");

    for (size_t i = 0; i < value_len(items); i++)
        if (!take(f, a, value_at(items, i)))
            return CLI_FAILED;
    *next = value_get_textz(answer->json, "cursor");
    return CLI_OK;
}

static void wait_a_little(void)
{
    struct timespec ts = {0, AGAIN_MS * 1000000L};

    nanosleep(&ts, NULL);
}

/* Is the daemon away? There was no answer, or one that does not concern the request. */
static bool is_away(const struct cli_answer *answer)
{
    return answer->status == 0 || answer->status >= 500;
}

/* Ask for revisions after `cursor`, again and again. */
static int follow(const struct following *f, struct str cursor)
{
    AUTO(mem_autofree) char *at = mem_strndup(cursor.ptr, cursor.len);
    bool was_away = false;
    int code;

    for (;;) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct cli_answer answer;
        struct str next, path = str_printf(&a, PATH_LOG "?since=%.*s&timeout=%d%.*s",
                                           STR_ARG(url_encode(&a, str_from(at))),
                                           was_away ? 0 : POLL_S, /* so that it says at once who is back */
                                           STR_ARG(f->asked));

        if (cli_ask(&f->srv, &a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, LOG, &answer)) {
            if ((code = take_answer(f, &a, &answer, &next)) != CLI_OK)
                return code;
            mem_free(at);
            at = mem_strndup(next.ptr, next.len);
            if (was_away)
                fprintf(stderr, "feedmill %s: the daemon answers again\n", f->name);
            was_away = false;
        } else if (!is_away(&answer)) {
            return cli_fail(f->name, "%.*s", STR_ARG(answer.problem));
        } else {
            if (!was_away)
                cli_fail(f->name, "%.*s; waiting for it", STR_ARG(answer.problem));
            was_away = true;
            wait_a_little();
        }
        if (fflush(stdout) != 0)
            return CLI_FAILED; /* cli_finish() prints the error */
    }
}

/* What the first answer says is wrong: a position that is typed, or one that was kept. */
static int refuse(const struct following *f, const struct cli_answer *answer, bool is_kept)
{
    if (answer->is_misuse && !is_kept)
        return cli_misuse(f->name, "%.*s", STR_ARG(answer->problem));
    if (answer->is_misuse && str_find(answer->problem, STR("`since`")) >= 0)
        return cli_fail(f->name, "%s has no position that a tail has kept; remove it, or name another file",
                        f->position);
    if (is_kept && answer->status == 410)
        return cli_fail(f->name, "%s: %.*s Remove the file and give that as --since to go on there", f->position,
                        STR_ARG(answer->problem));
    return cli_fail(f->name, "%s%s%.*s", is_kept ? f->position : "", is_kept ? ": " : "",
                    STR_ARG(answer->problem));
}

/* Begin after a position, which is in the file if it is `kept`, and go on. The first answer says
 * whether the request is valid, and has the cursor to begin with. */
static int begin(const struct following *f, struct arena *a, struct str since, bool is_kept)
{
    struct following on = *f;
    struct cli_answer answer;
    struct str cursor = STR_NULL;
    int code;

    if (!cli_ask(&f->srv, a, "GET",
                 str_printf(a, PATH_LOG "?since=%.*s&max=0%.*s", STR_ARG(url_encode(a, since)),
                            STR_ARG(f->asked)),
                 STR_NULL, STR_NULL, WAIT_MS, LOG, &answer))
        return refuse(f, &answer, is_kept && answer.status != 0 && answer.status != 401);
    if ((code = take_answer(f, a, &answer, &cursor)) != CLI_OK)
        return code;
    if (f->position != NULL && !cli_position_write(f->name, f->position, cursor))
        return CLI_FAILED;
    on.srv.is_patient = true;
    return follow(&on, cursor);
}

/* ---- the commands ---- */

/* The feeds that are named. False: it has said which is not there. */
static bool ask_for(struct following *f, struct arena *a, int argc, char **argv)
{
    struct str feeds;
    bool ok = cli_feeds_query(f->name, &f->srv, a, 1, argc, argv, &feeds);

    f->asked = ok ? str_concat(a, STR("&"), feeds) : STR("");
    return ok;
}

int cli_tail(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct following f = {.name = argv[0], .srv = {.ends_with_output = true}, .asked = STR("")};
    struct str since = STR("end"), command = STR_NULL, position = STR_NULL, kept = STR_NULL;
    const struct cli_flag flags[] = {
        {"--since", "POSITION",
         "Begin after this point: start, a number that tail shows, or a time such as "
         "2025-01-31T12:00:00Z. Default: begin now.",
         &since, NULL, 0, NULL},
        {"--exec", "CMD",
         "Run CMD by sh -c for each entry, one after the other, with the entry as a line of JSON on its "
         "standard input. If it does not end with 0, it gets the same entry again.",
         &command, NULL, 0, NULL},
        {"--position", "FILE",
         "Keep the position in FILE, after each entry, and begin there: it wins over --since.",
         &position, NULL, 0, NULL},
        CLI_SERVER_FLAGS(f.srv)};
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc > 1 && !ask_for(&f, &a, argc, argv))
        return CLI_FAILED;
    if (!str_is_null(command) && str_trim(command).len == 0)
        return cli_misuse(f.name, "--exec needs a command, such as --exec 'jq .entry.title'");
    if (!str_is_null(position) && position.len == 0)
        return cli_misuse(f.name, "--position needs the name of a file");
    f.command = command.ptr;
    f.position = position.ptr;
    if (f.command != NULL) /* who reads its output is the command's matter */
        f.srv.ends_with_output = false;
    if (f.position != NULL && !cli_position_read(f.name, &a, f.position, &kept))
        return CLI_FAILED;
    return begin(&f, &a, str_is_null(kept) ? since : kept, !str_is_null(kept));
}

static struct str with(struct arena *a, struct str query, const char *name, struct str value)
{
    return str_is_null(value)
               ? query
               : str_printf(a, "%.*s&%s=%.*s", STR_ARG(query), name, STR_ARG(url_encode(a, value)));
}

int cli_events(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct following f = {
        .name = argv[0], .srv = {.ends_with_output = true}, .asked = STR(""), .is_brief = true};
    struct str since = STR("end"), q = STR_NULL, folder = STR_NULL, view = STR_NULL;
    const struct cli_flag flags[] = {
        {"--since", "POSITION", "Begin after this point, as for tail. Default: begin now.", &since,
         NULL, 0, NULL},
        {"--q", "WORDS", "Only entries with these words.", &q, NULL, 0, NULL},
        {"--folder", "A/B", "Only the feeds of this folder.", &folder, NULL, 0, NULL},
        {"--view", "NAME", "Only this named view.", &view, NULL, 0, NULL},
        CLI_SERVER_FLAGS(f.srv)};
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc > 1 && !ask_for(&f, &a, argc, argv))
        return CLI_FAILED;
    f.asked = with(&a, with(&a, with(&a, f.asked, "q", q), "folder", folder), "view", view);
    return begin(&f, &a, since, false);
}
