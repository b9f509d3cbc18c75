/* storage/pg/link.c - connects, waits, stops; what a failure says.
 *
 * libpq looks names up in the thread that connects, which may take half a minute when no name
 * server answers. So a thread of its own makes each attempt. One that is late is asked again by the
 * next call. When the link is stopped or freed meanwhile it is left behind: it ends by itself, and
 * closes what it has opened. */
#include "storage/pg/link_priv.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/pulse.h"
#include "storage/pg/uri.h"

#define VERSION_MIN 150000
#define FIRST_MS 12000
#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 5000

/* One attempt to connect. It belongs to both threads, and the last one frees it. */
struct pg_attempt {
    pthread_mutex_t lock;
    int done_fd; /* eventfd */
    char **keywords, **values;
    PGconn *conn;
    bool is_done, is_left;
};

struct pg_link *pg_link_new(const struct pg_link_cfg *cfg)
{
    struct pg_link *l = NEW(struct pg_link);

    l->cfg = *cfg;
    l->lost_at_ms = clock_mono_ms();
    l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ASSERT(l->stop_fd >= 0);
    return l;
}

static void signal_fd(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof one) < 0)
        return; /* it is readable already */
}

void pg_link_stop(struct pg_link *l)
{
    signal_fd(l->stop_fd);
}

bool pg_is_connected(const struct pg_link *l)
{
    return l->conn != NULL;
}

int64_t pg_away_ms(const struct pg_link *l)
{
    int64_t lost_at_ms = l->lost_at_ms;

    return lost_at_ms == 0 ? -1 : clock_mono_ms() - lost_at_ms;
}

int64_t pg_travelling_ms(const struct pg_link *l)
{
    int64_t trip_at_ms = l->trip_at_ms;

    return trip_at_ms == 0 ? 0 : clock_mono_ms() - trip_at_ms;
}

int pg_session(const struct pg_link *l)
{
    return l->session;
}

const char *pg_shown(const struct pg_link *l)
{
    return pg_uri_shown(l->cfg.uri);
}

void *pg_ctx(const struct pg_link *l)
{
    return l->cfg.ctx;
}

void pg_set_answer_ms(struct pg_link *l, int64_t ms)
{
    l->cfg.answer_ms = ms;
}

enum pg_fault pg_fault(const struct pg_link *l)
{
    return l->fault;
}

int64_t pg_trips(const struct pg_link *l)
{
    return l->n_trips;
}

/* Messages of libpq have several lines, and one for each host. */
static void join_lines(char *text)
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    for (; *text != '\0'; text++)
        if (*text == '\n')
            *text = ';';
        else if (*text == '\t')
            *text = ' ';
}

static void fail_with(struct pg_link *l, enum pg_fault fault, const char *sentence,
                      const char *text)
{
    AUTO(mem_autofree) char *copy = mem_strdup(text == NULL ? "" : text);

    if (l->fault != PG_FAULT_NONE)
        return;
    join_lines(copy);
    pg_uri_hide(l->cfg.uri, l->conn == NULL ? NULL : PQpass(l->conn), copy);
    l->fault = fault;
    err_set(&l->trouble, pg_fault_rc(fault), "%s%s%s", sentence, *copy == '\0' ? "" : ": ", copy);
}

void pg_fail(struct pg_link *l, enum pg_fault fault, const char *text)
{
    fail_with(l, fault, pg_fault_sentence(fault), text);
}

enum rc pg_tell(struct pg_link *l, struct err *err)
{
    if (l->fault == PG_FAULT_NONE)
        return RC_OK;
    return err_set(err, l->trouble.rc, "%s", l->trouble.text);
}

void pg_drop(struct pg_link *l)
{
    if (l->conn != NULL && l->lost_at_ms == 0)
        l->lost_at_ms = clock_mono_ms();
    l->session = 0;
    PQfinish(l->conn);
    l->conn = NULL;
    memset(l->slots, 0, sizeof l->slots);
    l->n_slots = 0;
}

void pg_drop_if_ended(struct pg_link *l)
{
    struct pollfd fd = {.events = POLLIN};

    if (l->conn == NULL || (l->n_items > 0 && !l->has_run))
        return;
    fd.fd = PQsocket(l->conn);
    while (poll(&fd, 1, 0) > 0) /* it says why, and then there is the end */
        if (PQconsumeInput(l->conn) != 1 || PQstatus(l->conn) != CONNECTION_OK) {
            pg_drop(l);
            return;
        }
}

