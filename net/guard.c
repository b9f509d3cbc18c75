/* net/guard.c - checks addresses against IANA's registries of special-purpose addresses (IPv4 and
 * IPv6, as of 2025). In IPv6, only 2000::/3 is for general use, so everything outside is closed. */
#include "net/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"

struct range {
    int family;        /* AF_INET or AF_INET6 */
    int bits;          /* leading bits that count */
    uint8_t bytes[16]; /* the address, the bits after `bits` are zero */
};

struct guard {
    size_t n;
    struct range opened[];
};

#define V4(a, b, c, d, bits)                                                                       \
    {                                                                                              \
        AF_INET, (bits),                                                                           \
        {                                                                                          \
            (a), (b), (c), (d)                                                                     \
        }                                                                                          \
    }
static const struct range closed_v4[] = {
    V4(0, 0, 0, 0, 8),       /* this network, RFC 791 */
    V4(10, 0, 0, 0, 8),      /* private, RFC 1918 */
    V4(100, 64, 0, 0, 10),   /* carrier-grade NAT, RFC 6598 */
    V4(127, 0, 0, 0, 8),     /* loopback */
    V4(169, 254, 0, 0, 16),  /* link-local, and clouds' metadata, RFC 3927 */
    V4(172, 16, 0, 0, 12),   /* private, RFC 1918 */
    V4(192, 0, 0, 0, 24),    /* protocol assignments, RFC 6890 */
    V4(192, 0, 2, 0, 24),    /* documentation, RFC 5737 */
    V4(192, 31, 196, 0, 24), /* AS112, RFC 7535 */
    V4(192, 52, 193, 0, 24), /* multicast tunnels, RFC 7450 */
    V4(192, 88, 99, 0, 24),  /* 6to4 relays, RFC 7526 */
    V4(192, 168, 0, 0, 16),  /* private, RFC 1918 */
    V4(192, 175, 48, 0, 24), /* AS112, RFC 7534 */
    V4(198, 18, 0, 0, 15),   /* benchmarks, RFC 2544 */
    V4(198, 51, 100, 0, 24), /* documentation, RFC 5737 */
    V4(203, 0, 113, 0, 24),  /* documentation, RFC 5737 */
    V4(224, 0, 0, 0, 4),     /* multicast */
    V4(240, 0, 0, 0, 4),     /* reserved, and broadcast */
};

#define V6(a, b, c, d, e, f, bits)                                                                 \
    {                                                                                              \
        AF_INET6, (bits),                                                                          \
        {                                                                                          \
            (a), (b), (c), (d), (e), (f)                                                           \
        }                                                                                          \
    }
static const struct range global_v6 = V6(0x20, 0, 0, 0, 0, 0, 3);
static const struct range closed_v6[] = {
    /* inside 2000::/3 */
    V6(0x20, 0x01, 0, 0, 0, 0, 23),             /* protocol assignments: Teredo, ORCHID, ... */
    V6(0x20, 0x01, 0x0d, 0xb8, 0, 0, 32),       /* documentation, RFC 3849 */
    V6(0x26, 0x20, 0x00, 0x4f, 0x80, 0x00, 48), /* AS112, RFC 7534 */
    V6(0x3f, 0xff, 0, 0, 0, 0, 20),             /* documentation, RFC 9637 */
};

/* IPv6 addresses that lead to the IPv4 address they hold at byte `at`. */
static const struct {
    struct range range;
    int at;
} holders[] = {
    {{AF_INET6, 96, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}, 12}, /* mapped, RFC 4291 */
    {V6(0x00, 0x64, 0xff, 0x9b, 0, 0, 96), 12},                       /* NAT64, RFC 6052 */
    {V6(0x20, 0x02, 0, 0, 0, 0, 16), 2},                              /* 6to4, RFC 3056 */
};

static bool range_has(const struct range *r, int family, const uint8_t *bytes)
{
    int whole = r->bits / 8, rest = r->bits % 8;

    if (r->family != family || memcmp(r->bytes, bytes, (size_t)whole) != 0)
        return false;
    return rest == 0 || ((r->bytes[whole] ^ bytes[whole]) >> (8 - rest)) == 0;
}

static enum rc parse_cidr(struct str raw, struct range *out, struct err *err)
{
    struct range r = {.family = AF_INET};
    struct str rest = str_trim(raw), addr = str_split(&rest, '/');
    char text[INET6_ADDRSTRLEN + 1];
    int64_t bits;
    int max;

