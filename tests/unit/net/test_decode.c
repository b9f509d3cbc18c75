/* tests/unit/net/test_decode.c - content codings, in every cut of the bytes. */
#include "tests/unit/cmocka_all.h"

#include <zlib.h>
#include <zstd.h>

#include "net/decode.h"

#define TEXT "hello, hello, hello, and some more of it"

struct bytes {
    unsigned char ptr[4096];
    size_t len;
};

/* Append `text`, deflated; bits 31: gzip, 15: zlib, -15: bare. */
static void add(struct bytes *b, const char *text, int bits)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = b->ptr + b->len;
    z.avail_out = (unsigned)(sizeof b->ptr - b->len);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b->len += z.total_out;
    deflateEnd(&z);
}

static void add_raw(struct bytes *b, const char *p, size_t n)
{
    assert_true(b->len + n <= sizeof b->ptr);
    memcpy(b->ptr + b->len, p, n);
    b->len += n;
}

/* Decode in pieces of `step` bytes; the text is in `out`. */
static enum rc decode(const char *codings, const struct bytes *b, size_t step, size_t max,
                      struct buf *out, struct err *err)
{
    struct decoder *d;
    enum rc rc = decoder_new(str_from(codings), max, &d, err);

    buf_reset(out);
    if (rc != RC_OK)
        return rc;
    assert_non_null(d);
    for (size_t i = 0; i < b->len && rc == RC_OK; i += step) {
        size_t n = b->len - i < step ? b->len - i : step;
        char *piece = malloc(n); /* so that a byte read behind it is seen */

        memcpy(piece, b->ptr + i, n);
        rc = decoder_feed(d, piece, n, out, err);
        free(piece);
    }
    if (rc == RC_OK)
        rc = decoder_end(d, err);
    decoder_free(&d);
    return rc;
}

static void assert_decodes(const char *codings, const struct bytes *b, const char *text)
{
    struct buf out = BUF_INIT(BUF_ANY);

    for (size_t step = 1; step <= b->len; step++) {
        struct err err = ERR_INIT;

        if (decode(codings, b, step, 1000000, &out, &err) != RC_OK)
            fail_msg("in steps of %zu: %s", step, err.text);
        if (!str_eqz(buf_view(&out), text))
            fail_msg("in steps of %zu: \"%.*s\"", step, (int)out.len, out.ptr);
    }
    buf_release(&out);
}

static void assert_fails(const char *codings, const struct bytes *b, size_t max, enum rc wanted)
{
    struct buf out = BUF_INIT(BUF_ANY);

    for (size_t step = 1; step <= b->len; step++) {
        struct err err = ERR_INIT;

        assert_int_equal(decode(codings, b, step, max, &out, &err), wanted);
        assert_true(strlen(err.text) > 10);
    }
    buf_release(&out);
}

static void test_decode__plain_codings(void **state UNUSED)
{
    static const struct {
        const char *codings;
        int bits;
    } rows[] = {{"gzip", 31},          {"x-gzip", 31},  {" GZip ", 31},
                {"identity,gzip", 31}, {"deflate", 15}, {"deflate", -15}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bytes b = {.len = 0};

        add(&b, TEXT, rows[i].bits);
        assert_decodes(rows[i].codings, &b, TEXT);
    }
}