static int left_ms(int64_t until_ms)
{
    int64_t left = until_ms == INT64_MAX ? -1 : until_ms - clock_mono_ms();

    if (until_ms != INT64_MAX && left < 0)
        return 0;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

enum pg_wait pg_wait(struct pg_link *l, int fd, short events, int64_t until_ms)
{
    struct pollfd fds[2] = {{.fd = l->stop_fd, .events = POLLIN}, {.fd = fd, .events = events}};

    for (;;) {
        int n = poll(fds, 2, (int)pulse_wait_ms(left_ms(until_ms)));

        pulse_beat();
        if (n > 0 && fds[0].revents != 0)
            return PG_STOPPED;
        if (n > 0)
            return PG_READY;
        if (n == 0 && left_ms(until_ms) == 0)
            return PG_LATE;
    }
}

/* Take the notifications that have come. */
static bool is_notified(struct pg_link *l, const char *ours)
{
    bool is_news = false;
    PGnotify *n;

    while ((n = PQnotifies(l->conn)) != NULL) {
        is_news |= strcmp(n->extra, ours) != 0;
        PQfreemem(n);
    }
    return is_news;
}

enum rc pg_listen(struct pg_link *l, int wake_fd, int64_t ms, const char *ours, struct err *err)
{
    int64_t until_ms = clock_mono_ms() + ms;
    uint64_t count;
    int n = 1;

    pg_new_trip(l);
    while (n > 0 && !is_notified(l, ours)) {
        struct pollfd fds[] = {{.fd = l->stop_fd, .events = POLLIN},
                               {.fd = wake_fd, .events = POLLIN},
                               {.fd = PQsocket(l->conn), .events = POLLIN}};

        n = poll(fds, ARRAY_LEN(fds), left_ms(until_ms));
        if (n > 0 && fds[0].revents != 0) {
            pg_fail(l, PG_FAULT_STOPPED, NULL);
            return pg_tell(l, err);
        }
        if (n > 0 && fds[2].revents != 0 && PQconsumeInput(l->conn) == 0) {
            pg_fail(l, PG_FAULT_LOST, PQerrorMessage(l->conn));
            pg_drop(l);
            return pg_tell(l, err);
        }
        if (n > 0 && fds[1].revents != 0 && read(wake_fd, &count, sizeof count) > 0)
            return RC_OK;
        n = n < 0 ? 1 : n; /* a signal */
    }
    return RC_OK;
}

static char **copy_list(const char *const *list)
{
    size_t n = 0;
    char **copy;

    while (list[n] != NULL)
        n++;
    copy = mem_zalloc((n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(list[i]);
    return copy;
}

static void free_list(char **list)
{
    for (size_t i = 0; list[i] != NULL; i++)
        mem_free(list[i]);
    mem_free(list);
}

static struct pg_attempt *attempt_new(struct pg_link *l)
{
    struct pg_attempt *a = NEW(struct pg_attempt);
    const char *const *keywords, *const *values;

    pg_uri_parameters(l->cfg.uri, l->cfg.for_writing, &keywords, &values);
    a->keywords = copy_list(keywords);
    a->values = copy_list(values);
    a->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ASSERT(a->done_fd >= 0);
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

static void attempt_free(struct pg_attempt *a)
{
    pthread_mutex_destroy(&a->lock);
    close(a->done_fd);
    free_list(a->keywords);
    free_list(a->values);
    mem_free(a);
}

static void *attempt_run(void *arg)
{
    struct pg_attempt *a = arg;
    PGconn *conn =
        PQconnectdbParams((const char *const *)a->keywords, (const char *const *)a->values, 0);
    bool is_left;

    pthread_mutex_lock(&a->lock);
    a->conn = conn;
    a->is_done = true;
    is_left = a->is_left;
    signal_fd(a->done_fd);
    pthread_mutex_unlock(&a->lock);
    if (is_left) {
        PQfinish(conn);
        attempt_free(a);
    }
    return NULL;
}

static void attempt_start(struct pg_attempt *a)
{
    pthread_t thread;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    ASSERT(pthread_create(&thread, NULL, attempt_run, a) == 0);
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Take the connection, or leave the attempt to itself: NULL. */
static PGconn *attempt_end(struct pg_attempt *a, bool leave)
{
    PGconn *conn;
    bool is_done;

    pthread_mutex_lock(&a->lock);
    is_done = a->is_done;
    a->is_left = leave;
    conn = a->conn;
    pthread_mutex_unlock(&a->lock);
    if (!is_done)
        return NULL;
    attempt_free(a);
    if (leave) {
        PQfinish(conn);
        return NULL;
    }
    return conn;
}

static bool attempt_is_done(struct pg_attempt *a)
{
    bool is_done;

    pthread_mutex_lock(&a->lock);
    is_done = a->is_done;
    pthread_mutex_unlock(&a->lock);
    return is_done;
}

static void leave(struct pg_link *l)
{
    if (l->late != NULL)
        (void)attempt_end(l->late, true);
    l->late = NULL;
}

void pg_link_free(struct pg_link **lp)
{
    struct pg_link *l = *lp;

    if (l == NULL)
        return;
    pg_drop(l);
    pg_new_trip(l);
    leave(l);
    close(l->stop_fd);
    mem_free(l->items);
    mem_free(l);
    *lp = NULL;
}

/* Has the attempt ended without a connection, or has the server closed that meanwhile? */
static bool attempt_is_vain(struct pg_attempt *a)
{
    struct pollfd fd = {.events = POLLRDHUP};

    if (!attempt_is_done(a))
        return false;
    fd.fd = PQsocket(a->conn);
    return PQstatus(a->conn) != CONNECTION_OK || poll(&fd, 1, 0) > 0;
}

/* The attempt that was late the last time, or a new one. */
static struct pg_attempt *attempt_of(struct pg_link *l)
{
    struct pg_attempt *a;

    if (l->late != NULL && attempt_is_vain(l->late))
        leave(l);
    if (l->late != NULL)
        return l->late;
    a = attempt_new(l);
    attempt_start(a);
    return a;
}

/* A commit that did not wait for its standby says so by a warning (src/backend/replication/
 * syncrep.c); everything else that the server notes is of no interest. */
static void on_notice(void *ctx, const PGresult *notice)
{
    struct pg_link *l = ctx;
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);

    if (l->is_committing && state != NULL &&
        (strcmp(state, "01000") == 0 || strcmp(state, "57P01") == 0))
        l->is_warned = true;
}

static enum rc refuse(struct pg_link *l, struct err *err, const char *what, const char *want)
{
    pg_drop(l);
    l->fault = PG_FAULT_REFUSED;
    return err_set(err, RC_UNSUPPORTED, "the database %s %s; Feedmill needs %s",
                   pg_uri_shown(l->cfg.uri), what, want);
}

static enum rc greet(struct pg_link *l, struct err *err)
{
    const char *encoding = PQparameterStatus(l->conn, "server_encoding");
    char what[64];

    if (PQserverVersion(l->conn) < VERSION_MIN) {
        snprintf(what, sizeof what, "is of PostgreSQL %d", PQserverVersion(l->conn) / 10000);
        return refuse(l, err, what, "15 or later");
    }
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0) {
        snprintf(what, sizeof what, "is in the encoding %.20s",
                 encoding == NULL ? "of nobody knows what" : encoding);
        return refuse(l, err, what, "UTF8");
    }
    PQsetNoticeReceiver(l->conn, on_notice, l);
    PQsetnonblocking(l->conn, 1);
    PQenterPipelineMode(l->conn);
    return RC_OK;
}

/* There is a connection: say so, when it has done what it does first. */
static enum rc settle_in(struct pg_link *l, struct err *err)
{
    enum rc rc = greet(l, err);

    if (rc == RC_OK && l->cfg.on_connect != NULL)
        rc = l->cfg.on_connect(l, err);
    if (rc != RC_OK) {
        pg_drop(l);
        return rc;
    }
    l->n_failures = 0;
    l->session = PQbackendPID(l->conn);
    l->lost_at_ms = 0;
    return RC_OK;
}

/* `ms`: for how long to wait; 0: as long as it takes. */
static enum rc connect_within(struct pg_link *l, int64_t ms, struct err *err)
{
    struct pg_attempt *a = attempt_of(l);
    enum pg_wait waited;

    pg_drop(l);
    pg_new_trip(l);
    l->n_failures++;
    waited = pg_wait(l, a->done_fd, POLLIN, ms == 0 ? INT64_MAX : clock_mono_ms() + ms);
    l->late = waited == PG_LATE ? a : NULL;
    l->conn = waited == PG_LATE ? NULL : attempt_end(a, waited == PG_STOPPED);
    if (waited == PG_STOPPED) {
        pg_fail(l, PG_FAULT_STOPPED, NULL);
    } else if (waited == PG_LATE) {
        fail_with(l, PG_FAULT_LOST, "cannot connect to the database", "it does not answer");
    } else if (PQstatus(l->conn) != CONNECTION_OK) {
        fail_with(l, PG_FAULT_LOST, "cannot connect to the database", PQerrorMessage(l->conn));
        pg_drop(l);
    } else {
        return settle_in(l, err);
    }
    return pg_tell(l, err);
}

enum rc pg_connect(struct pg_link *l, struct err *err)
{
    return connect_within(l, l->cfg.connect_ms, err);
}

enum rc pg_connect_first(struct pg_link *l, struct err *err)
{
    return connect_within(l, FIRST_MS, err);
}

int64_t pg_pause_ms(int n_failures, uint32_t chance)
{
    int64_t pause = PAUSE_MIN_MS;

    while (n_failures-- > 0 && pause < PAUSE_MAX_MS)
        pause *= 2;
    if (pause > PAUSE_MAX_MS)
        pause = PAUSE_MAX_MS;
    return pause / 2 + chance % (uint64_t)(pause - pause / 2 + 1);
}

enum rc pg_reconnect(struct pg_link *l, struct err *err)
{
    uint32_t chance;

    digest_random(&chance, sizeof chance);
    pg_drop(l);
    if (pg_wait(l, -1, 0, clock_mono_ms() + pg_pause_ms(l->n_failures, chance)) == PG_STOPPED) {
        pg_new_trip(l);
        pg_fail(l, PG_FAULT_STOPPED, NULL);
        return pg_tell(l, err);
    }
    return pg_connect(l, err);
}
