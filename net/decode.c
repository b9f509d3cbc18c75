/* net/decode.c - zlib, brotli and zstd with one interface; headers and check sums of gzip are read here.
 *
 * inflate() gets only the deflate data, without header and check sum. So a missing check sum, which
 * is allowed, can be distinguished from missing data. */
#include "net/decode.h"

#include <brotli/decode.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/assert.h"
#include "base/mem.h"

#define PIECE 16384 /* bytes decoded at a time */

/* A byte of deflate decodes to at most 1032 bytes. A higher ratio means that the body was coded
 * twice, or that it is brotli of one byte repeated. */
#define RATIO_MAX 2000
#define RATIO_FROM (1024 * 1024) /* shorter results do no harm */

/* The largest window of zstd that an answer may need (RFC 9659 §3): 8 MB, as a power of 2. */
#define ZSTD_WINDOW_LOG 23

enum coding { CODING_NONE, CODING_GZIP, CODING_DEFLATE, CODING_BROTLI, CODING_ZSTD };

enum stage {
    STAGE_HEAD,  /* of a gzip member, of a zstd frame, or perhaps of zlib */
    STAGE_EXTRA, /* optional parts of a gzip header, in their order */
    STAGE_NAME,
    STAGE_COMMENT,
    STAGE_HEAD_SUM,
    STAGE_DATA,
    STAGE_SUM,  /* check sum and length after a gzip member */
    STAGE_DONE, /* further bytes are ignored */
};

#define GZIP_HEAD 10
#define GZIP_SUM 8
#define ZLIB_HEAD 2
enum { FLAG_HEAD_SUM = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAGS_UNKNOWN = 224 };

struct layer {
    enum coding coding;
    enum stage stage;
    unsigned char few[GZIP_HEAD]; /* bytes of an incomplete header or check sum */
    size_t n_few;
    unsigned flags;
    size_t extra;    /* bytes of the extra field to come */
    bool later;      /* it is not the first member or frame */
    uint32_t sum, n; /* of the member's data so far */
    z_stream z;      /* of gzip and deflate */
    BrotliDecoderState *brotli;
    ZSTD_DStream *zstd;
    size_t made; /* bytes that came out */
};

struct decoder {
    struct layer layers[DECODER_LAYERS]; /* in the order in which they are undone */
    size_t n_layers;
    size_t max, came;
};

static enum coding coding_of(struct str token)
{
    if (str_ieqz(token, "gzip") || str_ieqz(token, "x-gzip"))
        return CODING_GZIP;
    if (str_ieqz(token, "deflate"))
        return CODING_DEFLATE;
    if (str_ieqz(token, "zstd"))
        return CODING_ZSTD;
    return str_ieqz(token, "br") ? CODING_BROTLI : CODING_NONE;
}

static void layer_begin(struct layer *l, enum coding coding)
{
    *l = (struct layer){.coding = coding, .stage = STAGE_HEAD};
    if (coding == CODING_BROTLI) {
        l->stage = STAGE_DATA;
        l->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
        ASSERT(l->brotli != NULL);
    } else if (coding == CODING_ZSTD) {
        l->zstd = ZSTD_createDStream();
        ASSERT(l->zstd != NULL);
        ASSERT(!ZSTD_isError(
            ZSTD_DCtx_setParameter(l->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)));
    } else {
        ASSERT(inflateInit2(&l->z, -MAX_WBITS) == Z_OK);
    }
}

enum rc decoder_new(struct str codings, size_t max, struct decoder **out, struct err *err)
{
    enum coding found[DECODER_LAYERS];
    struct str token;
    struct decoder *d;
    size_t n = 0;

    *out = NULL;
    while (codings.len > 0) {
        enum coding coding;

        token = str_trim(str_split(&codings, ','));
        coding = coding_of(token);
        if (coding == CODING_NONE)
            continue;
        if (n == DECODER_LAYERS)
            return err_set(err, RC_LIMIT, "more than %d content codings", DECODER_LAYERS);
        found[n++] = coding;
    }
    if (n == 0)
        return RC_OK;
    d = NEW(struct decoder);
    d->max = max;
    while (n > 0)
        layer_begin(&d->layers[d->n_layers++], found[--n]);
    *out = d;
    return RC_OK;
}

