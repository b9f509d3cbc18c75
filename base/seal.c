/* base/seal.c - see seal.h. */
#include "base/seal.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"

#define NONCE_LEN 12
#define TAG_LEN 16
#define HEAD_LEN (SEAL_ID_LEN + NONCE_LEN)
#define SEALED "\1"
#define KEY_FILE_MAX 256 /* bytes: the digits, and white space around them */
#define KEY_BASE64_LEN 44

/* ---- the key --------------------------------------------------------------------------------- */

static void set_id(struct seal_key *key)
{
    unsigned char mac[DIGEST_MAX_LEN];

    digest_hmac(DIGEST_SHA256, str_of((const char *)key->bytes, SEAL_KEY_LEN),
                STR("the id of a key of Feedmill"), mac);
    memcpy(key->id, mac, SEAL_ID_LEN);
}

static bool read_hex(struct str text, unsigned char *out)
{
    if (text.len != (size_t)2 * SEAL_KEY_LEN)
        return false;
    for (size_t i = 0; i < SEAL_KEY_LEN; i++) {
        int high = ascii_hex(text.ptr[2 * i]), low = ascii_hex(text.ptr[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(16 * high + low);
    }
    return true;
}

static bool read_base64(struct str text, unsigned char *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str bytes = text.len == KEY_BASE64_LEN ? base64_read(&a, text) : STR_NULL;

    if (bytes.len != SEAL_KEY_LEN)
        return false;
    memcpy(out, bytes.ptr, SEAL_KEY_LEN);
    return true;
}

/* Bytes that are all printable or white space are not random ones, but a password, or half a key in digits. Those that are
 * all the same are a file that was never written. */
static bool read_raw(struct str bytes, unsigned char *out)
{
    bool is_text = true, is_one = true;

    for (size_t i = 0; i < bytes.len; i++) {
        is_text = is_text && (ascii_is_space(bytes.ptr[i]) || (bytes.ptr[i] >= ' ' && bytes.ptr[i] <= '~'));
        is_one = is_one && bytes.ptr[i] == bytes.ptr[0];
    }
    if (bytes.len != SEAL_KEY_LEN || is_text || is_one)
        return false;
    memcpy(out, bytes.ptr, SEAL_KEY_LEN);
    return true;
}

enum rc seal_key_read(struct str text, struct seal_key *out, struct err *err)
{
    struct seal_key key;

    if (!read_raw(text, key.bytes) && !read_hex(str_trim(text), key.bytes) &&
        !read_base64(str_trim(text), key.bytes))
        return err_set(err, RC_INPUT,
                       "a key is 64 hexadecimal digits ('openssl rand -hex 32' writes them), 44 characters of Base64, or 32 "
                       "random bytes and nothing else; this is none of them, and has %zu bytes",
                       text.len);
    set_id(&key);
    *out = key;
    return RC_OK;
}

enum rc seal_key_load(const char *path, struct seal_key *out, struct err *err)
{
    char text[KEY_FILE_MAX];
    FILE *f = fopen(path, "re");
    size_t len;
    enum rc rc;

    if (f == NULL)
        return err_set(err, RC_IO, "cannot read the key file %s: %s", path, strerror(errno));
    len = fread(text, 1, sizeof text, f);
    if (ferror(f))
        rc = err_set(err, RC_IO, "cannot read the key file %s: %s", path, strerror(errno));
    else if ((rc = seal_key_read(str_of(text, len), out, err)) != RC_OK)
        (void)err_prefix(err, "the key file %s", path);
    (void)fclose(f);
    return rc;
}

/* ---- sealing --------------------------------------------------------------------------------- */

/* The nonce of a text: never the same for two texts. */
static void make_nonce(const struct seal_key *key, struct str kind, struct str text,
                       unsigned char *out)
{
    unsigned char mac[DIGEST_MAX_LEN];
    struct buf b = BUF_INIT(BUF_ANY);

    buf_puts(&b, "a nonce of Feedmill");
    buf_putc(&b, '\0');
    buf_str(&b, kind);
    buf_putc(&b, '\0');
    buf_str(&b, text);
    digest_hmac(DIGEST_SHA256, str_of((const char *)key->bytes, SEAL_KEY_LEN), buf_view(&b), mac);
    memcpy(out, mac, NONCE_LEN);
    buf_release(&b);
}

/* One run of the cipher: `in` becomes `out`, which has as many bytes. `tag` is written when sealing
 * and compared when opening. False: it is not the tag of this kind, text and key. */
static bool run_cipher(bool seals, const struct seal_key *key, const unsigned char *nonce,
                       struct str kind, struct str in, unsigned char *out, unsigned char *tag)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0;
    bool ok;

    ASSERT(ctx != NULL);
    ok = EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key->bytes, nonce, seals ? 1 : 0) == 1 &&
         EVP_CipherUpdate(ctx, NULL, &n, (const unsigned char *)kind.ptr, (int)kind.len) == 1 &&
         (in.len == 0 ||
          EVP_CipherUpdate(ctx, out, &n, (const unsigned char *)in.ptr, (int)in.len) == 1) &&
         (seals || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_LEN, tag) == 1) &&
         EVP_CipherFinal_ex(ctx, out + in.len, &n) == 1 &&
         (!seals || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_LEN, tag) == 1);
    EVP_CIPHER_CTX_free(ctx);
    return ok;
}

