/* server/handover.c - see handover.h.
 *
 * The numbers of the sockets are in a file without a name, whose own number stands in the
 * environment beside the id of the process: a process that inherits the variable by chance has
 * another id.
 */
#include "server/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "server/option_checks.h"

#define OURS "FEEDMILL_HANDOVER" /* PID:FILE:LISTENERS:CONNECTIONS */
#define FIRST_OF_MANAGER 3       /* SD_LISTEN_FDS_START */
#define SOCKETS_MAX 1000000
#define CHECK_TURN_US 20000
#define CHECK_TURNS 500             /* 10 s */
#define SAID_MAX 512                /* of what it says is wrong */
#define OWN_NAME "feedmill serve: " /* what it begins with */

extern char **environ;

static char program[PATH_MAX];

/* Write the path "FOLDER/NAME" to `program`, without a folder NAME, from the root on. Is it the file that
 * runs? */
static bool is_own_path(struct str folder, const char *name)
{
    char path[PATH_MAX], here[PATH_MAX] = "";
    struct stat st, own;
    int n = snprintf(path, sizeof path, "%.*s%s%s", STR_ARG(folder), folder.len > 0 ? "/" : "", name), m;

    if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
        return false;
    m = snprintf(program, sizeof program, "%s%s%s", here, here[0] != '\0' ? "/" : "", path);
    return n > 0 && (size_t)n < sizeof path && m > 0 && (size_t)m < sizeof program && stat(program, &st) == 0 &&
           stat("/proc/self/exe", &own) == 0 && st.st_dev == own.st_dev && st.st_ino == own.st_ino;
}

/* As a shell finds it: a name without a slash is looked for in PATH. */
static bool find_own_path(const char *argv0)
{
    struct str folders = str_from(getenv("PATH") != NULL ? getenv("PATH") : "");

    if (strchr(argv0, '/') != NULL)
        return is_own_path(STR(""), argv0);
    while (!str_is_null(folders))
        if (is_own_path(str_split(&folders, ':'), argv0))
            return true;
    return false;
}

void handover_note_program(const char *argv0)
{
    ssize_t n;

    if (find_own_path(argv0))
        return;
    n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
}

const char *handover_program(void)
{
    return program;
}