bool decoder_knows(struct str codings)
{
    size_t n = 0;

    while (codings.len > 0) {
        struct str token = str_trim(str_split(&codings, ','));

        if (coding_of(token) != CODING_NONE)
            n++;
        else if (token.len > 0 && !str_ieqz(token, "identity"))
            return false;
    }
    return n <= DECODER_LAYERS;
}

void decoder_free(struct decoder **dp)
{
    struct decoder *d = *dp;

    if (d == NULL)
        return;
    for (size_t i = 0; i < d->n_layers; i++) {
        if (d->layers[i].brotli != NULL)
            BrotliDecoderDestroyInstance(d->layers[i].brotli);
        else if (d->layers[i].zstd != NULL)
            ZSTD_freeDStream(d->layers[i].zstd);
        else
            inflateEnd(&d->layers[i].z);
    }
    mem_free(d);
    *dp = NULL;
}

static enum rc broken(const struct layer *l, struct err *err, const char *why)
{
    static const char *const names[] = {[CODING_GZIP] = "gzip",
                                        [CODING_DEFLATE] = "deflate",
                                        [CODING_BROTLI] = "br",
                                        [CODING_ZSTD] = "zstd"};

    return err_set(err, RC_PEER, "the body is not valid %s: %s", names[l->coding], why);
}

/* ---- headers and check sums ------------------------------------------------------------------ */

/* Collect `want` bytes. True: all of them have come. */
static bool collect(struct layer *l, size_t want, struct str *in)
{
    while (l->n_few < want && in->len > 0) {
        l->few[l->n_few++] = (unsigned char)in->ptr[0];
        *in = str_slice(*in, 1, in->len);
    }
    if (l->n_few < want)
        return false;
    l->n_few = 0;
    return true;
}

/* A part of a gzip header is complete: go on to the next part that this header has. */
static void next_part(struct layer *l)
{
    do
        l->stage++;
    while ((l->stage == STAGE_EXTRA && (l->flags & FLAG_EXTRA) == 0) ||
           (l->stage == STAGE_NAME && (l->flags & FLAG_NAME) == 0) ||
           (l->stage == STAGE_COMMENT && (l->flags & FLAG_COMMENT) == 0) ||
           (l->stage == STAGE_HEAD_SUM && (l->flags & FLAG_HEAD_SUM) == 0));
}

/* Could the bytes so far begin a gzip header? Each byte is checked when it comes, so that two bytes
 * of garbage are not taken for a header that was cut. */
static bool may_be_gzip(const struct layer *l)
{
    static const unsigned char magic[] = {0x1f, 0x8b, Z_DEFLATED};

    for (size_t i = 0; i < l->n_few && i < sizeof magic; i++)
        if (l->few[i] != magic[i])
            return false;
    return l->n_few <= 3 || (l->few[3] & FLAGS_UNKNOWN) == 0;
}

static enum rc read_gzip_head(struct layer *l, struct str *in, struct err *err)
{
    while (l->n_few < GZIP_HEAD && in->len > 0) {
        l->few[l->n_few++] = (unsigned char)in->ptr[0];
        *in = str_slice(*in, 1, in->len);
        if (may_be_gzip(l))
            continue;
        if (!l->later)
            return broken(l, err, "it has no header");
        l->stage = STAGE_DONE;
        return RC_OK;
    }
    if (l->n_few < GZIP_HEAD)
        return RC_OK;
    l->flags = l->few[3];
    l->n_few = 0;
    l->extra = SIZE_MAX;
    l->sum = 0;
    l->n = 0;
    next_part(l);
    return RC_OK;
}

static void read_extra(struct layer *l, struct str *in)
{
    size_t skip;

    if (l->extra == SIZE_MAX) {
        if (!collect(l, 2, in))
            return;
        l->extra = (size_t)l->few[0] | (size_t)l->few[1] << 8;
    }
    skip = in->len < l->extra ? in->len : l->extra;
    *in = str_slice(*in, skip, in->len);
    l->extra -= skip;
    if (l->extra == 0)
        next_part(l);
}

