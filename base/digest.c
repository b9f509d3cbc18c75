/* base/digest.c - hashes and randomness. */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <xxhash.h>

#include "base/assert.h"

static uint64_t seed;

void digest_init(void)
{
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

static void evp(const EVP_MD *md, struct str s, unsigned char *out)
{
    int ok = EVP_Digest(s.ptr, s.len, out, NULL, md, NULL);

    ASSERT(ok == 1);
}

void digest_sha256(struct str s, unsigned char out[DIGEST_SHA256_LEN])
{
    evp(EVP_sha256(), s, out);
}

size_t digest_hmac(enum digest_kind kind, struct str key, struct str data,
                   unsigned char out[DIGEST_MAX_LEN])
{
    const EVP_MD *md = kind == DIGEST_SHA1     ? EVP_sha1()
                       : kind == DIGEST_SHA256 ? EVP_sha256()
                       : kind == DIGEST_SHA384 ? EVP_sha384()
                                               : EVP_sha512();
    const unsigned char *bytes = (const unsigned char *)data.ptr;
    unsigned int n = 0;
    unsigned char *got = HMAC(md, key.len > 0 ? key.ptr : "", (int)key.len,
                              bytes != NULL ? bytes : (const unsigned char *)"", data.len, out, &n);

    ASSERT(got != NULL);
    return n;
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

void digest_uuid5(const unsigned char ns[16], struct str name, char out[37])
{
    unsigned char md[DIGEST_MAX_LEN];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    ASSERT(ctx != NULL);
    EVP_DigestInit_ex(ctx, EVP_sha1(), NULL);
    EVP_DigestUpdate(ctx, ns, 16);
    EVP_DigestUpdate(ctx, name.ptr, name.len);
    EVP_DigestFinal_ex(ctx, md, NULL);
    EVP_MD_CTX_free(ctx);
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
