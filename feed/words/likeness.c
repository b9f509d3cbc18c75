/* feed/words/likeness.c - see likeness.h. */
#include "feed/words/likeness.h"

#include "base/buf.h"
#include "feed/text/iri.h"
#include "feed/text/uri.h"
#include "feed/words/terms.h"

/* ---------------------------------------------------------------- links */

/* Cut off `rest` what stands before the first of these characters. */
static struct str take_until(struct str *rest, const char *ends)
{
    struct str taken = *rest;

    for (taken.len = 0; taken.len < rest->len; taken.len++)
        if (strchr(ends, rest->ptr[taken.len]) != NULL)
            break;
    *rest = str_slice(*rest, taken.len, rest->len);
    return taken;
}

static bool is_tracker(struct str param)
{
    struct str name = take_until(&param, "=");

    return str_istarts(name, STR("utm_")) || str_ieqz(name, "fbclid") || str_ieqz(name, "gclid");
}

/* Without the port that the scheme has anyway. */
static struct str without_port(struct str authority, bool is_secure)
{
    struct str port = is_secure ? STR(":443") : STR(":80");

    if (str_ends(authority, port))
        authority.len -= port.len;
    else if (str_ends(authority, STR(":")))
        authority.len--;
    return authority;
}

/* A path from the root without "." and "..". One that begins with two slashes would be taken for an
 * authority. */
static struct str without_dots(struct arena *a, struct str path)
{
    static const struct str base = {"http://x", 8};

    if (path.len == 0)
        return STR("/");
    if (str_starts(path, STR("//")))
        return path;
    path = uri_resolve(a, base, path);
    return str_slice(path, base.len, path.len);
}

static void put_query(struct buf *out, struct str query)
{
    char before = '?';

    while (!str_is_null(query)) {
        struct str param = str_split(&query, '&');

        if (is_tracker(param))
            continue;
        buf_putc(out, before);
        buf_str(out, param);
        before = '&';
    }
}

static struct str canonical_url(struct arena *a, struct str url)
{
    struct str scheme = str_lower(a, iri_scheme(url)), authority, path, user = STR_NULL;
    struct str rest = str_slice(url, scheme.len + 3, url.len);
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    ssize_t at;

    authority = take_until(&rest, "/?");
    path = take_until(&rest, "?");
    if ((at = str_chr(authority, '@')) >= 0) {
        user = str_slice(authority, 0, (size_t)at + 1);
        authority = str_slice(authority, (size_t)at + 1, authority.len);
    }
    buf_str(&out, scheme);
    buf_puts(&out, "://");
    buf_str(&out, user);
    buf_str(&out, str_lower(a, without_port(authority, str_eq(scheme, STR("https")))));
    buf_str(&out, without_dots(a, path));
    if (rest.len > 0)
        put_query(&out, str_slice(rest, 1, rest.len));
    return str_dup(a, buf_view(&out));
}

struct str link_canonical(struct arena *a, struct str link)
{
    struct str s = str_trim(link);

    s = str_trim(take_until(&s, "#"));
    if (s.len == 0)
        return STR_NULL;
    return iri_is_http(s) && iri_host(s).len > 0 ? canonical_url(a, iri_escape(a, s, true)) : s;
}

/* ---------------------------------------------------------------- keys */

/* The term is part of the text, so that what has the same text surely has the same term. */
static bool make(struct arena *a, struct str term, struct str value, struct like_key *out)
{
    if (term.len == 0)
        return false;
    *out = (struct like_key){.text = str_printf(a, "%.*s %.*s", STR_ARG(term), STR_ARG(value)),
                             .term = term};
    return true;
}

static bool key_of_link(struct arena *a, const struct revision *rev, struct like_key *out)
{
    return make(a, term_of_link(a, rev->link), link_canonical(a, rev->link), out);
}

static bool key_of_title(struct arena *a, const struct revision *rev, struct like_key *out)
{
    struct entry_facts facts;
    size_t room = ENTRY_TEXT_MAX;

    entry_facts_read(a, rev, &facts);
    return make(a, term_of_title(a, facts.title),
                words_fold_value(a, entry_text_plain(a, facts.title, &room)), out);
}

const struct likeness likeness_link = {"link", key_of_link};
const struct likeness likeness_title = {"title", key_of_title};