static void read_text(struct layer *l, struct str *in)
{
    ssize_t end = str_chr(*in, '\0');

    *in = str_slice(*in, end < 0 ? in->len : (size_t)end + 1, in->len);
    if (end >= 0)
        next_part(l);
}

static uint32_t little(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static enum rc read_sum(struct layer *l, struct str *in, struct err *err)
{
    if (!collect(l, GZIP_SUM, in))
        return RC_OK;
    if (little(l->few) != l->sum || little(l->few + 4) != l->n)
        return broken(l, err, "its check sum is wrong");
    l->later = true;
    l->stage = STAGE_HEAD;
    ASSERT(inflateReset(&l->z) == Z_OK);
    return RC_OK;
}

/* ---- data ------------------------------------------------------------------------------------ */

static enum rc feed(struct decoder *d, size_t i, struct str in, struct buf *out, struct err *err);

/* Give the bytes that layer `i` has decoded to the next layer, or append them to `out`. */
static enum rc pass_on(struct decoder *d, size_t i, struct str made, struct buf *out,
                       struct err *err)
{
    struct layer *l = &d->layers[i];

    if (made.len == 0)
        return RC_OK;
    l->made += made.len;
    if (l->made > d->max)
        return err_set(err, RC_LIMIT, "the decoded body is longer than %zu bytes", d->max);
    if (l->made > RATIO_FROM && l->made / RATIO_MAX > d->came)
        return err_set(err, RC_LIMIT, "%zu bytes decode to more than %zu", d->came, l->made);
    if (l->coding == CODING_GZIP) {
        l->sum = (uint32_t)crc32(l->sum, (const Bytef *)made.ptr, (uInt)made.len);
        l->n += (uint32_t)made.len;
    }
    if (i + 1 < d->n_layers)
        return feed(d, i + 1, made, out, err);
    buf_append(out, made.ptr, made.len);
    return RC_OK;
}

static enum rc inflate_some(struct decoder *d, size_t i, struct str *in, struct buf *out,
                            struct err *err)
{
    struct layer *l = &d->layers[i];
    char piece[PIECE];
    int got;
    enum rc rc;

    l->z.next_in = (Bytef *)in->ptr;
    l->z.avail_in = in->len < PIECE ? (uInt)in->len : PIECE;
    *in = str_slice(*in, l->z.avail_in, in->len);
    do {
        l->z.next_out = (Bytef *)piece;
        l->z.avail_out = sizeof piece;
        got = inflate(&l->z, Z_NO_FLUSH);
        if (got != Z_OK && got != Z_BUF_ERROR && got != Z_STREAM_END)
            return broken(l, err, l->z.msg != NULL ? l->z.msg : "the data are damaged");
        rc = pass_on(d, i, str_of(piece, sizeof piece - l->z.avail_out), out, err);
    } while (rc == RC_OK && got != Z_STREAM_END && l->z.avail_out == 0);
    if (got == Z_STREAM_END) {
        *in = str_of((const char *)l->z.next_in, in->len + l->z.avail_in);
        l->stage = l->coding == CODING_GZIP ? STAGE_SUM : STAGE_DONE;
    }
    return rc;
}

static enum rc unbrotli_some(struct decoder *d, size_t i, struct str *in, struct buf *out,
                             struct err *err)
{
    struct layer *l = &d->layers[i];
    char piece[PIECE];
    const uint8_t *next_in = (const uint8_t *)in->ptr;
    size_t left_in = in->len;
    BrotliDecoderResult got;
    enum rc rc;

    do {
        uint8_t *next_out = (uint8_t *)piece;
        size_t left_out = sizeof piece;

        got = BrotliDecoderDecompressStream(l->brotli, &left_in, &next_in, &left_out, &next_out,
                                            NULL);
        if (got == BROTLI_DECODER_RESULT_ERROR)
            return broken(l, err, "the data are damaged");
        rc = pass_on(d, i, str_of(piece, sizeof piece - left_out), out, err);
    } while (rc == RC_OK && got == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT);
    if (got == BROTLI_DECODER_RESULT_SUCCESS)
        l->stage = STAGE_DONE;
    *in = str_slice(*in, in->len, in->len);
    return rc;
}

/* A body is a series of frames (RFC 8878 §3). Between two of them it may end. */
static enum rc unzstd_some(struct decoder *d, size_t i, struct str *in, struct buf *out,
                           struct err *err)
{
    struct layer *l = &d->layers[i];
    ZSTD_inBuffer from = {in->ptr, in->len, 0};
    char piece[PIECE];
    size_t left;
    bool is_full;
    enum rc rc;

    do {
        ZSTD_outBuffer to = {piece, sizeof piece, 0};

        left = ZSTD_decompressStream(l->zstd, &to, &from);
        if (ZSTD_isError(left))
            return broken(l, err, ZSTD_getErrorName(left));
        rc = pass_on(d, i, str_of(piece, to.pos), out, err);
        is_full = left > 0 && to.pos == sizeof piece;
    } while (rc == RC_OK && (from.pos < from.size || is_full));
    l->stage = left == 0 ? STAGE_HEAD : STAGE_DATA;
    l->later |= left == 0;
    *in = str_slice(*in, in->len, in->len);
    return rc;
}

/* Begin deflate data. The header of zlib may be missing (RFC 9110 §8.4.1.2, note). */
static enum rc begin_deflate(struct decoder *d, size_t i, struct str *in, struct buf *out,
                             struct err *err)
{
    struct layer *l = &d->layers[i];
    char two[ZLIB_HEAD];
    struct str rest;

    if (!collect(l, ZLIB_HEAD, in))
        return RC_OK;
    l->stage = STAGE_DATA;
    if ((l->few[0] & 15) == Z_DEFLATED && (l->few[0] << 8 | l->few[1]) % 31 == 0)
        return RC_OK;
    memcpy(two, l->few, sizeof two);
    rest = str_of(two, sizeof two);
    return inflate_some(d, i, &rest, out, err);
}

static enum rc read_head(struct decoder *d, size_t i, struct str *in, struct buf *out,
                         struct err *err)
{
    switch (d->layers[i].coding) {
    case CODING_GZIP:
        return read_gzip_head(&d->layers[i], in, err);
    case CODING_ZSTD:
        return unzstd_some(d, i, in, out, err);
    default:
        return begin_deflate(d, i, in, out, err);
    }
}

static enum rc read_data(struct decoder *d, size_t i, struct str *in, struct buf *out,
                         struct err *err)
{
    switch (d->layers[i].coding) {
    case CODING_BROTLI:
        return unbrotli_some(d, i, in, out, err);
    case CODING_ZSTD:
        return unzstd_some(d, i, in, out, err);
    default:
        return inflate_some(d, i, in, out, err);
    }
}

static enum rc feed(struct decoder *d, size_t i, struct str in, struct buf *out, struct err *err)
{
    struct layer *l = &d->layers[i];
    enum rc rc = RC_OK;

    while (rc == RC_OK && in.len > 0 && l->stage != STAGE_DONE) {
        switch (l->stage) {
        case STAGE_HEAD:
            rc = read_head(d, i, &in, out, err);
            break;
        case STAGE_EXTRA:
            read_extra(l, &in);
            break;
        case STAGE_NAME:
        case STAGE_COMMENT:
            read_text(l, &in);
            break;
        case STAGE_HEAD_SUM:
            if (collect(l, 2, &in))
                next_part(l);
            break;
        case STAGE_DATA:
            rc = read_data(d, i, &in, out, err);
            break;
        case STAGE_SUM:
            rc = read_sum(l, &in, err);
            break;
        case STAGE_DONE:
            break;
        }
    }
    return rc;
}

enum rc decoder_feed(struct decoder *d, const char *p, size_t n, struct buf *out, struct err *err)
{
    d->came += n;
    return feed(d, 0, str_of(p, n), out, err);
}

enum rc decoder_end(const struct decoder *d, struct err *err)
{
    for (size_t i = 0; i < d->n_layers; i++) {
        const struct layer *l = &d->layers[i];

        if (l->stage != STAGE_DONE && l->stage != STAGE_SUM &&
            !(l->later && l->stage == STAGE_HEAD))
            return broken(l, err, "it ends too early");
    }
    return RC_OK;
}
