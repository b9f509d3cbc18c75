/* net/amqp_url.c - see amqp_url.h. The form of the first part is that of RabbitMQ's URI
 * specification; the query is ours. */
#include "net/amqp_url.h"

#include <inttypes.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/limits.h"
#include "net/url.h"

#define FEED STR("{feed}")
#define KIND STR("{kind}")
#define FEED_MAX 20 /* digits of a feed's number */
#define KIND_MAX 16 /* bytes of a kind */

static enum rc fail(struct err *err, const char *why)
{
    return err_set(err, RC_INPUT, "%s; the form is amqp://user:password@host:port/vhost?exchange=E",
                   why);
}

/* A name that the protocol can carry: UTF-8 without control characters. */
static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
            return false;
    return s.len > 0 && s.len <= AMQP_NAME_MAX && str_utf8_valid(s) == s.len;
}

/* The offset of the first of these characters at or after `from`; s.len: there is none. */
static size_t find_any(struct str s, size_t from, const char *set)
{
    while (from < s.len && (s.ptr[from] == '\0' || strchr(set, s.ptr[from]) == NULL))
        from++;
    return from;
}

/* Each % must begin a byte that is written as %XX. Else a password with a % in it would be sent as
 * another one than is meant. */
static bool is_encoded(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '%' &&
            (i + 2 >= s.len || ascii_hex(s.ptr[i + 1]) < 0 || ascii_hex(s.ptr[i + 2]) < 0))
            return false;
    return true;
}

/* The whole scheme and the two slashes; *s is what follows. */
static bool take_scheme(struct str *s, bool *is_tls)
{
    static const struct str plain = {"amqp://", 7}, tls = {"amqps://", 8};

    *is_tls = str_istarts(*s, tls);
    if (!*is_tls && !str_istarts(*s, plain))
        return false;
    *s = str_slice(*s, *is_tls ? tls.len : plain.len, s->len);
    return true;
}

static enum rc read_vhost(struct arena *a, struct str path, struct amqp_url *out, struct err *err)
{
    struct str raw = path.len > 0 ? str_slice(path, 1, path.len) : path;

    if (str_chr(raw, '/') >= 0)
        return fail(err, "a slash within the vhost must be written as %2F");
    out->vhost = raw.len == 0 ? STR("/") : url_decode(a, raw, false);
    return is_name(out->vhost) ? RC_OK : fail(err, "the vhost is not a name of 1 to 255 bytes");
}

/* The key has no braces other than those of {feed} and {kind}, and fits when they are filled in. */
static bool is_key(struct str key)
{
    size_t len = key.len;

    for (size_t i = 0; i < key.len;) {
        struct str rest = str_slice(key, i, key.len);

        if (str_starts(rest, FEED)) {
            len += FEED_MAX;
            i += FEED.len;
        } else if (str_starts(rest, KIND)) {
            len += KIND_MAX;
            i += KIND.len;
        } else if (key.ptr[i] == '{' || key.ptr[i] == '}') {
            return false;
        } else {
            i++;
        }
    }
    return is_name(key) && len <= AMQP_NAME_MAX;
}

static enum rc read_parameter(struct str name, struct str value, struct amqp_url *out,
                              struct err *err)
{
    struct str *kept = NULL;

    if (str_eqz(name, "exchange"))
        kept = &out->exchange;
    else if (str_eqz(name, "key"))
        kept = &out->key;
    if (str_eqz(name, "declare")) {
        if (!str_eqz(value, "topic"))
            return fail(err, "`declare` can only be topic");
        out->declares = true;
        return RC_OK;
    }
    if (kept == NULL)
        return fail(err, "its query can have `exchange`, `key` and `declare` only");
    if (!str_is_null(*kept))
        return fail(err, "its query has a parameter twice");
    *kept = value;
    return RC_OK;
}

static enum rc read_query(struct arena *a, struct str query, struct amqp_url *out, struct err *err)
{
    while (!str_is_null(query)) {
        struct str value = str_split(&query, '&'), name;
        enum rc rc;

        if (value.len == 0)
            continue;
        name = url_decode(a, str_split(&value, '='), true);
        value = str_is_null(value) ? STR("") : url_decode(a, value, true);
        rc = read_parameter(name, value, out, err);
        if (rc != RC_OK)
            return rc;
    }
    if (str_is_null(out->exchange))
        return fail(err, "its query must have `exchange`");
    if (!is_name(out->exchange))
        return fail(err, "`exchange` is not a name of 1 to 255 bytes");
    if (str_is_null(out->key))
        out->key = STR(AMQP_KEY_DEFAULT);
    if (!is_key(out->key))
        return fail(err, "`key` is not a routing key of 1 to 255 bytes in which {feed} and {kind} "
                         "are the only braces");
    return RC_OK;
}

