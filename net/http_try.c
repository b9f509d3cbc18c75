/* net/http_try.c - one try: libcurl with one address, and the answer as it comes in.
 *
 * libcurl gets one hop at a time and one address that the guard allowed (CONNECT_TO; the address is
 * checked again when the socket is opened). So libcurl neither resolves names nor follows
 * redirects. The sizes of header and body are checked as they arrive; the size of the body is
 * checked before and after decoding. */
#include "net/http_client_priv.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/assert.h"

#define CONNECT_MS 10000    /* when the call does not set connect_timeout_ms */
#define REDIRECT_BODY 65536 /* a redirect's body is read up to here, to keep the connection */
#define CODED_MORE 65536    /* bytes that headers and padding may add to a coded body */
#define FIELDS_MAX 512      /* of one answer */
#define FOLDED_MAX 4096     /* bytes of a folded value; each further line copies all of it */

/* ---- what may go to another origin ---- */

/* Is it a field that may be sent to any origin? The others may have secrets of the user, and are
 * sent to the first origin only. */
static bool is_ordinary_field(struct str name)
{
    static const char *const names[] = {
        "accept", "accept-language",   "a-im",          "cache-control", "content-type",
        "from",   "if-modified-since", "if-none-match", "if-range",      "pragma",
        "range",  "user-agent",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieqz(name, names[i]))
            return true;
    return false;
}

/* Is the name a token (RFC 9110 §5.6.2), and the value without line breaks? */
static bool is_sendable(const struct http_field *f)
{
    if (f->name.len == 0)
        return false;
    for (size_t i = 0; i < f->name.len; i++) {
        char c = f->name.ptr[i];

        if (!(ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL)))
            return false;
    }
    return str_chr(f->value, '\r') < 0 && str_chr(f->value, '\n') < 0 &&
           str_chr(f->value, '\0') < 0;
}

/* ---- what comes in ---- */

