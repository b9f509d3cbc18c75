/* storage/pg/uri.c - reads the address with libpq's own reader, and adds our settings. */
#include "storage/pg/uri.h"

#include <libpq-fe.h>

#include "base/buf.h"
#include "base/mem.h"
#include "storage/schema_version.h"

#define SECRET_MIN 4 /* a shorter one is not looked for in messages: it would match anything */
#define ARGUMENTS_MAX 96

struct pg_uri {
    PQconninfoOption *options; /* all that libpq knows; those of the address have a value */
    char *shown;
    struct buf session; /* the parameter "options" */
    const char *keywords[ARGUMENTS_MAX], *values[ARGUMENTS_MAX];
    int n;
};

bool pg_uri_is(struct str text)
{
    return str_starts(text, STR("postgresql://")) || str_starts(text, STR("postgres://"));
}

static const char *value_of(const struct pg_uri *u, const char *keyword)
{
    for (const PQconninfoOption *o = u->options; o->keyword != NULL; o++)
        if (strcmp(o->keyword, keyword) == 0)
            return o->val;
    return NULL;
}

static bool has_byte(const char *z, char c)
{
    return z != NULL && strchr(z, c) != NULL;
}

static bool are_ports(const char *z)
{
    return z == NULL || z[strspn(z, "0123456789,")] == '\0';
}

/* A "/" or "@" in a password that is not encoded makes the rest of it a port, host or name, which
 * messages would show. */
static bool is_split_password(const struct pg_uri *u)
{
    return has_byte(value_of(u, "host"), '@') || has_byte(value_of(u, "dbname"), '@') ||
           has_byte(value_of(u, "user"), '@') || !are_ports(value_of(u, "port"));
}

/* What libpq looks at only when it connects: then a start that nobody can mend meanwhile would fail. */
static const char *faulty_value(const struct pg_uri *u)
{
    static const char *const modes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"};
    const char *mode = value_of(u, "sslmode");
    struct str ports = str_from(value_of(u, "port") == NULL ? "" : value_of(u, "port"));
    bool is_mode = mode == NULL || mode[0] == '\0';
    int64_t n;

    for (size_t i = 0; !is_mode && i < ARRAY_LEN(modes); i++)
        is_mode = strcmp(mode, modes[i]) == 0;
    while (!str_is_null(ports)) {
        struct str port = str_split(&ports, ',');

        if (port.len > 0 && (!str_to_i64(port, &n) || n < 1 || n > 65535))
            return "a port of the address of the database is not a number from 1 to 65535";
    }
    return is_mode ? NULL
                   : "sslmode in the address of the database is not disable, allow, prefer, require, verify-ca or "
                     "verify-full";
}

/* "host1:5433,host2": a port stands for the host at the same place, or one for all hosts. */
static void show_hosts(struct buf *out, struct str hosts, struct str ports)
{
    const bool is_one = str_chr(ports, ',') < 0;
    struct str port = STR_NULL;

    for (bool first = true; first || !str_is_null(hosts); first = false) {
        struct str host = str_split(&hosts, ',');

        if (first || !is_one)
            port = str_split(&ports, ',');
        buf_printf(out, "%s%.*s%s%.*s", first ? "" : ",", STR_ARG(host), port.len > 0 ? ":" : "",
                   STR_ARG(port));
    }
}

static char *shown_of(const struct pg_uri *u)
{
    const char *user = value_of(u, "user"), *host = value_of(u, "host");
    const char *port = value_of(u, "port"), *name = value_of(u, "dbname");
    struct buf b = BUF_INIT(BUF_ANY);
    size_t len;

    if (user != NULL)
        buf_printf(&b, "%s@", user);
    show_hosts(&b, str_from(host != NULL ? host : value_of(u, "hostaddr")), str_from(port));
    buf_printf(&b, "/%s", name == NULL ? "" : name);
    return buf_detach(&b, &len);
}

enum rc pg_uri_read(const char *text, struct pg_uri **out, struct err *err)
{
    struct pg_uri *u = NEW(struct pg_uri);
    char *said = NULL;

