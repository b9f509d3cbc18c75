/* server/cli_names.c - finds the addresses and feeds that people mean by what they type. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "feed/text/date.h"
#include "feed/text/json.h"
#include "model/paths.h"
#include "net/hostport.h"
#include "net/url.h"
#include "server/cli.h"

#define NAME_MS 60000

/* Read the host of an address without scheme. False: it does not start with a host. */
static bool read_host(struct str typed, struct hostport *out)
{
    size_t n = 0;

    while (n < typed.len && strchr("/?#", typed.ptr[n]) == NULL)
        n++;
    return hostport_parse(str_slice(typed, 0, n), out) &&
           (out->kind != HOST_NAME || hostport_is_loopback(out) || str_chr(out->host, '.') > 0);
}

struct str cli_url(struct arena *a, struct str typed)
{
    struct hostport hp;

    if (str_find(typed, STR("://")) >= 0 || !read_host(typed, &hp))
        return typed;
    return str_concat(a,
                      hp.kind != HOST_NAME || hp.port >= 0 || hostport_is_loopback(&hp)
                          ? STR("http://")
                          : STR("https://"),
                      typed);
}

struct str cli_urls_query(struct arena *a, int from, int argc, char **argv)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    for (int k = from; k < argc; k++) {
        buf_puts(&b, k == from ? "url=" : "&url=");
        buf_str(&b, url_encode(a, cli_url(a, str_from(argv[k]))));
    }
    return str_dup(a, buf_view(&b));
}

bool cli_feeds_query(const char *name, const struct cli_server *srv, struct arena *a, int from, int argc, char **argv,
                     struct str *out)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    for (int k = from; k < argc; k++) {
        struct str url = cli_url(a, str_from(argv[k]));
        const struct value *feed;
        int64_t id;

        if (str_to_i64(str_from(argv[k]), &id)) {
            feed = cli_call_json(name, srv, a, "GET", str_printf(a, PATH_SUB "/feed?id=%" PRId64, id), STR_NULL, STR_NULL,
                                 NAME_MS, "id|url");
            if (feed == NULL)
                return false;
            url = value_get_textz(feed, "url");
        }
        buf_puts(&b, k == from ? "url=" : "&url=");
        buf_str(&b, url_encode(a, url));
    }
    *out = str_dup(a, buf_view(&b));
    return true;
}

static struct str canonical(struct arena *a, struct str url)
{
    struct url_parts parts;

    return url_parse(a, url, &parts, NULL) == RC_OK ? parts.url : url;
}

static struct str without_scheme(struct str url)
{
    ssize_t at = str_find(url, STR("://"));

    return at < 0 ? url : str_slice(url, (size_t)at + 3, url.len);
}

bool cli_same_address(struct arena *a, struct str typed, struct str url)
{
    if (url.len == 0 || typed.len == 0)
        return false;
    if (str_eq(typed, url) || str_eq(canonical(a, typed), url))
        return true;
    url = canonical(a, url); /* a subscription has its addresses as they were typed */
    if (str_eq(canonical(a, typed), url))
        return true;
    return str_find(typed, STR("://")) < 0 &&
           str_eq(without_scheme(canonical(a, cli_url(a, typed))), without_scheme(url));
}

const struct value *cli_find_feed(struct arena *a, const struct value *all, struct str typed)
{
    const struct value *feeds = value_getz(all, "feeds");
    int64_t id = 0;
    bool by_id = str_to_i64(typed, &id);

    for (size_t i = 0; i < value_len(feeds); i++) {
        const struct value *f = value_at(feeds, i);

        if (by_id ? value_get_int(f, STR("id"), 0) == id
                  : cli_same_address(a, typed, value_get_textz(f, "url")) ||
                        cli_same_address(a, typed, value_get_textz(f, "page_url")))
            return f;
    }
    return NULL;
}

const struct value *cli_ask_feed(const struct cli_server *srv, struct arena *a, struct str url, int *status)
{
    struct cli_answer answer;
    bool ok = cli_ask(srv, a, "GET", str_printf(a, PATH_SUB "/feed?url=%.*s", STR_ARG(url_encode(a, url))),
                      STR_NULL, STR_NULL, NAME_MS, "id|url", &answer);

    *status = answer.status;
    return ok ? answer.json : NULL;
}

