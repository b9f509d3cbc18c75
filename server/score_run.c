/* server/score_run.c - the clock of the score. A fetcher that connects to the clock's socket is led
 * from one thing that is due to the next (server/test_clock.h). For all others the clock goes at a
 * speed. */
#include "server/score_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/score_child.h"
#include "server/score_server.h"

#define LOOK_MS 5        /* between looks at a fetcher that is not led */
#define SILENT_MS 120000 /* so long a fetcher may do nothing, in real time */
#define STEP_MAX (6 * SCORE_HOUR)
#define ADD_MS 60000

struct run {
    const struct score_plan *plan;
    struct score_server *server;
    struct score_child child;
    struct arena arena;
    char folder[64];   /* with the socket, the list, and the database of a daemon */
    int listener, led; /* the socket of the clock; the fetcher that follows it, or -1 */
    bool has_stepped, is_early;
    int64_t silent_since_ms;
};

/* ---- what the fetcher is told ---- */

static const char *in_folder(struct run *run, const char *name)
{
    return arena_printf(&run->arena, "%s/%s", run->folder, name);
}

static enum rc write_list(struct run *run, const char *path, struct err *err)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    FILE *f = fopen(path, "we");
    bool ok;

    buf_puts(&b, "<?xml version=\"1.0\"?>\n<opml version=\"2.0\"><body>\n");
    score_server_list(run->server, "<outline type=\"rss\" text=\"feed\" xmlUrl=\"", "\"/>\n", &b);
    buf_puts(&b, "</body></opml>\n");
    ok = f != NULL && fwrite(b.ptr, 1, b.len, f) == b.len;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    return ok ? RC_OK : err_set(err, RC_IO, "%s cannot be written: %s", path, strerror(errno));
}

/* Variables that say where the feeds are, and what a daemon of Feedmill needs. */
static enum rc set_environment(struct run *run, struct err *err)
{
    AUTO(buf_release) struct buf urls = BUF_INIT(BUF_ANY);
    const char *list = in_folder(run, "feeds.opml"), *clock = in_folder(run, "clock");
    struct str rest;

    score_server_list(run->server, "", " ", &urls);
    rest = buf_view(&urls);
    setenv("FEEDMILL_SCORE_URLS", urls.ptr, 1);
    setenv("FEEDMILL_SCORE_URL", str_z(&run->arena, str_split(&rest, ' ')), 1);
    setenv("FEEDMILL_SCORE_OPML", list, 1);
    setenv("FEEDMILL_SCORE_CLOCK", clock, 1);
    setenv("FEEDMILL_TEST_CLOCK", clock, 1);
    setenv("FEEDMILL_ALLOW_FETCH", "127.0.0.0/8", 0);
    setenv("FEEDMILL_DB", in_folder(run, "feeds.db"), 1);
    setenv("FEEDMILL_LISTEN", "127.0.0.1:0", 1);
    setenv("FEEDMILL_LOG_LEVEL", "error", 0);
    return write_list(run, list, err);
}

/* A daemon of Feedmill gets the feeds by its API, each in a subscription of its own. */
static enum rc subscribe(struct run *run, struct str url, struct err *err)
{
    AUTO(buf_release) struct buf urls = BUF_INIT(BUF_ANY);
    struct cli_server srv = {.url = url};
    struct cli_answer answer;
    struct str rest;

    score_server_list(run->server, "", " ", &urls);
    rest = str_trim(buf_view(&urls));
    while (!str_is_null(rest)) {
        struct str feed = str_split(&rest, ' ');
        struct str form =
            str_printf(&run->arena, "url=%.*s", STR_ARG(url_encode(&run->arena, feed)));

        if (!cli_ask(&srv, &run->arena, "POST", STR(PATH_SUB), STR(MEDIA_URLENCODED), form, ADD_MS,
                     "id", &answer))
            return err_set(err, RC_IO, "the daemon does not take %.*s: %.*s", STR_ARG(feed),
                           STR_ARG(answer.problem));
    }
    return RC_OK;
}

/* ---- the clock ---- */

static enum rc open_clock(struct run *run, struct err *err)
{
    const char *path = in_folder(run, "clock");
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    run->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (run->listener < 0 || strlen(path) >= sizeof at.sun_path)
        return err_set(err, RC_IO, "no socket for the clock");
    memcpy(at.sun_path, path, strlen(path) + 1);
    if (bind(run->listener, (const struct sockaddr *)&at, sizeof at) != 0 ||
        listen(run->listener, 1) != 0)
        return err_set(err, RC_IO, "%s: %s", path, strerror(errno));
    return RC_OK;
}

static bool say_ahead(const struct run *run, int64_t ahead_us)
{
    char text[48];
    int n = snprintf(text, sizeof text, "%.6f\n", (double)ahead_us / 1e6);

    return send(run->led, text, (size_t)n, MSG_NOSIGNAL) == n;
}