static enum rc fail(const char *what, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", what, strerror(errno));
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool is_socket(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The number of a variable that is meant for this process; 0: it is not there. */
static long from_manager(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

    if (pid == NULL || n == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    return strtol(n, NULL, 10);
}

static enum rc receive_manager(struct http_sockets *out, struct err *err)
{
    long n = from_manager();

    if (n <= 0 || n > SOCKETS_MAX)
        return RC_OK;
    out->listeners = mem_alloc((size_t)n * sizeof out->listeners[0]);
    for (int i = 0; i < n; i++) {
        if (!is_socket(FIRST_OF_MANAGER + i))
            return err_set(err, RC_IO, "LISTEN_FDS names %ld sockets, but descriptor %d is not one",
                           n, FIRST_OF_MANAGER + i);
        out->listeners[out->n_listeners++] = FIRST_OF_MANAGER + i;
    }
    return RC_OK;
}

static bool read_numbers(int file, int **list, size_t n)
{
    *list = mem_alloc(n * sizeof **list + 1);
    return read(file, *list, n * sizeof **list) == (ssize_t)(n * sizeof **list);
}

static enum rc receive_ours(const char *text, struct http_sockets *out, struct err *err)
{
    long pid;
    int file;
    size_t n_listeners, n_connections;

    if (sscanf(text, "%ld:%d:%zu:%zu", &pid, &file, &n_listeners, &n_connections) != 4 ||
        pid != (long)getpid() || n_listeners > SOCKETS_MAX || n_connections > SOCKETS_MAX)
        return RC_OK;
    if (lseek(file, 0, SEEK_SET) != 0 || !read_numbers(file, &out->listeners, n_listeners) ||
        !read_numbers(file, &out->connections, n_connections))
        return fail("the sockets of the daemon before this one cannot be read", err);
    out->n_listeners = n_listeners;
    out->n_connections = n_connections;
    close(file);
    return RC_OK;
}

enum rc handover_receive(struct http_sockets *out, struct err *err)
{
    const char *ours = getenv(OURS);
    enum rc rc = ours != NULL ? receive_ours(ours, out, err) : RC_OK;

    if (rc == RC_OK && out->n_listeners == 0)
        rc = receive_manager(out, err);
    unsetenv(OURS); /* children are to know nothing of it */
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return rc;
}

/* Null: it has no address, as a Unix socket. */
static struct str address_of(int fd, struct arena *a)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof at;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(fd, (struct sockaddr *)&at, &len) != 0 ||
        (at.ss_family != AF_INET && at.ss_family != AF_INET6) ||
        getnameinfo((struct sockaddr *)&at, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return STR_NULL;
    return str_printf(a, at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

struct str handover_exposed(const struct http_sockets *sockets, struct arena *a)
{
    for (size_t i = 0; i < sockets->n_listeners; i++) {
        struct str address = address_of(sockets->listeners[i], a);

        if (options_is_exposed(address))
            return address;
    }
    return STR_NULL;
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Run the program, with what it says and its errors into these files. Returns how it ended, or -1 with *err. */
static int run_program(char **args, int output, int errors, struct err *err)
{
    posix_spawn_file_actions_t files;
    int state = 0, code;
    pid_t pid, ended;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    code = posix_spawn(&pid, program, &files, NULL, args, environ);
    posix_spawn_file_actions_destroy(&files);
    if (code != 0) {
        err_set(err, RC_IO, "%s cannot be executed: %s", program, strerror(code));
        return -1;
    }
    for (int i = 0; (ended = waitpid(pid, &state, WNOHANG)) == 0; i++) {
        if (i == CHECK_TURNS) /* it hangs */
            kill(pid, SIGKILL);
        usleep(CHECK_TURN_US);
    }
    if (ended < 0)
        err_set(err, RC_IO, "nobody can say how the new program ended: %s", strerror(errno));
    return ended < 0 ? -1 : state;
}

/* The first line that is in this file. */
static void read_line(int file, char said[SAID_MAX])
{
    ssize_t len = pread(file, said, SAID_MAX - 1, 0);

    said[len > 0 ? len : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
}

/* How did "serve --check" end, and what did it say? */
static enum rc judge_check(int state, int output, int errors, struct err *err)
{
    char said[SAID_MAX], wrong[SAID_MAX];

    read_line(output, said);
    read_line(errors, wrong);
    if (state == 0 && strcmp(said, HANDOVER_IN_ORDER) == 0)
        return RC_OK;
    if (state == 0)
        return err_set(err, RC_IO, "%s is not a Feedmill: \"serve --check\" does not say that the options are in order",
                       program);
    /* a line of the log has some 200 bytes of it, and paths may be long */
    return err_set(err, RC_IO, "the new program would not start: %s",
                   wrong[0] == '\0'                                     ? "\"serve --check\" failed"
                   : strncmp(wrong, OWN_NAME, sizeof OWN_NAME - 1) == 0 ? wrong + sizeof OWN_NAME - 1
                                                                         : wrong);
}

enum rc handover_check(char **argv, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char serve[] = "serve", check[] = "--check";
    size_t n = 0;
    char **args;
    int output = memfd_create("feedmill-check", MFD_CLOEXEC), errors = memfd_create("feedmill-check", MFD_CLOEXEC);
    int state;
    enum rc rc;

    while (argv[n] != NULL)
        n++;
    args = ARENA_ARRAY(&a, char *, n + 3);
    args[0] = program;
    args[1] = serve;
    args[2] = check;
    for (size_t i = 2; i < n; i++) /* after "feedmill serve" */
        args[i + 1] = argv[i];
    if (output < 0 || errors < 0)
        rc = fail("the new program cannot be checked", err);
    else if ((state = run_program(args, output, errors, err)) < 0)
        rc = RC_IO;
    else
        rc = judge_check(state, output, errors, err);
    if (output >= 0)
        (void)close(output);
    if (errors >= 0)
        (void)close(errors);
    return rc;
}

static bool write_numbers(int file, const int *list, size_t n)
{
    return write(file, list, n * sizeof *list) == (ssize_t)(n * sizeof *list);
}

enum rc handover_execute(char **argv, const struct http_sockets *sockets, struct err *err)
{
    int file = memfd_create("feedmill-sockets", 0);
    char text[96];

    if (file < 0 || !write_numbers(file, sockets->listeners, sockets->n_listeners) ||
        !write_numbers(file, sockets->connections, sockets->n_connections))
        return fail("the sockets cannot be handed over", err);
    snprintf(text, sizeof text, "%ld:%d:%zu:%zu", (long)getpid(), file, sockets->n_listeners,
             sockets->n_connections);
    setenv(OURS, text, 1);
    execv(program, argv);
    return err_set(err, RC_IO, "%s cannot be executed: %s", program, strerror(errno));
}

/* ---- the service manager --------------------------------------------------------------------- */

void handover_tell(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path != NULL ? strlen(path) : 0;
    int fd;

    if (len < 2 || len >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
