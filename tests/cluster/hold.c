/* tests/cluster/hold.c - loaded into a node. It stops the process right before a request is sent:
 * what allowed that request was looked at a moment ago, and nothing of it is on its way.
 * FEEDMILL_HOLD names a file of one byte, which the harness sets to 'G' (the next GET) or 'P' (the
 * next POST). The byte is 's' when the process has stopped. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static char *byte;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FEEDMILL_HOLD");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (page != MAP_FAILED)
        byte = page;
    if (fd >= 0)
        close(fd);
}

/* Is it a request of that kind? */
static int begins(const void *data, size_t len, char kind)
{
    return kind == 'G' ? len > 4 && memcmp(data, "GET ", 4) == 0
                       : len > 5 && memcmp(data, "POST ", 5) == 0;
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    static ssize_t (*next)(int, const void *, size_t, int);
    char kind = byte == NULL ? 0 : __atomic_load_n(byte, __ATOMIC_ACQUIRE);

    if (next == NULL)
        next = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    if ((kind == 'G' || kind == 'P') && begins(data, len, kind) &&
        __atomic_compare_exchange_n(byte, &kind, 's', 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        kill(getpid(), SIGSTOP);
    return next(fd, data, len, flags);
}