static bool is_redirect_status(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

struct str http_try_field(const struct transfer *t, const char *name)
{
    for (size_t i = 0; i < t->n_answer; i++)
        if (str_eqz(t->answer[i].name, name))
            return t->answer[i].value;
    return STR_NULL;
}

bool http_try_redirects(const struct transfer *t)
{
    return t->call->given.max_redirects > 0 && is_redirect_status(t->status) &&
           http_try_field(t, "location").len > 0;
}

/* The connection is closed after this transfer. */
static void forbid_reuse(struct transfer *t)
{
    curl_easy_setopt(t->kept.easy, CURLOPT_FORBID_REUSE, 1L);
    t->kept.forbids_reuse = true;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size_t max = t->call->given.max_header;
    struct str line = str_of(p, size * n), name;

    t->header_len += line.len;
    if (max > 0 && t->header_len > max) {
        t->header_over = true;
        return 0;
    }
    if (str_starts(line, STR("HTTP/"))) { /* a new answer; the last one was a 1xx or a 401 */
        struct str rest = line;
        int64_t status = 0;

        (void)str_split(&rest, ' ');
        rest = str_trim(rest);
        t->status = str_to_i64(str_split(&rest, ' '), &status) ? (int)status : 0;
        t->n_answer = 0;
        t->body_len = 0;
        return line.len;
    }
    if (str_trim(line).len == 0) {
        /* These answers have no body. If a server sends one all the same, its bytes would be taken
         * for the answer to the next request on this connection. */
        struct str len = http_try_field(t, "content-length");

        if ((t->status == 304 || t->status == 204) && len.len > 0 && !str_eqz(len, "0"))
            forbid_reuse(t);
        if (http_multi_is_full(t->call->c->multi))
            forbid_reuse(t);
        return line.len;
    }
    if (line.ptr[0] == ' ' || line.ptr[0] == '\t') { /* folded: RFC 9112 §5.2 */
        if (t->n_answer > 0) {
            struct http_field *f = &t->answer[t->n_answer - 1];
            struct str more = str_trim(line);

            if (f->value.len + more.len < FOLDED_MAX)
                f->value = str_printf(t->arena, "%.*s %.*s", STR_ARG(f->value), STR_ARG(more));
        }
        return line.len;
    }
    if (str_chr(line, ':') <= 0 || t->n_answer == FIELDS_MAX)
        return line.len;
    if (t->answer == NULL)
        t->answer = ARENA_ARRAY(t->arena, struct http_field, 16);
    else if (t->n_answer >= 16 && (t->n_answer & (t->n_answer - 1)) == 0) { /* full: double it */
        struct http_field *more = ARENA_ARRAY(t->arena, struct http_field, 2 * t->n_answer);

        memcpy(more, t->answer, t->n_answer * sizeof more[0]);
        t->answer = more;
    }
    name = str_split(&line, ':');
    t->answer[t->n_answer].name = str_lower(t->arena, str_trim(name));
    t->answer[t->n_answer].value = str_dup(t->arena, str_trim(line));
    t->n_answer++;
    return size * n;
}

/* The values of all Content-Encoding fields, joined. */
static struct str codings_of(const struct transfer *t)
{
    struct str all = STR_NULL;

    for (size_t i = 0; i < t->n_answer; i++)
        if (str_eqz(t->answer[i].name, "content-encoding"))
            all = all.len == 0 ? t->answer[i].value
                               : str_printf(t->arena, "%.*s, %.*s", STR_ARG(all),
                                            STR_ARG(t->answer[i].value));
    return all;
}

/* The body goes to the call. */
static enum rc give(struct transfer *t, struct str piece)
{
    const struct http_call *given = &t->call->given;
    struct http_answer so_far = {.arena = t->arena,
                                 .status = t->status,
                                 .final_url = t->url,
                                 .n_redirects = t->n_redirects,
                                 .fields = t->answer,
                                 .n_fields = t->n_answer};
    enum rc rc = given->take(t->call->ctx, &so_far, piece, &t->body_err);

    ASSERT(rc == t->body_err.rc);
    return rc;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size_t len = size * n, max = t->call->given.max_body;
    enum rc rc = RC_OK;

    t->body_len += len;
    if (http_try_redirects(t)) { /* a short body is read, so that the connection can be kept */
        t->redirect_cut = t->body_len > REDIRECT_BODY;
        return t->redirect_cut ? 0 : len;
    }
    if (t->call->given.take != NULL)
        return give(t, str_of(p, len)) == RC_OK ? len : 0;
    if (t->body_len == len) { /* the first bytes of the body */
        decoder_free(&t->decoder);
        rc = decoder_new(codings_of(t), max, &t->decoder, &t->body_err);
    }
    if (rc == RC_OK && t->decoder == NULL)
        buf_append(&t->kept.body, p, len < max - t->kept.body.len ? len : max - t->kept.body.len);
    /* A coding makes a body only a little longer. If much more comes, stop. */
    if (rc == RC_OK && t->body_len > max + (t->decoder != NULL ? max / 16 + CODED_MORE : 0))
        rc = err_set(&t->body_err, RC_LIMIT, "the answer's body is longer than %zu bytes", max);
    if (rc == RC_OK && t->decoder != NULL)
        rc = decoder_feed(t->decoder, p, len, &t->kept.body, &t->body_err);
    return rc == RC_OK ? len : 0;
}

/* Check the address to which libcurl really connects. The hop has checked it before. */
static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose UNUSED,
                                    struct curl_sockaddr *sa)
{
    struct transfer *t = ctx;
    curl_socket_t fd;

    if (!guard_allows(t->call->c->cfg.guard, &sa->addr)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    fd = socket(sa->family, sa->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, sa->protocol);
    if (fd >= 0)
        http_multi_opened(t->call->c->multi);
    return fd;
}

void http_try_forget_body(struct transfer *t)
{
    decoder_free(&t->decoder);
    buf_reset(&t->kept.body);
    t->body_err = (struct err)ERR_INIT;
    t->body_len = 0;
}

/* ---- one try: one address ---- */

void http_address_text(const union address *addr, int port, char *out, size_t size)
{
    char ip[INET6_ADDRSTRLEN];

    if (addr->sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &addr->v4.sin_addr, ip, sizeof ip);
        snprintf(out, size, "%s:%d", ip, port);
    } else {
        inet_ntop(AF_INET6, &addr->v6.sin6_addr, ip, sizeof ip);
        snprintf(out, size, "[%s]:%d", ip, port);
    }
}

void http_try_peer(struct transfer *t)
{
    if (t->is_proxied)
        snprintf(t->peer, sizeof t->peer, "the proxy");
    else
        http_address_text(&t->addrs[t->next - 1], t->parts.port, t->peer, sizeof t->peer);
}

/* Put a line at the end of a list, which is *end. libcurl only reads the list, so it is in the
 * arena. */
static struct curl_slist **add_line(struct arena *a, struct curl_slist **end, char *line)
{
    struct curl_slist *item = ARENA_NEW(a, struct curl_slist);

    item->data = line;
    *end = item;
    return &item->next;
}

static struct curl_slist **add_field(struct arena *a, struct curl_slist **end, struct str name,
                                     struct str value)
{
    char *line = arena_alloc(a, name.len + value.len + 3), *at = line + name.len;

