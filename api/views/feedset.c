/* api/views/feedset.c - see feedset.h. The word is, in hex: a signature of 8 bytes; then, as
 * numbers of variable length, the page size, the first id, and the difference from each id to the
 * next. With a filter: 0, which never is a page size; the page size; how many ids there are; the
 * ids; and the text of the filter. */
#include "api/views/feedset.h"

#include "base/buf.h"
#include "base/digest.h"

#define SIGNATURE 8
#define WORD_MAX ((SIGNATURE + 10 * (FEEDSET_MAX + 3) + FEEDSET_FILTER_MAX) * 2)

static void put_number(struct buf *out, uint64_t n)
{
    for (; n >= 128; n >>= 7)
        buf_putc(out, (char)(n | 128));
    buf_putc(out, (char)n);
}

static bool take_number(struct str *in, uint64_t *n)
{
    *n = 0;
    for (unsigned shift = 0; in->len > 0 && shift < 63; shift += 7) {
        unsigned char c = (unsigned char)in->ptr[0];

        *in = str_slice(*in, 1, in->len);
        *n |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return true;
    }
    return false;
}

struct str feedset_write(struct arena *a, const struct feedset *set, struct str secret)
{
    AUTO(buf_release) struct buf numbers = BUF_INIT(BUF_ANY);
    unsigned char mac[DIGEST_MAX_LEN];
    char *word;

    if (!str_is_null(set->filter))
        put_number(&numbers, 0);
    put_number(&numbers, set->page_size);
    if (!str_is_null(set->filter))
        put_number(&numbers, set->n);
    for (size_t i = 0; i < set->n; i++)
        put_number(&numbers, (uint64_t)(set->ids[i] - (i == 0 ? 0 : set->ids[i - 1])));
    buf_str(&numbers, set->filter);
    digest_hmac(DIGEST_SHA256, secret, buf_view(&numbers), mac);
    word = arena_alloc(a, 2 * (SIGNATURE + numbers.len) + 1);
    digest_hex(mac, SIGNATURE, word);
    digest_hex((const unsigned char *)buf_view(&numbers).ptr, numbers.len, word + 2 * SIGNATURE);
    return str_from(word);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool unhex(struct arena *a, struct str word, struct str *out)
{
    char *bytes = arena_alloc(a, word.len / 2 + 1);

    for (size_t i = 0; i + 1 < word.len; i += 2) {
        int high = hex_digit(word.ptr[i]), low = hex_digit(word.ptr[i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *out = str_of(bytes, word.len / 2);
    return word.len % 2 == 0;
}

/* Read `max` ids, or as many as there are. */
static bool take_ids(struct arena *a, struct str *numbers, size_t max, struct feedset *out)
{
    uint64_t n, last = 0;

    out->ids = ARENA_ARRAY(a, int64_t, numbers->len + 1);
    for (out->n = 0; numbers->len > 0 && out->n < max; last = (uint64_t)out->ids[out->n++]) {
        if (!take_number(numbers, &n))
            return false;
        out->ids[out->n] = (int64_t)(last + n);
    }
    return out->n > 0;
}

bool feedset_read(struct arena *a, struct str word, struct str secret, struct feedset *out)
{
    unsigned char mac[DIGEST_MAX_LEN];
    struct str bytes, rest;
    uint64_t size, n = FEEDSET_MAX;
    bool has_filter;

    if (word.len <= 2 * SIGNATURE || word.len > WORD_MAX || !unhex(a, word, &bytes))
        return false;
    rest = str_slice(bytes, SIGNATURE, bytes.len);
    digest_hmac(DIGEST_SHA256, secret, rest, mac);
    if (!digest_same(mac, bytes.ptr, SIGNATURE) || !take_number(&rest, &size))
        return false;
    has_filter = size == 0;
    if (has_filter && (!take_number(&rest, &size) || size == 0 || !take_number(&rest, &n)))
        return false;
    if (!take_ids(a, &rest, (size_t)n, out) || (!has_filter && rest.len > 0))
        return false;
    out->page_size = (size_t)size;
    out->filter = has_filter ? rest : STR_NULL;
    return true;
}