/* Ask the daemon which feed has this address. 0: none. */
static int64_t ask_id(const struct cli_server *srv, struct arena *a, struct str url)
{
    int status;

    return value_get_int(cli_ask_feed(srv, a, url, &status), STR("id"), 0);
}

const struct value *cli_find_named(const struct cli_server *srv, struct arena *a,
                                   const struct value *all, struct str typed)
{
    const struct value *feed = cli_find_feed(a, all, typed);
    struct str url = cli_url(a, typed);
    int64_t id;

    if (feed != NULL || str_find(url, STR("://")) < 0) /* a number, or no address at all */
        return feed;
    id = ask_id(srv, a, url);
    if (id == 0 && str_find(typed, STR("://")) < 0 && str_starts(url, STR("https://")))
        id = ask_id(srv, a, str_concat(a, STR("http://"), typed));
    return id == 0 ? NULL : cli_find_feed(a, all, str_printf(a, "%" PRId64, id));
}

/* One feed, as GET /sub/feed has it. NULL: there is none. *failed: the daemon could not be asked, which was said. */
static const struct value *ask_one(const char *name, const struct cli_server *srv, struct arena *a, struct str query,
                                   bool *failed)
{
    struct cli_answer answer;

    if (cli_ask(srv, a, "GET", str_concat(a, STR(PATH_SUB "/feed?"), query), STR_NULL, STR_NULL, NAME_MS, "id|url", &answer))
        return answer.json;
    *failed = answer.status != 404 && answer.status != 400;
    if (*failed)
        cli_fail(name, "%.*s", STR_ARG(answer.problem));
    return NULL;
}

const struct value *cli_look_up(const char *name, const struct cli_server *srv, struct arena *a, struct str typed,
                                struct value **all, bool *failed)
{
    struct str url = cli_url(a, typed);
    const struct value *feed = NULL;
    int64_t id;

    *failed = false;
    if (str_to_i64(typed, &id))
        return ask_one(name, srv, a, str_printf(a, "id=%" PRId64, id), failed);
    if (str_find(url, STR("://")) >= 0)
        feed = ask_one(name, srv, a, str_concat(a, STR("url="), url_encode(a, url)), failed);
    if (feed != NULL || *failed)
        return feed;
    if (*all == NULL) /* it may be known by the address of its page, or by another spelling */
        *all = cli_call_json(name, srv, a, "GET", STR(PATH_SUB "?type=json&all=1"), STR_NULL, STR_NULL, NAME_MS,
                             CLI_ALL_SUBS);
    *failed = *all == NULL;
    return *failed ? NULL : cli_find_named(srv, a, *all, typed);
}

struct str cli_entry_date(struct arena *a, const struct value *entry)
{
    int64_t at = date_of_nine(value_getz(entry, "updated_parsed"));
    char text[CLOCK_TEXT];

    if (at == TIME_UNKNOWN)
        at = date_of_nine(value_getz(entry, "published_parsed"));
    if (at == TIME_UNKNOWN)
        return STR_NULL;
    clock_rfc3339(at, text);
    return str_dup(a, str_from(text));
}

struct str cli_folder_text(struct arena *a, const struct value *folder)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < value_len(folder); i++)
        buf_printf(&out, "%s%.*s", i > 0 ? "/" : "", STR_ARG(value_at(folder, i)->s));
    return str_dup(a, buf_view(&out));
}

const char *cli_text(struct arena *a, const struct value *v, const char *key)
{
    const struct value *m = value_get(v, str_from(key));

    if (m == NULL || m->kind == VAL_NULL)
        return "-";
    if (m->kind == VAL_BOOL)
        return m->b ? "yes" : "no";
    if (m->kind == VAL_INT)
        return arena_printf(a, "%lld", (long long)m->i);
    if (m->kind == VAL_REAL)
        return arena_printf(a, "%.6g", m->d);
    return m->kind == VAL_TEXT && m->s.len > 0 ? str_z(a, m->s) : "-";
}