/* Somebody connects to the clock: from now on it waits for him. */
static void take_led(struct run *run)
{
    int fd = run->led >= 0 ? -1 : accept4(run->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    run->led = fd;
    score_server_set_speed(run->server, 1);
    say_ahead(run, clock_ahead_us());
}

/* Read when the fetcher is due next. False: no line has come. */
static bool read_next(struct run *run, int64_t *next)
{
    char text[64];
    ssize_t n = read(run->led, text, sizeof text - 1);

    if (n <= 0) {
        close(run->led);
        run->led = -1;
        return false;
    }
    text[n] = '\0';
    *next = strtoll(text, NULL, 10) * SCORE_S;
    return true;
}

static int64_t end_of(struct run *run)
{
    int64_t began = score_server_began(run->server);

    return began == 0 ? INT64_MAX : began + run->plan->days * SCORE_DAY;
}

/* The fetcher has done all that is due: go on to what is due next. */
static void step(struct run *run, int64_t next)
{
    int64_t now = score_server_now(run->server), end = end_of(run), ahead_us;

    if (!run->has_stepped) /* it said this before it had feeds */
        next = now;
    run->has_stepped = true;
    if (next > now + STEP_MAX)
        next = now + STEP_MAX;
    if (next > end)
        next = end;
    ahead_us = clock_ahead_us() + (next > now ? next - now : 0);
    score_server_set_ahead(run->server, ahead_us);
    say_ahead(run, ahead_us);
}

/* ---- the run ---- */

/* Wait for a sign of the fetcher, and follow it. */
static enum rc listen_once(struct run *run, struct err *err)
{
    struct pollfd fds[] = {
        {run->child.out, POLLIN, 0}, {run->listener, POLLIN, 0}, {run->led, POLLIN, 0}};
    bool has_begun = score_server_began(run->server) != 0;
    struct str url;
    int64_t next;

    if (!has_begun) /* before that the time stands for the led one */
        fds[2].fd = -1;
    poll(fds, ARRAY_LEN(fds), LOOK_MS);
    if (fds[1].revents != 0)
        take_led(run);
    if (fds[0].revents != 0 && !str_is_null(url = score_child_listen(&run->child, &run->arena)))
        return subscribe(run, url, err);
    if (has_begun && run->led < 0 && run->plan->speed > 0)
        score_server_now(run->server);
    if (fds[2].revents != 0 && read_next(run, &next)) {
        run->silent_since_ms = clock_steady_ms();
        step(run, next);
    }
    return RC_OK;
}

static volatile sig_atomic_t is_interrupted;

static void on_signal(int sig UNUSED)
{
    is_interrupted = 1;
}

static enum rc live(struct run *run, struct err *err)
{
    bool is_fast = false;
    enum rc rc = RC_OK;

    run->silent_since_ms = clock_steady_ms();
    while (rc == RC_OK && score_server_now(run->server) < end_of(run)) {
        rc = listen_once(run, err);
        if (is_interrupted)
            rc = err_set(err, RC_CLOSED, "interrupted");
        if ((run->is_early = score_child_has_ended(&run->child)))
            break;
        if (!is_fast && run->led < 0 && score_server_began(run->server) != 0) {
            score_server_set_speed(run->server, run->plan->speed);
            is_fast = true;
        }
        if ((run->led >= 0 || score_server_began(run->server) == 0) &&
            clock_steady_ms() - run->silent_since_ms > SILENT_MS)
            rc = err_set(err, RC_IO, "the fetcher did nothing for %d s", SILENT_MS / 1000);
    }
    return rc;
}

/* In memory if possible: the database is not to outlive the run, and each fetch is a commit. */
static bool make_folder(struct run *run, const char *in)
{
    snprintf(run->folder, sizeof run->folder, "%s/feedmill-score-XXXXXX", in);
    return mkdtemp(run->folder) != NULL;
}

static enum rc start(struct run *run, struct err *err)
{
    char *own[] = {(char *)"/proc/self/exe", (char *)"serve", NULL};
    enum rc rc;

    if (!make_folder(run, "/dev/shm") && !make_folder(run, "/tmp"))
        return err_set(err, RC_IO, "no folder in /tmp: %s", strerror(errno));
    if ((rc = score_server_start(&run->server, err)) != RC_OK ||
        (rc = open_clock(run, err)) != RC_OK || (rc = set_environment(run, err)) != RC_OK)
        return rc;
    return score_child_start(&run->child, run->plan->argv != NULL ? run->plan->argv : own, err);
}

static void clean(struct run *run)
{
    static const char *const names[] = {"clock", "feeds.opml", "feeds.db", "feeds.db-wal",
                                        "feeds.db-shm"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unlink(in_folder(run, names[i]));
    rmdir(run->folder);
}

enum rc score_run(const struct score_plan *plan, struct score_record *rec, struct err *err)
{
    struct run run = {
        .plan = plan, .listener = -1, .led = -1, .child = {.out = -1}, .arena = ARENA_INIT};
    enum rc rc;

    signal(SIGINT, on_signal); /* so that the fetcher is ended and the folder is removed */
    signal(SIGTERM, on_signal);
    rc = start(&run, err);

    *rec = (struct score_record)SCORE_RECORD_INIT;
    if (rc == RC_OK)
        rc = live(&run, err);
    if (run.server != NULL)
        score_server_stop(&run.server, rec);
    rec->is_early = run.is_early;
    if (run.led >= 0)
        close(run.led);
    if (run.listener >= 0)
        close(run.listener);
    score_child_stop(&run.child);
    clean(&run);
    arena_release(&run.arena);
    return rc;
}