    memcpy(line, name.ptr, name.len);
    /* libcurl sends an empty value only for "Name;". "Name:" would remove libcurl's own field. */
    *at++ = value.len > 0 ? ':' : ';';
    if (value.len > 0) {
        *at++ = ' ';
        memcpy(at, value.ptr, value.len);
        at += value.len;
    }
    *at = '\0';
    return add_line(a, end, line);
}

/* What another URL gave proves nothing of this one (RFC 9110 8.8). */
static bool is_of_another(const struct call *k, struct str name)
{
    bool is_condition = str_ieqz(name, "if-none-match") || str_ieqz(name, "if-modified-since") ||
                        str_ieqz(name, "a-im");

    return is_condition && k->given.conditional_url.len > 0 &&
           !url_same_path(k->t->url, k->given.conditional_url);
}

/* Is the field of a call sent in this hop? */
static bool is_sent(const struct call *k, size_t i, bool first_origin)
{
    const struct http_call *given = &k->given;
    struct str name = given->fields[i].name;

    if (!is_sendable(&given->fields[i]) ||
        (k->t->drop_body && str_istarts(name, STR("content-"))) || is_of_another(k, name))
        return false;
    if (!first_origin)
        return i >= given->n_own && is_ordinary_field(name);
    for (size_t j = 0; i >= given->n_own && j < given->n_own; j++)
        if (str_ieq(name, given->fields[j].name))
            return false;
    return true;
}

/* The user agent is given as a field, too: as an option it would be copied three times. */
static void set_fields(struct call *k, bool first_origin)
{
    struct transfer *t = k->t;
    static char no_expect[] = "Expect:";
    struct curl_slist *list = NULL, **end = add_line(t->arena, &list, no_expect);
    struct str agent =
        k->given.user_agent.len > 0 ? k->given.user_agent : str_from(k->c->cfg.user_agent);
    bool has_agent = agent.len == 0;

    for (size_t i = 0; i < k->given.n_fields; i++) {
        const struct http_field *f = &k->given.fields[i];

        if (is_sent(k, i, first_origin)) {
            end = add_field(t->arena, end, f->name, f->value);
            has_agent = has_agent || str_ieqz(f->name, "user-agent");
        }
    }
    if (!has_agent)
        add_field(t->arena, end, STR("User-Agent"), agent);
    curl_easy_setopt(t->kept.easy, CURLOPT_HTTPHEADER, list);
}

static void set_method(struct call *k)
{
    struct transfer *t = k->t;
    CURL *e = t->kept.easy;
    bool has_body = !t->drop_body && k->given.body.len > 0;
    bool is_post = str_eqz(t->method, "POST");

    if (!(is_post && t->kept.is_post)) { /* forget the method before */
        curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, NULL);
        if (str_eqz(t->method, "HEAD"))
            curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
        else if (has_body || is_post)
            curl_easy_setopt(e, CURLOPT_POST, 1L);
        if (!is_post && !str_eqz(t->method, "HEAD") && (has_body || !str_eqz(t->method, "GET")))
            curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, str_z(t->arena, t->method));
    }
    t->kept.is_post = is_post;
    if (is_post || (has_body && !str_eqz(t->method, "HEAD"))) {
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(has_body ? k->given.body.len : 0));
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, has_body ? k->given.body.ptr : "");
    }
}

/* Ask for a content coding, or for none, with room for the answer as it comes. */
static void set_brief(struct transfer *t, bool is_brief, bool is_taken)
{
    CURL *e = t->kept.easy;

    curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING,
                     is_taken   ? "identity"
                     : is_brief ? NULL
                                : DECODER_ACCEPTS);
    t->kept.is_taken = is_taken;
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, is_brief ? 1024L : (long)CURL_MAX_WRITE_SIZE);
    t->kept.is_brief = is_brief;
}

/* Make the handle of a transfer, with the options that are the same for all calls. */
static void easy_new(struct http_client *c, struct transfer *t)
{
    CURL *e = curl_easy_init();

    ASSERT(e != NULL);
    t->kept.easy = e;
    t->kept.has_credential = t->kept.is_post = t->kept.has_connect_to = false;
    t->kept.has_proxy = false;
    t->kept.forbids_reuse = false;
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    curl_easy_setopt(e, CURLOPT_NOPROXY, "*"); /* else it asks the environment for each transfer */
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    /* It only gets addresses, and looks through all that it remembers after each transfer. */
    curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING,
                     0L); /* libcurl refuses a second gzip member; net/decode.h does not */
    if (c->ca_file != NULL) {
        curl_easy_setopt(e, CURLOPT_CAINFO, c->ca_file);
        curl_easy_setopt(e, CURLOPT_CAPATH,
                         NULL); /* else those of the system stay trusted as well */
    }
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_text);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
    set_brief(t, t->call->given.is_brief, t->call->given.take != NULL);
    http_multi_prepare(c->multi, e);
}

