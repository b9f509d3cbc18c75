/* server/cli_exec.c - see cli_exec.h. */
#include "server/cli_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/cli.h"

#define PAUSE_MS 200
#define PAUSE_MAX_MS 30000
#define POSITION_MAX 4096 /* bytes of a position file */

/* ---- the command ---- */

/* In the child: end with tail, however that ends. `parent`: tail, which may have ended already. */
static void end_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
        _exit(127);
}

/* Start it. *in: its standard input. -1: the system cannot. */
static pid_t start(const char *command, int *in)
{
    int ends[2];
    pid_t parent = getpid(), pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        end_with(parent);
        dup2(ends[0], STDIN_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (pid < 0)
        close(ends[1]);
    *in = ends[1];
    return pid;
}

/* Write all, unless nobody reads it: a command need not. */
static void feed(int in, struct str text)
{
    while (text.len > 0) {
        ssize_t n = write(in, text.ptr, text.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text = str_slice(text, (size_t)n, text.len);
    }
}

/* Returns how it ended, as wait() has it. */
static int run_once(const char *command, struct str text)
{
    int in = -1, status = 0;
    pid_t pid = start(command, &in), ended;

    if (pid < 0)
        return 127 << 8;
    feed(in, text);
    close(in);
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended < 0 ? 127 << 8 : status;
}

static void tell(const char *name, int status)
{
    if (WIFSIGNALED(status))
        cli_fail(name, "the command was ended by signal %d; it gets the entry again",
                 WTERMSIG(status));
    else
        cli_fail(name, "the command ended with %d; it gets the entry again", WEXITSTATUS(status));
}

void cli_exec(const char *name, const char *command, struct str text)
{
    long pause_ms = PAUSE_MS;
    int status;

    signal(SIGPIPE, SIG_IGN);
    while ((status = run_once(command, text)) != 0) {
        struct timespec ts = {pause_ms / 1000, pause_ms % 1000 * 1000000L};

        if (pause_ms == PAUSE_MS)
            tell(name, status);
        nanosleep(&ts, NULL);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

/* ---- the position ---- */

bool cli_position_read(const char *name, struct arena *a, const char *path, struct str *out)
{
    AUTO(mem_autofree) char *bytes = NULL;
    size_t len;

    *out = STR_NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return true;
    bytes = cli_read_file(name, path, POSITION_MAX, &len);
    if (bytes == NULL)
        return false;
    *out = str_dup(a, str_trim(str_of(bytes, len)));
    if (out->len > 0)
        return true;
    cli_fail(name, "%s is empty, and should have a position; remove it to begin anew", path);
    return false;
}

static bool write_all(const char *path, struct str position)
{
    FILE *f = fopen(path, "w");
    bool ok;

    if (f == NULL)
        return false;
    ok = fprintf(f, "%.*s\n", STR_ARG(position)) > 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    return fclose(f) == 0 && ok;
}

bool cli_position_write(const char *name, const char *path, struct str position)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *made = arena_printf(&a, "%s.new", path);

    if (write_all(made, position) && rename(made, path) == 0)
        return true;
    cli_fail(name, "%s: the position cannot be kept: %s", path, strerror(errno));
    (void)unlink(made);
    return false;
}