    if (addr.len < sizeof text) {
        if (addr.len > 0)
            memcpy(text, addr.ptr, addr.len);
        text[addr.len] = '\0';
    }
    if (addr.len >= sizeof text || strlen(text) != addr.len)
        r.family = AF_UNSPEC;
    else if (inet_pton(AF_INET, text, r.bytes) != 1)
        r.family = inet_pton(AF_INET6, text, r.bytes) == 1 ? AF_INET6 : AF_UNSPEC;
    if (r.family == AF_UNSPEC)
        return err_set(
            err, RC_INPUT,
            "\"%.*s\" is not an address range: write it as 10.1.0.0/16, 127.0.0.1 or fd00::/8",
            STR_ARG(str_slice(raw, 0, 100)));
    max = r.family == AF_INET ? 32 : 128;
    bits = max;
    if (!str_is_null(rest) &&
        (str_chr(rest, '-') >= 0 || !str_to_i64(rest, &bits) || bits < 0 || bits > max))
        return err_set(err, RC_INPUT, "\"%.*s\": the number after the slash must be 0 to %d",
                       STR_ARG(str_slice(raw, 0, 100)), max);
    r.bits = (int)bits;
    if (r.family == AF_INET6 && r.bits >= 96 && range_has(&holders[0].range, AF_INET6, r.bytes)) {
        memmove(r.bytes, r.bytes + 12, 4); /* ::ffff:10.0.0.0/104 says 10.0.0.0/8 */
        memset(r.bytes + 4, 0, 12);
        r.family = AF_INET;
        r.bits -= 96;
    }
    *out = r;
    return RC_OK;
}

enum rc guard_new(const struct str *cidrs, size_t n, struct guard **out, struct err *err)
{
    struct guard *g = mem_zalloc(sizeof *g + n * sizeof g->opened[0]);

    g->n = n;
    for (size_t i = 0; i < n; i++) {
        enum rc rc = parse_cidr(cidrs[i], &g->opened[i], err);

        if (rc != RC_OK) {
            guard_free(&g);
            return rc;
        }
    }
    *out = g;
    return RC_OK;
}

void guard_free(struct guard **gp)
{
    mem_free(*gp);
    *gp = NULL;
}

static bool is_opened(const struct guard *g, int family, const uint8_t *bytes)
{
    for (size_t i = 0; i < g->n; i++)
        if (range_has(&g->opened[i], family, bytes))
            return true;
    return false;
}

static bool allows_v4(const struct guard *g, const uint8_t *bytes)
{
    if (is_opened(g, AF_INET, bytes))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(closed_v4); i++)
        if (range_has(&closed_v4[i], AF_INET, bytes))
            return false;
    return true;
}

static bool allows_v6(const struct guard *g, const uint8_t *bytes)
{
    if (is_opened(g, AF_INET6, bytes))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(holders); i++)
        if (range_has(&holders[i].range, AF_INET6, bytes))
            return allows_v4(g, bytes + holders[i].at);
    if (!range_has(&global_v6, AF_INET6, bytes))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(closed_v6); i++)
        if (range_has(&closed_v6[i], AF_INET6, bytes))
            return false;
    return true;
}

/* The bytes of an address, copied out: a sockaddr need not be aligned for its family. */
static int address_bytes(const struct sockaddr *sa, uint8_t out[16])
{
    if (sa->sa_family == AF_INET) {
        memcpy(out, (const char *)sa + offsetof(struct sockaddr_in, sin_addr), 4);
        return AF_INET;
    }
    if (sa->sa_family == AF_INET6) {
        memcpy(out, (const char *)sa + offsetof(struct sockaddr_in6, sin6_addr), 16);
        return AF_INET6;
    }
    return AF_UNSPEC;
}

bool guard_allows(const struct guard *g, const struct sockaddr *sa)
{
    uint8_t bytes[16];

    switch (address_bytes(sa, bytes)) {
    case AF_INET:
        return allows_v4(g, bytes);
    case AF_INET6:
        return allows_v6(g, bytes);
    default:
        return false;
    }
}

bool guard_is_loopback(const struct sockaddr *sa)
{
    uint8_t bytes[16];

    switch (address_bytes(sa, bytes)) {
    case AF_INET:
        return bytes[0] == 127;
    case AF_INET6:
        return memcmp(bytes, &in6addr_loopback, 16) == 0 ||
               (range_has(&holders[0].range, AF_INET6, bytes) && bytes[12] == 127);
    default:
        return false;
    }
}

enum nearness guard_nearness(const struct sockaddr *sa)
{
    static const struct guard closed = {0};

    if (guard_is_loopback(sa))
        return NEAR_SELF;
    return guard_allows(&closed, sa) ? NEAR_NOT : NEAR_PRIVATE;
}