static void easy_free(struct transfer_kept *kept)
{
    if (kept->easy != NULL)
        curl_easy_cleanup(kept->easy);
    kept->easy = NULL;
}

void http_try_release(struct transfer_kept *kept)
{
    easy_free(kept);
    if (kept->deadline != NULL)
        event_free(kept->deadline);
    curl_url_cleanup(kept->place);
    kept->place = NULL;
    buf_release(&kept->origin);
    buf_release(&kept->body);
}

/* Returns the length of "http://host:port" of a canonical URL. */
static size_t origin_len(struct str url)
{
    ssize_t at = str_find(url, STR("://"));
    struct str rest = at < 0 ? STR("") : str_slice(url, (size_t)at + 3, url.len);
    ssize_t slash = str_chr(rest, '/');

    return slash < 0 ? url.len : url.len - rest.len + (size_t)slash;
}

/* Make kept->place the URL, whose beginning up to the path is `origin`. */
static bool read_place(struct transfer_kept *kept, struct str url, struct str origin)
{
    if (kept->place == NULL)
        kept->place = curl_url();
    ASSERT(kept->place != NULL);
    buf_reset(&kept->origin);
    if (curl_url_set(kept->place, CURLUPART_URL, url.ptr, CURLU_PATH_AS_IS) != CURLUE_OK)
        return false;
    buf_str(&kept->origin, origin);
    return true;
}

/* The same. When the last call had the same origin, only the path is set, unless there are
 * percent-encodings: in a path of its own libcurl writes them in its own way. */
static bool set_place(struct transfer_kept *kept, struct str url)
{
    struct str origin = str_slice(url, 0, origin_len(url));
    const char *path = url.ptr + origin.len;

    if (str_chr(origin, '%') >= 0) /* an address with a zone, which libcurl may lose */
        return false;
    if (!str_eq(buf_view(&kept->origin), origin) || path[0] != '/' || strpbrk(path, "%?") != NULL)
        return read_place(kept, url, origin);
    return curl_url_set(kept->place, CURLUPART_PATH, path, 0) == CURLUE_OK &&
           curl_url_set(kept->place, CURLUPART_QUERY, NULL, 0) == CURLUE_OK;
}

/* Give the URL to libcurl: taken apart, which libcurl would do anew for each transfer, and as text,
 * which it needs when it makes the request again: the connection was closed, or a credential is
 * asked for. */
static void set_url(struct transfer_kept *kept, struct str url)
{
    bool ok = set_place(kept, url);

    curl_easy_setopt(kept->easy, CURLOPT_URL, url.ptr);
    curl_easy_setopt(kept->easy, CURLOPT_CURLU, ok ? kept->place : NULL);
}

/* libcurl first asks without a credential, and then answers the challenge: with Digest if the
 * server offers it, otherwise with Basic. With one method only it would send Basic at once. A
 * caller that takes the body piece by piece cannot give back that of a refusal, so nothing is
 * presumed there. */
static void set_credential(struct call *k)
{
    struct transfer_kept *kept = &k->t->kept;
    struct str credential = k->given.credential;

    kept->knows_basic = kept->has_credential && k->given.take == NULL &&
                        http_auth_is_basic(k->c->auth, k->t->url, credential);
    if (!kept->has_credential)
        return;
    curl_easy_setopt(kept->easy, CURLOPT_HTTPAUTH,
                     (long)(kept->knows_basic ? CURLAUTH_BASIC : CURLAUTH_BASIC | CURLAUTH_DIGEST));
    curl_easy_setopt(kept->easy, CURLOPT_USERPWD, str_z(k->t->arena, credential));
}

bool http_try_learn(struct call *k)
{
    struct transfer *t = k->t;
    long offered = 0;

    if (!t->kept.has_credential)
        return false;
    curl_easy_getinfo(t->kept.easy, CURLINFO_HTTPAUTH_AVAIL, &offered);
    if (t->kept.knows_basic) {
        if (t->status == 401)
            http_auth_set_basic(k->c->auth, t->url, k->given.credential, false);
        return t->status == 401 && offered != (long)CURLAUTH_BASIC; /* else it was just refused */
    }
    if (t->status != 401 && offered == (long)CURLAUTH_BASIC)
        http_auth_set_basic(k->c->auth, t->url, k->given.credential, true);
    return false;
}

