/* base/digest.c - hashes and randomness. */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <xxhash.h>

#include "base/assert.h"
#include "base/mem.h"

static uint64_t seed;

void digest_init(void)
{
    /* A thread may still use the library while the process exits: one that connects to PostgreSQL,
     * for which nobody waits any more. So the library is not taken down at the exit. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    digest_random(&seed, sizeof seed);
}

uint64_t digest_seeded64(const void *p, size_t n)
{
    return XXH3_64bits_withSeed(p, n, seed);
}

void digest_content(struct str s, unsigned char out[16])
{
    XXH128_canonical_t c;

    XXH128_canonicalFromHash(&c, XXH3_128bits(s.ptr, s.len));
    memcpy(out, c.digest, 16);
}

/* Finding an algorithm in the library takes longer than hashing a short text. So each is found
 * once, and kept. */
static struct {
    pthread_once_t once;
    EVP_MD *sha1, *sha256;
    EVP_MAC_CTX *hmac[DIGEST_KINDS_];
} found = {.once = PTHREAD_ONCE_INIT};

/* A thread's own contexts, which it uses again. */
static _Thread_local EVP_MAC_CTX *own[DIGEST_KINDS_];
static _Thread_local EVP_MD_CTX *own_md;
static pthread_key_t own_key;

static void free_own(void *p UNUSED)
{
    for (size_t i = 0; i < DIGEST_KINDS_; i++) {
        EVP_MAC_CTX_free(own[i]);
        own[i] = NULL;
    }
    EVP_MD_CTX_free(own_md);
    own_md = NULL;
}

static void find_all(void)
{
    static char names[DIGEST_KINDS_][8] = {"SHA1", "SHA256", "SHA384", "SHA512"};
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);

    found.sha1 = EVP_MD_fetch(NULL, names[DIGEST_SHA1], NULL);
    found.sha256 = EVP_MD_fetch(NULL, names[DIGEST_SHA256], NULL);
    ASSERT(found.sha1 != NULL && found.sha256 != NULL && mac != NULL);
    for (size_t i = 0; i < DIGEST_KINDS_; i++) {
        OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", names[i], 0),
                               OSSL_PARAM_construct_end()};

        found.hmac[i] = EVP_MAC_CTX_new(mac);
        ASSERT(found.hmac[i] != NULL && EVP_MAC_CTX_set_params(found.hmac[i], params) == 1);
    }
    EVP_MAC_free(mac); /* the contexts hold it */
    ASSERT(pthread_key_create(&own_key, free_own) == 0);
}

static EVP_MAC_CTX *own_hmac(enum digest_kind kind)
{
    (void)pthread_once(&found.once, find_all);
    if (own[kind] == NULL) {
        own[kind] = EVP_MAC_CTX_dup(found.hmac[kind]);
        ASSERT(own[kind] != NULL && pthread_setspecific(own_key, own) == 0);
    }
    return own[kind];
}

void digest_sha256(struct str s, unsigned char out[DIGEST_SHA256_LEN])
{
    int ok;

    (void)pthread_once(&found.once, find_all);
    ok = EVP_Digest(s.ptr, s.len, out, NULL, found.sha256, NULL);
    ASSERT(ok == 1);
}

struct digest_run {
    EVP_MD_CTX *ctx;
};

struct digest_run *digest_run_new(void)
{
    struct digest_run *d = NEW(struct digest_run);
    int ok;

    (void)pthread_once(&found.once, find_all);
    d->ctx = EVP_MD_CTX_new();
    ASSERT(d->ctx != NULL);
    ok = EVP_DigestInit_ex(d->ctx, found.sha256, NULL);
    ASSERT(ok == 1);
    return d;
}

void digest_run_add(struct digest_run *d, struct str s)
{
    int ok = EVP_DigestUpdate(d->ctx, s.ptr, s.len);

    ASSERT(ok == 1);
}

void digest_run_end(struct digest_run **dp, unsigned char out[DIGEST_SHA256_LEN])
{
    struct digest_run *d = *dp;
    int ok = 1;

    if (d == NULL)
        return;
    if (out != NULL)
        ok = EVP_DigestFinal_ex(d->ctx, out, NULL);
    ASSERT(ok == 1);
    EVP_MD_CTX_free(d->ctx);
    mem_free(d);
    *dp = NULL;
}

size_t digest_hmac_parts(enum digest_kind kind, struct str key, const struct str *parts, size_t n,
                         unsigned char out[DIGEST_MAX_LEN])
{
    EVP_MAC_CTX *mac = own_hmac(kind);
    size_t len = 0;
    bool ok =
        EVP_MAC_init(mac, (const unsigned char *)(key.len > 0 ? key.ptr : ""), key.len, NULL) == 1;

    for (size_t i = 0; i < n && ok; i++)
        ok = parts[i].len == 0 ||
             EVP_MAC_update(mac, (const unsigned char *)parts[i].ptr, parts[i].len) == 1;
    ok = ok && EVP_MAC_final(mac, out, &len, DIGEST_MAX_LEN) == 1;
    ASSERT(ok);
    return len;
}

size_t digest_hmac(enum digest_kind kind, struct str key, struct str data,
                   unsigned char out[DIGEST_MAX_LEN])
{
    return digest_hmac_parts(kind, key, &data, 1, out);
}

void digest_hex(const unsigned char *p, size_t n, char *out)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = hex[p[i] >> 4];
        out[2 * i + 1] = hex[p[i] & 15];
    }
    out[2 * n] = '\0';
}

void digest_random(void *out, size_t n)
{
    int ok = RAND_bytes(out, (int)n);

    ASSERT(ok == 1);
}

static void uuid_text(unsigned char u[16], unsigned version, char out[37])
{
    u[6] = (unsigned char)((u[6] & 0x0F) | (version << 4));
    u[8] = (unsigned char)((u[8] & 0x3F) | 0x80);
    snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
             u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

/* The thread's own context for short texts. */
static EVP_MD_CTX *own_context(void)
{
    (void)pthread_once(&found.once, find_all);
    if (own_md == NULL) {
        own_md = EVP_MD_CTX_new();
        ASSERT(own_md != NULL && pthread_setspecific(own_key, own) == 0);
    }
    return own_md;
}

void digest_uuid5(const unsigned char ns[16], struct str name, char out[37])
{
    unsigned char md[DIGEST_MAX_LEN];
    EVP_MD_CTX *ctx = own_context();
    bool ok = EVP_DigestInit_ex(ctx, found.sha1, NULL) == 1 && EVP_DigestUpdate(ctx, ns, 16) == 1 &&
              EVP_DigestUpdate(ctx, name.ptr, name.len) == 1 && EVP_DigestFinal_ex(ctx, md, NULL) == 1;

    ASSERT(ok);
    uuid_text(md, 5, out);
}

void digest_uuid4(char out[37])
{
    unsigned char u[16];

    digest_random(u, sizeof u);
    uuid_text(u, 4, out);
}

bool digest_same(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
