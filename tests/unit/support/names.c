/* tests/unit/support/names.c - see names.h. */
#include "tests/unit/support/names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

struct names {
    int fd, port;
    pthread_t thread;
    int questions; /* atomic */
};

static const struct {
    const char *name;
    unsigned char addrs[2][4];
} known_names[] = {
    {"a.test", {{127, 0, 0, 1}}},
    {"two.test", {{127, 0, 0, 3}, {127, 0, 0, 1}}},
    {"inside.test", {{10, 0, 0, 1}}},
    {"mixed.test", {{10, 0, 0, 1}, {127, 0, 0, 1}}},
};

/* Write the reply over a question of `n` bytes (RFC 1035 §4.1). Returns its length. */
static size_t reply(unsigned char *p, size_t n)
{
    char name[300] = "";
    size_t at = 12, end, row = 0;
    unsigned type, count = 0;

    while (at < n && p[at] != 0 && at + p[at] < n && strlen(name) + p[at] < sizeof name - 2) {
        strncat(name, (char *)p + at + 1, p[at]);
        at += 1u + p[at];
        if (p[at] != 0)
            strcat(name, ".");
    }
    type = (unsigned)p[at + 1] << 8 | p[at + 2];
    end = at + 5;
    while (row < ARRAY_LEN(known_names) && strcasecmp(known_names[row].name, name) != 0)
        row++;
    p[2] = 0x81;
    p[3] = row < ARRAY_LEN(known_names) ? 0x80 : 0x83;
    if (row < ARRAY_LEN(known_names) && type == 1)
        for (int i = 0; i < 2 && known_names[row].addrs[i][0] != 0; i++, count++) {
            static const unsigned char head[] = {0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4};

            memcpy(p + end, head, sizeof head);
            memcpy(p + end + sizeof head, known_names[row].addrs[i], 4);
            end += sizeof head + 4;
        }
    p[6] = 0;
    p[7] = (unsigned char)count;
    memset(p + 8, 0, 4);
    return strcasecmp(name, "mute.test") == 0 ? 0 : end;
}

static void *names_run(void *ctx)
{
    struct names *s = ctx;
    unsigned char packet[1024];

    for (;;) {
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        ssize_t n = recvfrom(s->fd, packet, 512, 0, (struct sockaddr *)&from, &len);
        size_t out;

        if (n < 12)
            return NULL;
        __atomic_add_fetch(&s->questions, 1, __ATOMIC_RELAXED);
        out = reply(packet, (size_t)n);
        if (out > 0)
            (void)sendto(s->fd, packet, out, 0, (struct sockaddr *)&from, len);
    }
}

struct names *names_new(void)
{
    struct names *s = NEW(struct names);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, sizeof at) == 0);
    ASSERT(getsockname(s->fd, (struct sockaddr *)&at, &len) == 0);
    s->port = ntohs(at.sin_port);
    ASSERT(pthread_create(&s->thread, NULL, names_run, s) == 0);
    return s;
}

void names_free(struct names **np)
{
    struct names *s = *np;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    /* too short for a question: the thread ends */
    (void)sendto(s->fd, "", 1, 0, (struct sockaddr *)&to, sizeof to);
    pthread_join(s->thread, NULL);
    close(s->fd);
    mem_free(s);
    *np = NULL;
}

int names_port(const struct names *s)
{
    return s->port;
}

int names_questions(struct names *s)
{
    return __atomic_load_n(&s->questions, __ATOMIC_RELAXED);
}
