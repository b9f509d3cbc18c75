/* server/test_clock.c - see test_clock.h. */
#include "server/test_clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/fetcher.h"

#define LOOK_MS 1000
#define REST_LOOK_NS 100000 /* between looks whether all is done */
#define AHEAD_MAX_S 1e10 /* some 300 years */

struct test_clock {
    char *path;
    int leader; /* the socket of the program that leads; -1: the file is read */
    pthread_t thread;
    bool is_running;
    pthread_mutex_t lock; /* guards the next three */
    struct fetcher *fetcher; /* NULL: not started yet */
    pthread_cond_t end;   /* stopping was set; CLOCK_MONOTONIC */
    bool stopping;
};

/* Set the clocks ahead by the seconds of the text. False: it is not a number. */
static bool set_ahead(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || !(fabs(seconds) <= AHEAD_MAX_S))
        return false;
    clock_set_ahead_us((int64_t)(seconds * 1e6));
    return true;
}

/* True: the clocks have jumped. */
static bool look(const struct test_clock *t)
{
    int64_t before = clock_ahead_us();
    FILE *f = fopen(t->path, "re");
    char text[64];
    size_t n;

    if (f == NULL)
        return false;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    (void)set_ahead(text); /* none, so far */
    return clock_ahead_us() != before;
}

/* ---- another program leads ---- */

/* Returns a socket; -1: there is none, or nobody listens there. */
static int reach(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct stat st;
    int fd;

    if (stat(path, &st) != 0 || !S_ISSOCK(st.st_mode) || strlen(path) >= sizeof to.sun_path ||
        (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
        return -1;
    memcpy(to.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Read a line and set the clocks. There is never more than one. False: there are no more. */
static bool take_line(const struct test_clock *t)
{
    char text[64];
    size_t n = 0;
    ssize_t got = 1;

    while (got > 0 && n < sizeof text - 1 && (n == 0 || text[n - 1] != '\n')) {
        got = read(t->leader, text + n, sizeof text - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    text[n] = '\0';
    return got > 0 && set_ahead(text);
}

static bool is_stopping(struct test_clock *t)
{
    bool stopping;

    pthread_mutex_lock(&t->lock);
    stopping = t->stopping;
    pthread_mutex_unlock(&t->lock);
    return stopping;
}

/* Wait until all is done that is due, and say until when. False: the end. */
static bool tell_rest(struct test_clock *t)
{
    static const struct timespec pause = {0, REST_LOOK_NS};
    int64_t next_at;
    char text[32];
    int len;

    while (!fetcher_rests(t->fetcher, &next_at)) {
        if (is_stopping(t))
            return false;
        nanosleep(&pause, NULL);
    }
    len = snprintf(text, sizeof text, "%lld\n", (long long)next_at);
    return send(t->leader, text, (size_t)len, MSG_NOSIGNAL) == len;
}

static void *follow_main(void *ctx)
{
    struct test_clock *t = ctx;

    thread_set_name("clock");
    while (tell_rest(t) && take_line(t))
        fetcher_clock_jumped(t->fetcher);
    return NULL;
}

/* ---- a file ---- */

static void *test_clock_main(void *ctx)
{
    struct test_clock *t = ctx;

    thread_set_name("clock");
    pthread_mutex_lock(&t->lock);
    while (!t->stopping) {
        struct timespec until = clock_mono_after_ms(LOOK_MS);

        if (look(t) && t->fetcher != NULL)
            fetcher_clock_jumped(t->fetcher);
        while (!t->stopping && pthread_cond_timedwait(&t->end, &t->lock, &until) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void run(struct test_clock *t, void *(*fn)(void *))
{
    ASSERT(pthread_create(&t->thread, NULL, fn, t) == 0);
    t->is_running = true;
}

struct test_clock *test_clock_start(const char *path)
{
    struct test_clock *t = NEW(struct test_clock);
    pthread_condattr_t attr;

    t->path = mem_strdup(path);
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->end, &attr);
    pthread_condattr_destroy(&attr);
    clock_set_ahead_us(0); /* so that loops know that it may jump */
    t->leader = reach(path);
    if (t->leader >= 0)
        (void)take_line(t); /* what is wrong is found by the one who leads */
    else
        (void)look(t);
    log_warn("server", "test_clock", "file=%s ahead_s=%lld note=\"for tests, never for use\"",
             log_quote(str_from(path)), (long long)(clock_ahead_us() / 1000000));
    if (t->leader < 0)
        run(t, test_clock_main);
    return t;
}

void test_clock_follow(struct test_clock *t, struct fetcher *f)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    t->fetcher = f;
    pthread_mutex_unlock(&t->lock);
    if (t->leader >= 0)
        run(t, follow_main);
}

void test_clock_stop(struct test_clock **tp)
{
    struct test_clock *t = *tp;

    *tp = NULL;
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->end);
    pthread_mutex_unlock(&t->lock);
    if (t->leader >= 0)
        shutdown(t->leader, SHUT_RDWR);
    if (t->is_running)
        pthread_join(t->thread, NULL);
    if (t->leader >= 0)
        close(t->leader);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->end);
    mem_free(t->path);
    mem_free(t);
}
