/* storage/memcached.c - calls of libmemcached, and the form of the values.
 *
 * When a server hangs, libmemcached waits for the whole timeout in each call. The breaker prevents
 * this.
 *
 * A value has: magic; the lengths of meta, body and gzip (little endian; gzip 0xFFFFFFFF: there is
 * none); a checksum of the rest; meta, body and gzip. */
#include "storage/memcached.h"

#include <libmemcached/memcached.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"

#define MAGIC "fmd1"
#define HEADER_LEN (4 + 3 * 4 + 16)
#define NO_GZIP 0xFFFFFFFFu
#define KEY_LEN (3 + 2 * DIGEST_SHA256_LEN)

#define FAILURES_MAX 2
#define PAUSE_MIN_MS 2000
#define PAUSE_MAX_MS 30000

struct far_cache {
    memcached_st *st;
    struct breaker breaker;
    char log_id[40];
};

bool breaker_allows(const struct breaker *b, int64_t now_ms)
{
    return b->pause_ms == 0 || now_ms >= b->closed_at;
}

void breaker_note(struct breaker *b, bool ok, int64_t now_ms)
{
    if (ok) {
        *b = (struct breaker){0};
        return;
    }
    b->n_failures++;
    if (b->n_failures < FAILURES_MAX)
        return; /* before the first pause, one failure is allowed */
    b->pause_ms = b->pause_ms == 0 ? PAUSE_MIN_MS : b->pause_ms * 2;
    if (b->pause_ms > PAUSE_MAX_MS)
        b->pause_ms = PAUSE_MAX_MS;
    b->closed_at = now_ms + b->pause_ms;
}

enum rc far_address(struct str server, char **host, int *port, struct err *err)
{
    size_t at = server.len;
    int64_t n = 0;

    while (at > 0 && server.ptr[at - 1] != ':')
        at--;
    if (at < 2 || !str_to_i64(str_slice(server, at, server.len), &n) || n < 1 || n > 65535)
        return err_set(err, RC_INPUT,
                       "\"%.*s\" is not the address of a server; write HOST:PORT, as in 127.0.0.1:11211",
                       STR_ARG(server));
    *host = mem_strndup(server.ptr, at - 1);
    *port = (int)n;
    return RC_OK;
}

enum rc far_open(struct str server, struct str log_id, int call_ms, struct far_cache **out,
                 struct err *err)
{
    struct far_cache *m;
    char *host;
    int port;