/* Set the options of a hop. A handle still has those of its last hop or call, so each of them is
 * set, or set back. */
static void set_options(struct call *k)
{
    struct transfer *t = k->t;
    struct transfer_kept *kept = &t->kept;
    bool first_origin = t->n_redirects == 0 || str_eq(t->first, http_origin(t->arena, &t->parts));

    if (kept->has_credential || kept->has_proxy) /* the handle keeps what it knows of them */
        easy_free(kept);
    if (kept->easy == NULL)
        easy_new(k->c, t);
    if (kept->is_brief != k->given.is_brief || kept->is_taken != (k->given.take != NULL))
        set_brief(t, k->given.is_brief, k->given.take != NULL);
    if (kept->forbids_reuse)
        curl_easy_setopt(kept->easy, CURLOPT_FORBID_REUSE, 0L);
    kept->forbids_reuse = false;
    set_url(kept, t->url);
    kept->has_credential = first_origin && !str_is_null(k->given.credential);
    set_credential(k);
    set_method(k);
    set_fields(k, first_origin);
}

/* Have libcurl connect to the proxy at the address that is tried. Its answer to CONNECT is not that of
 * the target. */
static void set_proxy(struct transfer *t)
{
    CURL *e = t->kept.easy;
    const struct url_parts *at = &t->proxy.at;
    char peer[sizeof t->peer];

    http_address_text(&t->addrs[t->next - 1], at->port, peer, sizeof peer);
    curl_easy_setopt(e, CURLOPT_PROXY,
                     arena_printf(t->arena, "%s://%s", http_proxy_scheme(t->proxy.kind), peer));
    curl_easy_setopt(e, CURLOPT_NOPROXY, "");
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (!str_is_null(at->credential))
        curl_easy_setopt(e, CURLOPT_PROXYUSERPWD, str_z(t->arena, at->credential));
    t->kept.has_proxy = true;
}

/* Have libcurl connect to the address that is tried. */
static void set_address(struct transfer *t)
{
    struct curl_slist *list = NULL;
    char peer[sizeof t->peer];

    if (t->is_proxied)
        set_proxy(t);
    /* libcurl has an address in the URL, and most proxies get the name */
    if (!t->is_numeric && (!t->is_proxied || t->proxy.kind == HTTP_PROXY_SOCKS5)) {
        http_address_text(t->is_proxied ? &t->target : &t->addrs[t->next - 1], t->parts.port, peer,
                          sizeof peer);
        add_line(t->arena, &list, arena_printf(t->arena, "::%s", peer));
    }
    if (list != NULL || t->kept.has_connect_to)
        curl_easy_setopt(t->kept.easy, CURLOPT_CONNECT_TO, list);
    t->kept.has_connect_to = list != NULL;
}

void http_try_start(struct call *k)
{
    struct transfer *t = k->t;
    int64_t left = http_time_left_ms(t);
    int64_t connect = k->given.connect_timeout_ms > 0 ? k->given.connect_timeout_ms : CONNECT_MS;

    if (left == 0) {
        http_call_fail_late(k);
        return;
    }
    if (left < connect)
        connect = left;
    connect /= (int64_t)(t->n_addrs - t->next); /* addresses that are left share the time */
    http_deadline_set(k, connect > 0 ? connect : 1);
    set_options(k);
    t->next++;
    set_address(t);
    t->status = 0;
    t->header_len = 0;
    t->n_answer = 0;
    t->redirect_cut = false;
    http_try_forget_body(t);
    t->curl_text[0] = '\0';
    t->in_multi = true;
    http_multi_add(k->c->multi, t->kept.easy);
}

/* Has nothing been sent yet? */
static bool is_connecting(const struct transfer *t)
{
    curl_off_t ready_us = 0;

    curl_easy_getinfo(t->kept.easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    return ready_us == 0;
}

void http_try_late(struct call *k)
{
    struct transfer *t = k->t;
    int64_t left = http_time_left_ms(t);
    bool connects = is_connecting(t);

    if (left > 0 && !connects) {
        http_deadline_set(k, left);
        return;
    }
    snprintf(t->curl_text, sizeof t->curl_text, "%s in time",
             connects ? "no connection" : "no end of the answer");
    http_multi_remove(k->c->multi, t->kept.easy);
    http_hop_done(NULL, t->kept.easy, CURLE_OPERATION_TIMEDOUT);
}