static enum rc read_url(struct arena *a, struct str raw, struct amqp_url *out,
                        struct url_parts *parts, struct err *err)
{
    struct str s = str_trim(raw), query = STR_NULL;
    size_t end;
    enum rc rc;

    *out = (struct amqp_url){.exchange = STR_NULL, .key = STR_NULL};
    if (s.len > LIMIT_URL)
        return err_set(err, RC_INPUT, "URL of %zu bytes: the limit is %d", s.len, LIMIT_URL);
    if (!take_scheme(&s, &out->is_tls))
        return fail(err, "it does not begin with amqp:// or amqps://");
    if (str_chr(s, '#') >= 0)
        return fail(err, "a # must be written as %23");
    if (!is_encoded(s))
        return fail(err, "a % must be followed by two hexadecimal digits, as in %40; a % itself, "
                         "also in a password, is written as %25");
    end = find_any(s, 0, "/?");
    parts->scheme = out->is_tls ? STR("amqps") : STR("amqp");
    rc = url_read_authority(a, str_slice(s, 0, end), url_default_port(parts->scheme),
                            out->is_tls ? STR("amqps://...") : STR("amqp://..."), parts, err);
    if (rc != RC_OK)
        return rc;
    out->host = parts->host;
    out->port = parts->port;
    s = str_slice(s, end, s.len);
    end = find_any(s, 0, "?");
    if (end < s.len)
        query = str_slice(s, end + 1, s.len);
    rc = read_vhost(a, str_slice(s, 0, end), out, err);
    return rc == RC_OK ? read_query(a, query, out, err) : rc;
}

enum rc amqp_url_read(struct arena *a, struct str raw, struct amqp_url *out, struct err *err)
{
    struct amqp_url url;
    struct url_parts parts;
    enum rc rc = read_url(a, raw, &url, &parts, err);

    if (rc == RC_OK)
        *out = url;
    return rc;
}

/* The same URL is always written in the same way, because it names the endpoint. */
static struct str canonical(struct arena *a, const struct amqp_url *url,
                            const struct url_parts *parts)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    buf_printf(&b, "%.*s://%.*s", STR_ARG(parts->scheme), STR_ARG(parts->host));
    if (parts->port != url_default_port(parts->scheme))
        buf_printf(&b, ":%d", parts->port);
    buf_putc(&b, '/');
    buf_str(&b, url_encode(a, url->vhost));
    buf_puts(&b, "?exchange=");
    buf_str(&b, url_encode(a, url->exchange));
    if (!str_eqz(url->key, AMQP_KEY_DEFAULT)) {
        buf_puts(&b, "&key=");
        buf_str(&b, url_encode(a, url->key));
    }
    if (url->declares)
        buf_puts(&b, "&declare=topic");
    return str_dup(a, buf_view(&b));
}

enum rc amqp_url_parse(struct arena *a, struct str raw, struct url_parts *out, struct err *err)
{
    struct url_parts parts = {.credential = STR_NULL};
    struct amqp_url url;
    enum rc rc = read_url(a, raw, &url, &parts, err);

    if (rc != RC_OK)
        return rc;
    parts.url = canonical(a, &url, &parts);
    if (parts.url.len > LIMIT_URL)
        return err_set(err, RC_INPUT, "URL of %zu bytes when encoded: the limit is %d",
                       parts.url.len, LIMIT_URL);
    *out = parts;
    return RC_OK;
}

struct str amqp_key_fill(struct arena *a, struct str key, int64_t feed_id, struct str kind)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < key.len;) {
        struct str rest = str_slice(key, i, key.len);

        if (str_starts(rest, FEED)) {
            buf_printf(&b, "%" PRId64, feed_id);
            i += FEED.len;
        } else if (str_starts(rest, KIND)) {
            buf_str(&b, kind);
            i += KIND.len;
        } else {
            buf_putc(&b, key.ptr[i++]);
        }
    }
    return str_dup(a, buf_view(&b));
}
