/* model/fetch_secrets.c - see fetch_secrets.h. */
#include "model/fetch_secrets.h"

#include "base/ascii.h"
#include "base/buf.h"

#define HOME "home="

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_field(struct str name)
{
    return str_starts(name, STR(FETCH_FIELD_PREFIX));
}

static struct str field_of(struct str name)
{
    return str_slice(name, sizeof FETCH_FIELD_PREFIX - 1, name.len);
}

bool fetch_secrets_has_name(struct str name)
{
    return is_field(name) || str_eqz(name, "user_agent") || str_eqz(name, "cookie") ||
           str_eqz(name, "bearer") || str_eqz(name, "proxy");
}

/* A field that Feedmill, or the connection, sets itself; or one with a parameter of its own, which
 * `use` names. */
static const struct {
    const char *name, *use;
} kept_fields[] = {
    {"host", NULL},
    {"content-length", NULL},
    {"content-type", NULL},
    {"content-encoding", NULL},
    {"transfer-encoding", NULL},
    {"te", NULL},
    {"trailer", NULL},
    {"connection", NULL},
    {"keep-alive", NULL},
    {"proxy-connection", NULL},
    {"proxy-authorization", NULL},
    {"upgrade", NULL},
    {"expect", NULL},
    {"range", NULL},
    {"if-range", NULL},
    {"if-match", NULL},
    {"if-none-match", NULL},
    {"if-modified-since", NULL},
    {"if-unmodified-since", NULL},
    {"accept-encoding", NULL},
    {"a-im", NULL},
    {"cookie", "cookie"},
    {"user-agent", "user_agent"},
};

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(ascii_is_alnum(s.ptr[i]) ||
              (s.ptr[i] != '\0' && strchr("!#$%&'*+-.^_`|~", s.ptr[i]) != NULL)))
            return false;
    return s.len > 0;
}

/* The name is shown only when it is a token: else it may be a whole field, with its value. */
static enum rc check_field_name(struct str field, struct err *err)
{
    if (!is_token(field))
        return err_set(err, RC_INPUT,
                       "after " FETCH_FIELD_PREFIX " stands the name of an HTTP field: letters, "
                       "digits and hyphens, as in " FETCH_FIELD_PREFIX "X-Api-Key");
    if (field.len > FETCH_NAME_MAX)
        return err_set(err, RC_LIMIT, "the name of a field has at most %d bytes, and this has %zu",
                       FETCH_NAME_MAX, field.len);
    for (size_t i = 0; i < ARRAY_LEN(kept_fields); i++) {
        if (!str_ieqz(field, kept_fields[i].name))
            continue;
        if (kept_fields[i].use != NULL)
            return err_set(err, RC_INPUT, "the field %.*s has a parameter of its own: %s",
                           STR_ARG(field), kept_fields[i].use);
        return err_set(err, RC_INPUT, "the field %.*s is set by Feedmill itself", STR_ARG(field));
    }
    return RC_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A value of a field (RFC 9110 section 5.5): no control characters but the tab, and no blank at its
 * start or end. */
static bool is_field_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < ' ' && c != '\t') || c == 0x7F)
            return false;
    }
    return s.len > 0 && !ascii_is_blank(s.ptr[0]) && !ascii_is_blank(s.ptr[s.len - 1]);
}