    if (far_address(server, &host, &port, err) != RC_OK)
        return RC_INPUT;
    m = NEW(struct far_cache);
    m->st = memcached_create(NULL);
    ASSERT(m->st != NULL); /* it fails only when memory is out */
    snprintf(m->log_id, sizeof m->log_id, "%.*s", STR_ARG(log_id));
    memcached_behavior_set(m->st, MEMCACHED_BEHAVIOR_NO_BLOCK, 1);
    memcached_behavior_set(m->st, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
    memcached_behavior_set(m->st, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, (uint64_t)call_ms);
    memcached_behavior_set(m->st, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, (uint64_t)call_ms);
    memcached_behavior_set(m->st, MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 0); /* the breaker decides */
    memcached_behavior_set(m->st, MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT, 0);
    memcached_server_add(m->st, host, (in_port_t)port);
    mem_free(host);
    *out = m;
    return RC_OK;
}

void far_close(struct far_cache **mp)
{
    if (*mp == NULL)
        return;
    memcached_free((*mp)->st);
    mem_free(*mp);
    *mp = NULL;
}

static void far_key(const struct far_cache *m, struct str key, char out[KEY_LEN + 1])
{
    unsigned char hash[DIGEST_SHA256_LEN];
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    buf_puts(&b, m->log_id);
    buf_putc(&b, '\n');
    buf_str(&b, key);
    digest_sha256(buf_view(&b), hash);
    memcpy(out, "fm:", 3);
    digest_hex(hash, sizeof hash, out + 3);
}

static void note(struct far_cache *m, memcached_return_t got)
{
    bool ok = got == MEMCACHED_SUCCESS || got == MEMCACHED_NOTFOUND || got == MEMCACHED_E2BIG ||
              got == MEMCACHED_STORED || got == MEMCACHED_BUFFERED;

    if (!ok) {
        stats_inc(STAT_memcached_error_total);
        log_warn("storage", "memcached_failed", "error=%s failures=%d",
                 log_quote(str_from(memcached_strerror(m->st, got))), m->breaker.n_failures + 1);
        memcached_quit(m->st); /* a late answer must not be taken for the answer to the next call */
    }
    breaker_note(&m->breaker, ok, clock_mono_ms());
}

static void put_u32(struct buf *b, uint32_t n)
{
    unsigned char le[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                           (unsigned char)(n >> 24)};

    buf_append(b, le, 4);
}

static uint32_t get_u32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

static bool decode(struct str value, struct cached_doc *out)
{
    unsigned char sum[16];
    uint32_t meta_len, body_len, gzip_len;
    bool has_gzip;
    struct str rest;

    if (value.len < HEADER_LEN || memcmp(value.ptr, MAGIC, 4) != 0)
        return false;
    meta_len = get_u32(value.ptr + 4);
    body_len = get_u32(value.ptr + 8);
    gzip_len = get_u32(value.ptr + 12);
    has_gzip = gzip_len != NO_GZIP;
    if (!has_gzip)
        gzip_len = 0;
    rest = str_slice(value, HEADER_LEN, value.len);
    if ((uint64_t)meta_len + body_len + gzip_len != rest.len)
        return false;
    digest_content(rest, sum);
    if (memcmp(sum, value.ptr + 16, 16) != 0)
        return false;
    out->meta = str_of(mem_strndup(rest.ptr, meta_len), meta_len);
    out->body = blob_copy(str_of(rest.ptr + meta_len, body_len));
    out->gzip = has_gzip ? blob_copy(str_of(rest.ptr + meta_len + body_len, gzip_len)) : NULL;
    return true;
}

bool far_find(struct far_cache *m, struct str key, struct cached_doc *out)
{
    char name[KEY_LEN + 1];
    memcached_return_t got;
    uint32_t flags;
    size_t len = 0;
    char *value;
    bool hit;

    if (!breaker_allows(&m->breaker, clock_mono_ms()))
        return false;
    far_key(m, key, name);
    value = memcached_get(m->st, name, KEY_LEN, &len, &flags, &got);
    note(m, got);
    hit = value != NULL && decode(str_of(value, len), out);
    free(value);
    stats_inc(hit ? STAT_memcached_hit_total : STAT_memcached_miss_total);
    return hit;
}

void far_add(struct far_cache *m, struct str key, const struct cached_doc *doc)
{
    AUTO(buf_release) struct buf b = BUF_INIT(MEMCACHED_VALUE_MAX);
    struct str body = blob_bytes(doc->body), gzip = blob_bytes(doc->gzip);
    char name[KEY_LEN + 1];
    unsigned char sum[16] = {0};

    if (doc->meta.len + body.len + gzip.len + HEADER_LEN > MEMCACHED_VALUE_MAX ||
        !breaker_allows(&m->breaker, clock_mono_ms()))
        return;
    buf_puts(&b, MAGIC);
    put_u32(&b, (uint32_t)doc->meta.len);
    put_u32(&b, (uint32_t)body.len);
    put_u32(&b, doc->gzip == NULL ? NO_GZIP : (uint32_t)gzip.len);
    buf_append(&b, sum, sizeof sum);
    buf_str(&b, doc->meta);
    buf_str(&b, body);
    buf_str(&b, gzip);
    digest_content(str_slice(buf_view(&b), HEADER_LEN, b.len), sum);
    memcpy(b.ptr + 16, sum, sizeof sum);
    far_key(m, key, name);
    note(m, memcached_set(m->st, name, KEY_LEN, b.ptr, b.len, 0, 0));
}
