/* server/cli_tail.c - the command tail: prints new revisions of the log as they come.
 *
 * If the daemon does not answer, tail asks again until it does. It goes on at the cursor of the
 * last answer, so no revision is left out or repeated. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "net/url.h"
#include "server/cli.h"

#include "feed/text/json.h"
#include "model/paths.h"

#define WAIT_MS 120000
#define POLL_S 50
#define AGAIN_MS 500 /* pause between two tries to reach the daemon */

static void print_revision(const struct value *r)
{
    const struct value *e = value_getz(r, "entry");
    struct str title = value_get_textz(e, "title"), link = value_get_textz(e, "link");

    printf("%" PRId64 " %.*s %-7.*s ", value_get_int(r, STR("seq"), 0),
           STR_ARG(value_get_textz(r, "at")), STR_ARG(value_get_textz(r, "kind")));
    cli_print_plain(value_get_textz(r, "url"));
    fputs("\n    ", stdout);
    cli_print_plain(title);
    if (link.len > 0) {
        fputs(" <", stdout);
        cli_print_plain(link);
        putchar('>');
    }
    putchar('\n');
}

/* Print the revisions of an answer. Returns its cursor; null: it is not such an answer. */
static struct str print_answer(struct arena *a, const struct cli_answer *answer)
{
    struct value *v = NULL, *items;

    if (json_read(a, answer->body, &v, NULL) != RC_OK)
        return STR_NULL;
    items = value_getz(v, "revisions");
    for (size_t i = 0; i < value_len(items); i++)
        print_revision(value_at(items, i));
    return value_get_textz(v, "cursor");
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
static int follow(const char *name, const struct cli_server *srv, struct str cursor,
                  struct str feeds)
{
    AUTO(mem_autofree) char *at = mem_strndup(cursor.ptr, cursor.len);
    bool was_away = false;

    for (;;) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct cli_answer answer;
        struct str path = str_printf(&a, PATH_LOG "?since=%.*s&timeout=%d%.*s",
                                     STR_ARG(url_encode(&a, str_from(at))), POLL_S, STR_ARG(feeds));

        if (cli_ask(srv, &a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, &answer)) {
            struct str next = print_answer(&a, &answer);

            if (str_is_null(next))
                return cli_fail(name, "the daemon's answer is not JSON");
            mem_free(at);
            at = mem_strndup(next.ptr, next.len);
            was_away = false;
        } else if (!is_away(&answer)) {
            return cli_fail(name, "%.*s", STR_ARG(answer.problem));
        } else {
            if (!was_away)
                cli_fail(name, "%.*s; waiting for it", STR_ARG(answer.problem));
            was_away = true;
            wait_a_little();
        }
        if (fflush(stdout) != 0)
            return CLI_FAILED; /* cli_finish() prints the error */
    }
}

int cli_tail(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct cli_server srv = {.ends_with_output = true};
    struct str since = STR("end"), feeds = STR("");
    const struct cli_flag flags[] = {
        {"--since", "POSITION",
         "Begin after this point: start, a number that tail shows, or a time such as "
         "2025-01-31T12:00:00Z. Default: begin now.",
         &since, NULL, 0, NULL},
        CLI_SERVER_FLAGS(srv)};
    struct cli_answer answer;
    struct str cursor;
    int code;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc > 1)
        feeds = str_concat(&a, STR("&"), cli_urls_query(&a, 1, argc, argv));
    /* the first answer says whether the request is valid, and has the cursor to begin with */
    if (!cli_call(argv[0], &srv, &a, "GET",
                  str_printf(&a, PATH_LOG "?since=%.*s&max=0%.*s", STR_ARG(url_encode(&a, since)),
                             STR_ARG(feeds)),
                  STR_NULL, STR_NULL, WAIT_MS, &answer))
        return CLI_FAILED;
    cursor = print_answer(&a, &answer);
    if (str_is_null(cursor))
        return cli_fail(argv[0], "the daemon's answer is not JSON");
    return follow(argv[0], &srv, cursor, feeds);
}