static void test_decode__brotli(void **state UNUSED)
{
    /* made by the reference encoder: 40 times 'a' */
    static const char packed[] = "\x1b\x27\x00\xf8\x25\xc2\xa2\x8c\x00\xc0";
    struct bytes b = {.len = 0};

    add_raw(&b, packed, sizeof packed - 1);
    assert_decodes("br", &b, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    add_raw(&b, "garbage", 7);
    assert_decodes("br", &b, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    b.len = 6;
    assert_fails("br", &b, 1000000, RC_PEER);
}

/* Append a frame of zstd. */
static void add_frame(struct bytes *b, const char *text)
{
    size_t n = ZSTD_compress(b->ptr + b->len, sizeof b->ptr - b->len, text, strlen(text), 3);

    assert_false(ZSTD_isError(n));
    b->len += n;
}

/* ETIQ-09: frames follow one another; what is cut, or follows them, is an error. */
static void test_decode__zstd(void **state UNUSED)
{
    struct bytes b = {.len = 0};
    size_t whole;

    add_frame(&b, TEXT);
    assert_decodes("zstd", &b, TEXT);
    add_frame(&b, "");
    add_frame(&b, "two");
    assert_decodes("Zstd", &b, TEXT "two");
    whole = b.len;
    b.len--;
    assert_fails("zstd", &b, 1000000, RC_PEER);
    b.len = whole;
    add_raw(&b, "garbage", 7);
    assert_fails("zstd", &b, 1000000, RC_PEER);
    b.len = whole;
    assert_fails("zstd", &b, strlen(TEXT) - 1, RC_LIMIT);
    b.len = 0;
    add_raw(&b, "<rss>", 5);
    assert_fails("zstd", &b, 1000000, RC_PEER);
}

/* A frame that needs 128 MB to be decoded is refused (RFC 9659 §3). */
static void test_decode__zstd_of_a_large_window(void **state UNUSED)
{
    /* no content size, window 2^27, then a block of one byte that is the last one */
    static const char frame[] = "\x28\xb5\x2f\xfd\x00\x88\x09\x00\x00x";
    struct bytes b = {.len = 0};

    add_raw(&b, frame, sizeof frame - 1);
    assert_fails("zstd", &b, 1000000, RC_PEER);
    b.ptr[5] = 0x68; /* 2^23 */
    assert_decodes("zstd", &b, "x");
}

/* RFC 1952 §2.2: a file is a series of members */
static void test_decode__members_of_gzip(void **state UNUSED)
{
    struct bytes b = {.len = 0};

    add(&b, "one ", 31);
    add(&b, "", 31);
    add(&b, "two ", 31);
    add(&b, "three", 31);
    assert_decodes("gzip", &b, "one two three");
}

/* The header's optional parts: extra field, name, comment, check sum. */
static void test_decode__header_of_gzip(void **state UNUSED)
{
    struct bytes b = {.len = 0}, bare = {.len = 0};

    add(&bare, TEXT, 31);
    add_raw(&b, "\x1f\x8b\x08\x1e\0\0\0\0\0\xff", 10);
    add_raw(&b,
            "\x03\0abc"
            "name\0"
            "\0"
            "\x12\x34",
            13);
    add_raw(&b, (char *)bare.ptr + 10, bare.len - 10);
    assert_decodes("gzip", &b, TEXT);
}

/* What browsers forgive. */
static void test_decode__bytes_behind_the_end(void **state UNUSED)
{
    static const struct str ends[] = {{"\0\0\0\0\0\0\0", 7},
                                      {"<!-- served in 3 ms -->", 23},
                                      {"\x1f", 1},
                                      {"\x1f\x8b\x07", 3},
                                      {"\r\n", 2}};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct bytes gzip = {.len = 0}, zlib = {.len = 0};

        add(&gzip, TEXT, 31);
        add_raw(&gzip, ends[i].ptr, ends[i].len);
        assert_decodes("gzip", &gzip, TEXT);
        add(&zlib, TEXT, 15);
        add_raw(&zlib, ends[i].ptr, ends[i].len);
        assert_decodes("deflate", &zlib, TEXT);
    }
}

static void test_decode__missing_check_sum(void **state UNUSED)
{
    for (size_t cut = 1; cut <= 8; cut++) {
        struct bytes b = {.len = 0};

        add(&b, TEXT, 31);
        b.len -= cut;
        assert_decodes("gzip", &b, TEXT);
    }
}

static void test_decode__cut_and_damaged(void **state UNUSED)
{
    struct bytes b = {.len = 0}, two = {.len = 0}, plain = {.len = 0}, none = {.len = 0};

    add(&b, TEXT, 31);
    b.len -= 9;
    assert_fails("gzip", &b, 1000000, RC_PEER);
    b.len = 5;
    assert_fails("gzip", &b, 1000000, RC_PEER);
    b.len = 0;
    add(&b, TEXT, 31);
    b.ptr[b.len - 8] ^= 1; /* the check sum */
    assert_fails("gzip", &b, 1000000, RC_PEER);
    add(&two, TEXT, 31);
    add(&two, TEXT, 31);
    two.len -= 12;
    assert_fails("gzip", &two, 1000000, RC_PEER);
    add_raw(&plain, "<rss>this is not gzip</rss>", 27);
    assert_fails("gzip", &plain, 1000000, RC_PEER);
    add_raw(&none, "\xff\xff\xff\xff", 4);
    assert_fails("deflate", &none, 1000000, RC_PEER);
}

static void test_decode__several_codings(void **state UNUSED)
{
    struct bytes inner = {.len = 0}, outer = {.len = 0};
    struct decoder *d;
    struct err err = ERR_INIT;
    z_stream z = {0};

    add(&inner, TEXT, 15);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = inner.ptr;
    z.avail_in = (unsigned)inner.len;
    z.next_out = outer.ptr;
    z.avail_out = sizeof outer.ptr;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    outer.len = z.total_out;
    deflateEnd(&z);
    assert_decodes("deflate, gzip", &outer, TEXT);
    assert_int_equal(decoder_new(STR("gzip,gzip,gzip,gzip"), 10, &d, &err), RC_LIMIT);
}

static void test_decode__unknown_codings_are_none(void **state UNUSED)
{
    static const char *const rows[] = {"", "identity", "utf-8", "none, binary", ",", "compress"};
    struct decoder *d;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(decoder_new(str_from(rows[i]), 10, &d, &err), RC_OK);
        assert_null(d);
    }
    assert_int_equal(decoder_new(STR_NULL, 10, &d, &err), RC_OK);
    assert_null(d);
}

