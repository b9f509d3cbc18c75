/* server/score_child.c - see score_child.h. */
#include "server/score_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY "feedmill: ready on "
#define STOP_MS 10000
#define LOOK_MS 10

/* In the child. `failed` takes the error number, and closes when the command runs. */
static void become(char *const *argv, int out, int failed, pid_t parent)
{
    int error;

    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
        _exit(127);
    dup2(out, STDOUT_FILENO);
    execvp(argv[0], argv);
    error = errno;
    (void)!write(failed, &error, sizeof error);
    _exit(127);
}

/* Returns the error number of execvp(); 0: the command runs. */
static int error_of(int failed)
{
    int error;
    ssize_t n;

    do
        n = read(failed, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

enum rc score_child_start(struct score_child *c, char *const *argv, struct err *err)
{
    int ends[2], failed[2], error;
    pid_t parent = getpid(), pid;

    *c = (struct score_child){.out = -1, .said = BUF_INIT((size_t)1 << 16)};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, RC_IO, "no pipe: %s", strerror(errno));
    if (pipe2(failed, O_CLOEXEC) != 0) {
        error = errno;
        close(ends[0]);
        close(ends[1]);
        return err_set(err, RC_IO, "no pipe: %s", strerror(error));
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(argv, ends[1], failed[1], parent);
    error = pid < 0 ? errno : 0;
    close(ends[1]);
    close(failed[1]);
    if (pid > 0 && (error = error_of(failed[0])) != 0)
        waitpid(pid, NULL, 0);
    close(failed[0]);
    if (error != 0) {
        close(ends[0]);
        return err_set(err, RC_IO, "%s cannot be started: %s", argv[0], strerror(error));
    }
    setpgid(pid, pid); /* whoever comes first */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    c->pid = pid;
    c->out = ends[0];
    return RC_OK;
}

/* Take the complete lines out of what was said. */
static struct str take_lines(struct score_child *c, struct arena *a)
{
    struct str rest = buf_view(&c->said), url = STR_NULL;
    size_t taken = 0;

    for (ssize_t n; (n = str_chr(rest, '\n')) >= 0;
         rest = str_slice(rest, (size_t)n + 1, rest.len)) {
        struct str line = str_slice(rest, 0, (size_t)n);

        if (str_starts(line, STR(READY)))
            url = str_dup(a, str_slice(line, sizeof READY - 1, line.len));
        fprintf(stderr, "%.*s\n", STR_ARG(line));
        taken += (size_t)n + 1;
    }
    memmove(c->said.ptr, c->said.ptr + taken, c->said.len - taken);
    buf_cut(&c->said, c->said.len - taken);
    return url;
}

struct str score_child_listen(struct score_child *c, struct arena *a)
{
    char bytes[4096];
    ssize_t n;

    if (c->out < 0)
        return STR_NULL;
    n = read(c->out, bytes, sizeof bytes);
    if (n == 0) {
        close(c->out);
        c->out = -1;
    }
    if (n <= 0)
        return STR_NULL;
    buf_append(&c->said, bytes, (size_t)n);
    if (!buf_ok(&c->said)) /* a line that long says nothing to us */
        buf_reset(&c->said);
    return c->said.len > 0 ? take_lines(c, a) : STR_NULL;
}

bool score_child_has_ended(struct score_child *c)
{
    int status;

    if (c->pid > 0 && waitpid((pid_t)c->pid, &status, WNOHANG) == (pid_t)c->pid) {
        kill(-(pid_t)c->pid, SIGTERM); /* what it has left behind */
        c->pid = 0;
    }
    return c->pid == 0;
}

void score_child_stop(struct score_child *c)
{
    static const struct timespec pause = {0, LOOK_MS * 1000000L};

    if (c->pid > 0)
        kill(-(pid_t)c->pid, SIGTERM);
    for (int i = 0; i < STOP_MS / LOOK_MS && !score_child_has_ended(c); i++)
        nanosleep(&pause, NULL);
    if (c->pid > 0) {
        kill(-(pid_t)c->pid, SIGKILL);
        waitpid((pid_t)c->pid, NULL, 0);
        c->pid = 0;
    }
    if (c->out >= 0)
        close(c->out);
    c->out = -1;
    buf_release(&c->said);
}