    u->options = pg_uri_is(str_from(text)) ? PQconninfoParse(text, &said) : NULL;
    PQfreemem(said); /* it quotes the address, password and all */
    if (u->options == NULL || is_split_password(u)) {
        pg_uri_free(&u);
        return err_set(err, RC_INPUT,
                       "the address of the database is not of the form "
                       "postgresql://user:password@host1,host2/name?parameter=value; a special "
                       "character of the password is written as its code: %%40 for @, %%2F for /");
    }
    if (faulty_value(u) != NULL) {
        err_set(err, RC_INPUT, "%s", faulty_value(u));
        pg_uri_free(&u);
        return RC_INPUT;
    }
    u->session = (struct buf)BUF_INIT(BUF_ANY);
    u->shown = shown_of(u);
    *out = u;
    return RC_OK;
}

void pg_uri_free(struct pg_uri **up)
{
    struct pg_uri *u = *up;

    if (u == NULL)
        return;
    PQconninfoFree(u->options);
    buf_release(&u->session);
    mem_free(u->shown);
    mem_free(u);
    *up = NULL;
}

const char *pg_uri_shown(const struct pg_uri *u)
{
    return u->shown;
}

static void argument(struct pg_uri *u, const char *keyword, const char *value)
{
    if (u->n + 1 < ARGUMENTS_MAX) {
        u->keywords[u->n] = keyword;
        u->values[u->n++] = value;
    }
}

/* The same if the address does not say otherwise. */
static void argument_or(struct pg_uri *u, const char *keyword, const char *value)
{
    if (value_of(u, keyword) == NULL)
        argument(u, keyword, value);
}

/* "-c name=value ..."; a space in a value has a backslash before it. */
static void write_session(struct pg_uri *u)
{
    static const struct {
        const char *name, *value;
    } settings[] = {
#define SETTING(name, value) {name, value},
#include "storage/pg/settings.def"
#undef SETTING
    };
    const char *own = value_of(u, "options");

    buf_reset(&u->session);
    if (own != NULL)
        buf_puts(&u->session, own);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        buf_printf(&u->session, " -c %s=", settings[i].name);
        for (const char *z = settings[i].value; *z != '\0'; z++)
            buf_printf(&u->session, "%s%c", *z == ' ' ? "\\" : "", *z);
    }
}

void pg_uri_parameters(struct pg_uri *u, bool for_writing, const char *const **keywords,
                       const char *const **values)
{
    u->n = 0;
    write_session(u);
    argument(u, "options", buf_view(&u->session).ptr);
    argument(u, "client_encoding", "UTF8");
    if (for_writing)
        argument(u, "target_session_attrs", "read-write");
    for (const PQconninfoOption *o = u->options; o->keyword != NULL; o++)
        if (o->val != NULL && strcmp(o->keyword, "options") != 0 &&
            strcmp(o->keyword, "client_encoding") != 0 &&
            (!for_writing || strcmp(o->keyword, "target_session_attrs") != 0))
            argument(u, o->keyword, o->val);
    argument_or(u, "application_name", "feedmill");
    argument_or(u, "connect_timeout", "5"); /* seconds, for each host */
    argument_or(u, "keepalives_idle", "10");
    argument_or(u, "keepalives_interval", "5");
    argument_or(u, "keepalives_count", "3");
    argument_or(u, "tcp_user_timeout", "10000");
    u->keywords[u->n] = u->values[u->n] = NULL;
    *keywords = u->keywords;
    *values = u->values;
}

static void overwrite(const char *secret, char *text)
{
    size_t len = secret == NULL ? 0 : strlen(secret);
    char *at = text;

    while (len >= SECRET_MIN && (at = strstr(at, secret)) != NULL)
        memset(at, '*', len);
}

void pg_uri_hide(const struct pg_uri *u, const char *password, char *text)
{
    overwrite(password, text);
    overwrite(value_of(u, "password"), text);
    overwrite(value_of(u, "sslpassword"), text);
}