static void test_decode__sizes_are_bounded(void **state UNUSED)
{
    struct bytes b = {.len = 0};

    add(&b, TEXT, 31);
    assert_fails("gzip", &b, strlen(TEXT) - 1, RC_LIMIT);
}

/* SCHED-13: gzip in gzip, a million times smaller than what it holds: stopped by its ratio long
 * before it is as long as a body may be. */
static void test_decode__ratio_is_bounded(void **state UNUSED)
{
    enum { BLANKS = 256 << 20, PIECE = 1 << 20 };
    static unsigned char blanks[PIECE], mid[1 << 20], packed[1 << 16];
    struct buf out = BUF_INIT(BUF_ANY);
    struct decoder *d;
    struct err err = ERR_INIT;
    z_stream z = {0};

    memset(blanks, ' ', sizeof blanks);
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = mid;
    z.avail_out = sizeof mid;
    for (int i = 0; i < BLANKS / PIECE; i++) {
        z.next_in = blanks;
        z.avail_in = sizeof blanks;
        assert_int_equal(deflate(&z, i + 1 < BLANKS / PIECE ? Z_NO_FLUSH : Z_FINISH) < 0, false);
    }
    z.avail_in = (unsigned)z.total_out;
    deflateReset(&z);
    z.next_in = mid;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(decoder_new(STR("gzip, gzip"), SIZE_MAX, &d, &err), RC_OK);
    assert_int_equal(decoder_feed(d, (char *)packed, z.total_out, &out, &err), RC_LIMIT);
    assert_true(out.len < 16 << 20);
    deflateEnd(&z);
    decoder_free(&d);
    buf_release(&out);
}

int main(void)
{
#define T(name) cmocka_unit_test(test_decode__##name)
    const struct CMUnitTest tests[] = {
        T(plain_codings),
        T(brotli),
        T(zstd),
        T(zstd_of_a_large_window),
        T(members_of_gzip),
        T(header_of_gzip),
        T(bytes_behind_the_end),
        T(missing_check_sum),
        T(cut_and_damaged),
        T(several_codings),
        T(unknown_codings_are_none),
        T(sizes_are_bounded),
        T(ratio_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