bool seal_is_sealed(struct str text)
{
    return str_starts(text, STR(SEALED));
}

/* Base64 has six bits in each character; those of the last one may be the nonce's. */
struct str seal_beginning(struct arena *a, const struct seal_key *key)
{
    struct str id = base64_write(a, str_of((const char *)key->id, SEAL_ID_LEN));

    return str_concat(a, STR(SEALED), str_slice(id, 0, SEAL_ID_LEN * 8 / 6));
}

struct str seal_text(struct arena *a, const struct seal_key *key, struct str kind, struct str text)
{
    unsigned char *out;
    bool ok;

    ASSERT(text.len <= SEAL_TEXT_MAX && kind.len > 0);
    if (key == NULL || text.len == 0 || seal_is_sealed(text))
        return text;
    out = arena_alloc(a, HEAD_LEN + text.len + TAG_LEN);
    memcpy(out, key->id, SEAL_ID_LEN);
    make_nonce(key, kind, text, out + SEAL_ID_LEN);
    ok = run_cipher(true, key, out + SEAL_ID_LEN, kind, text, out + HEAD_LEN,
                    out + HEAD_LEN + text.len);
    ASSERT(ok);
    return str_concat(a, STR(SEALED),
                      base64_write(a, str_of((char *)out, HEAD_LEN + text.len + TAG_LEN)));
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum rc open_bytes(struct arena *a, const struct seal_key *key, struct str kind,
                          struct str sealed, struct str *out, struct err *err)
{
    const unsigned char *at = (const unsigned char *)sealed.ptr;
    struct str in = str_slice(sealed, HEAD_LEN, sealed.len - TAG_LEN);
    unsigned char tag[TAG_LEN], *text = arena_alloc(a, in.len + 1);

    if (!digest_same(at, key->id, SEAL_ID_LEN))
        return err_set(err, RC_DENIED, "it is sealed with another key than that of --key-file");
    memcpy(tag, at + sealed.len - TAG_LEN, TAG_LEN);
    if (!run_cipher(false, key, at + SEAL_ID_LEN, kind, in, text, tag))
        return err_set(err, RC_INPUT, "it was changed in the database");
    text[in.len] = '\0';
    *out = str_of((char *)text, in.len);
    return RC_OK;
}

enum rc seal_open(struct arena *a, const struct seal_key *key, struct str kind, struct str text,
                  struct str *out, struct err *err)
{
    struct str sealed;

    if (!seal_is_sealed(text)) {
        *out = text;
        return RC_OK;
    }
    if (key == NULL)
        return err_set(err, RC_DENIED, "it is sealed with a key, and --key-file is not given");
    sealed = base64_read(a, str_slice(text, sizeof SEALED - 1, text.len));
    if (sealed.len < HEAD_LEN + TAG_LEN || sealed.len > HEAD_LEN + SEAL_TEXT_MAX + TAG_LEN)
        return err_set(err, RC_INPUT, "it was changed in the database");
    return open_bytes(a, key, kind, sealed, out, err);
}