/* token68 (RFC 6750 section 2.1): letters, digits, "-._~+/", then "=". */
static bool is_bearer(struct str s)
{
    size_t n = s.len;

    while (n > 0 && s.ptr[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++)
        if (!(ascii_is_alnum(s.ptr[i]) ||
              (s.ptr[i] != '\0' && strchr("-._~+/", s.ptr[i]) != NULL)))
            return false;
    return n > 0;
}

/* What net/ makes of the rest of the URL is judged there. */
static bool is_proxy(struct str s)
{
    return str_find(s, STR("://")) < 0 || str_istarts(s, STR("http://")) || str_istarts(s, STR("socks5://")) || str_istarts(s, STR("socks5h://"));
}

static enum rc check_value(struct str name, struct str value, struct err *err)
{
    if (value.len > FETCH_VALUE_MAX)
        return err_set(err, RC_LIMIT, "%.*s has at most %d bytes, and this has %zu", STR_ARG(name),
                       FETCH_VALUE_MAX, value.len);
    if (!is_field_value(value))
        return err_set(err, RC_INPUT,
                       "%.*s has no line breaks or other control characters, and no blank at its "
                       "start or end",
                       STR_ARG(name));
    if (str_eqz(name, "bearer") && !is_bearer(value))
        return err_set(err, RC_INPUT,
                       "bearer is the token alone, without \"Bearer\": letters, digits and "
                       "-._~+/, with = at its end");
    if (str_eqz(name, "proxy") && !is_proxy(value))
        return err_set(err, RC_INPUT,
                       "proxy is a URL that begins with http:, socks5: or socks5h:, as in "
                       "socks5h://proxy.example:1080, or HOST:PORT");
    return RC_OK;
}

static enum rc check_one(struct str name, struct str value, struct err *err)
{
    enum rc rc;

    if (!fetch_secrets_has_name(name))
        return err_set(err, RC_INPUT,
                       "fetches have user_agent, cookie, bearer, proxy and " FETCH_FIELD_PREFIX
                       "NAME");
    if (is_field(name) && (rc = check_field_name(field_of(name), err)) != RC_OK)
        return rc;
    return value.len == 0 ? RC_OK : check_value(name, value, err);
}

/* ---- the list -------------------------------------------------------------------------------- */

static size_t find(const struct fetch_secrets *s, struct str name)
{
    size_t i = 0;

    while (i < s->n && !str_ieq(s->all[i].name, name))
        i++;
    return i;
}

static void take_away(struct fetch_secrets *s, size_t i)
{
    if (i == s->n)
        return;
    s->n--;
    memmove(&s->all[i], &s->all[i + 1], (s->n - i) * sizeof s->all[0]);
}

static size_t n_fields(const struct fetch_secrets *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += is_field(s->all[i].name);
    return n;
}

enum rc fetch_secrets_set(struct arena *a, struct fetch_secrets *s, struct str name,
                          struct str value, struct err *err)
{
    size_t i = find(s, name);
    enum rc rc = check_one(name, value, err);

    if (rc != RC_OK)
        return rc;
    if (value.len == 0) {
        take_away(s, i);
        return RC_OK;
    }
    if (i == s->n && is_field(name) && n_fields(s) == FETCH_FIELDS_MAX)
        return err_set(err, RC_LIMIT, "a feed has at most %d fields of its own", FETCH_FIELDS_MAX);
    if (i == s->n)
        s->n++;
    s->all[i] = (struct fetch_secret){str_dup(a, name), str_dup(a, value)};
    return RC_OK;
}

struct str fetch_secrets_value(const struct fetch_secrets *s, struct str name)
{
    size_t i = find(s, name);

    return i < s->n ? s->all[i].value : STR_NULL;
}

enum rc fetch_secrets_check(const struct fetch_secrets *s, struct err *err)
{
    if (!str_is_null(fetch_secrets_value(s, STR("bearer"))) &&
        !str_is_null(fetch_secrets_value(s, STR(FETCH_FIELD_PREFIX "Authorization"))))
        return err_set(err, RC_INPUT,
                       "bearer sets the field Authorization, so " FETCH_FIELD_PREFIX
                       "Authorization cannot stand beside it");
    return RC_OK;
}

/* ---- as text --------------------------------------------------------------------------------- */

struct str fetch_secrets_text(struct arena *a, const struct fetch_secrets *s)
{
    struct buf b = BUF_INIT(BUF_ANY);
    struct str text;

    if (s->n > 0)
        buf_printf(&b, HOME "%.*s\n", STR_ARG(s->home));
    for (size_t i = 0; i < s->n; i++) {
        buf_str(&b, s->all[i].name);
        buf_putc(&b, '=');
        buf_str(&b, s->all[i].value);
        buf_putc(&b, '\n');
    }
    text = str_dup(a, buf_view(&b));
    buf_release(&b);
    return text;
}

/* A row from a database is judged like a request: somebody may have written it by hand. */
enum rc fetch_secrets_read(struct arena *a, struct str text, struct fetch_secrets *out,
                           struct err *err)
{
    struct fetch_secrets s = {.n = 0};

    if (str_starts(text, STR(HOME)))
        s.home = str_dup(a, str_slice(str_split(&text, '\n'), sizeof HOME - 1, SIZE_MAX));
    while (text.len > 0) {
        struct str value = str_split(&text, '\n'), name = str_split(&value, '=');

        if (value.len == 0 || s.home.len == 0 ||
            fetch_secrets_set(a, &s, name, value, NULL) != RC_OK)
            return err_set(err, RC_INPUT, "what is stored for the fetches of this feed is damaged");
    }
    *out = s;
    return RC_OK;
}
