/* api/views/selflink.c - see selflink.h. */
#include "api/views/selflink.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "net/url.h"

/* Encloses the number of a feed. It is a control character, so it never occurs in a link
 * otherwise. */
#define MARK '\001'

/* Returns true for characters that a URI must not have (RFC 3986 §2). */
static bool is_unfit(unsigned char ch)
{
    return ch <= ' ' || ch >= 0x7f || ch == '"' || ch == '<' || ch == '>' || ch == '\\' ||
           ch == '^' || ch == '`' || (ch >= '{' && ch <= '}');
}

/* Write `s` with these characters encoded; the rest stays as received. */
static void put_clean(struct buf *out, struct str s)
{
    size_t from = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char ch = (unsigned char)s.ptr[i];

        if (!is_unfit(ch))
            continue;
        buf_str(out, str_slice(s, from, i));
        buf_printf(out, "%%%02X", ch);
        from = i + 1;
    }
    buf_str(out, str_slice(s, from, s.len));
}

static bool names_param(struct arena *a, struct str pair, const char *name)
{
    ssize_t eq = str_chr(pair, '=');
    struct str raw = eq < 0 ? pair : str_slice(pair, 0, (size_t)eq);

    if (str_eqz(raw, name))
        return true;
    return str_chr(raw, '%') >= 0 && str_eqz(url_decode(a, raw, true), name);
}

/* http://user:password@host/x -> http://MARKidMARKhost/x, percent-encoded. */
static void put_marked(struct buf *out, struct arena *a, const struct wanted_url *u, int64_t id)
{
    ssize_t at = str_find(u->url, STR("://"));
    size_t host = at < 0 ? 0 : (size_t)at + 3;

    buf_str(out, url_encode(a, str_slice(u->url, 0, host)));
    if (id != 0)
        buf_printf(out, "%c%" PRId64 "%c", MARK, id, MARK);
    buf_str(out, url_encode(a, str_slice(u->url, host, u->url.len)));
}

static void put_urls(struct buf *out, struct arena *a, const struct wanted_url *urls,
                     const int64_t *ids, size_t n)
{
    buf_puts(out, "url=");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_puts(out, "%2C");
        if (str_is_null(urls[i].credential))
            buf_str(out, url_encode(a, urls[i].shown));
        else
            put_marked(out, a, &urls[i], ids[i]);
    }
}

struct str selflink_make(struct arena *a, struct str origin, struct str target, const char *type,
                         const struct wanted_url *urls, const int64_t *ids, size_t n)
{
    AUTO(buf_release) struct buf out = BUF_INIT(8 * LIMIT_REQUEST_BODY);
    ssize_t mark = str_chr(target, '?');
    struct str path = mark < 0 ? target : str_slice(target, 0, (size_t)mark);
    struct str rest = mark < 0 ? STR_NULL : str_slice(target, (size_t)mark + 1, target.len);
    bool secret = false, urls_done = false;
    char sep = '?';

    /* with or without the slash it is the same resource (D2), so it has one link */
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    for (size_t i = 0; i < n; i++)
        secret = secret || !str_is_null(urls[i].credential);
    put_clean(&out, origin);
    put_clean(&out, path);
    if (!secret && !str_is_null(rest)) {
        buf_putc(&out, '?');
        put_clean(&out, rest);
        sep = rest.len > 0 ? '&' : '\0';
        rest = STR_NULL;
    }
    while (!str_is_null(rest)) { /* there is a credential, so the parameters are written anew */
        struct str pair = str_split(&rest, '&');
        bool is_url = names_param(a, pair, "url");

        if (is_url && urls_done)
            continue;
        buf_putc(&out, sep);
        if (is_url) {
            put_urls(&out, a, urls, ids, n);
            urls_done = true;
        } else {
            put_clean(&out, pair);
        }
        sep = '&';
    }
    if (type != NULL) {
        if (sep != '\0')
            buf_putc(&out, sep);
        buf_printf(&out, "type=%s", type);
    }
    return str_dup(a, buf_view(&out));
}

/* Write the link without a parameter. *sep: the character to put before another parameter. */
static void put_without(struct buf *out, struct arena *a, struct str link, const char *name,
                        char *sep)
{
    ssize_t mark = str_chr(link, '?');
    struct str rest = mark < 0 ? STR_NULL : str_slice(link, (size_t)mark + 1, link.len);

    *sep = '?';
    buf_str(out, mark < 0 ? link : str_slice(link, 0, (size_t)mark));
    while (!str_is_null(rest)) {
        struct str pair = str_split(&rest, '&');

        if (pair.len == 0 || names_param(a, pair, name))
            continue;
        buf_putc(out, *sep);
        buf_str(out, pair);
        *sep = '&';
    }
}

struct str selflink_unset(struct arena *a, struct str link, const char *name)
{
    AUTO(buf_release) struct buf out = BUF_INIT(8 * LIMIT_REQUEST_BODY);
    char sep;

    put_without(&out, a, link, name, &sep);
    return str_dup(a, buf_view(&out));
}

struct str selflink_set(struct arena *a, struct str link, const char *name, struct str value)
{
    AUTO(buf_release) struct buf out = BUF_INIT(8 * LIMIT_REQUEST_BODY);
    char sep;

    put_without(&out, a, link, name, &sep);
    buf_printf(&out, "%c%s=%.*s", sep, name, STR_ARG(value));
    return str_dup(a, buf_view(&out));
}

struct str selflink_fill(struct arena *a, struct str link, selflink_key_fn *key, void *ctx)
{
    AUTO(buf_release) struct buf out = BUF_INIT(8 * LIMIT_REQUEST_BODY);
    struct str rest = link;

    if (str_chr(link, MARK) < 0)
        return link;
    while (!str_is_null(rest)) {
        int64_t id;
        struct str user;

        buf_str(&out, str_split(&rest, MARK));
        if (str_is_null(rest) || !str_to_i64(str_split(&rest, MARK), &id))
            continue;
        user = key(ctx, id);
        if (user.len > 0) {
            buf_str(&out, url_encode(a, user));
            buf_puts(&out, "%40");
        }
    }
    return str_dup(a, buf_view(&out));
}

struct str selflink_target(struct arena *a, struct str link)
{
    AUTO(buf_release) struct buf out = BUF_INIT(8 * LIMIT_REQUEST_BODY);

    if (str_chr(link, ',') < 0)
        return link;
    for (struct str rest = link; !str_is_null(rest);) {
        buf_str(&out, str_split(&rest, ','));
        if (!str_is_null(rest))
            buf_puts(&out, "%2C");
    }
    return str_dup(a, buf_view(&out));
}
