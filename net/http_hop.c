/* net/http_hop.c - one hop: one URL. Its host is resolved, the guard chooses from the addresses,
 * libcurl tries them, and then the call ends or goes on to the URL of a redirect. */
#include "net/http_client_priv.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/stats.h"
#include "net/http_tls.h"

#define REFUSED "address %s is private or special, which is closed"

struct str http_origin(struct arena *a, const struct url_parts *p)
{
    return str_printf(a, "%.*s://%.*s:%d", STR_ARG(p->scheme), STR_ARG(p->host), p->port);
}

static void resolve(struct call *k, struct str host);

/* Nobody is told where a proxy is. */
static void refuse_proxy(struct call *k, enum rc rc)
{
    if (rc == RC_DENIED)
        http_call_fail(k, rc, "the address of the proxy is private or special, which is closed");
    else
        http_call_fail(k, rc, "the proxy has no address");
}

static void on_resolved(void *ctx, enum rc rc, const union address *addrs, size_t n,
                        const struct err *err)
{
    struct call *k = ctx;
    struct transfer *t = k->t;

    t->query = NULL;
    t->is_no_name = rc == RC_NOT_FOUND && !t->is_judged;
    if (rc == RC_NOT_FOUND)
        rc = RC_PEER;
    if (rc != RC_OK && t->is_judged) {
        refuse_proxy(k, rc);
        return;
    }
    if (rc != RC_OK) {
        http_call_fail(k, rc, "%s", err->text);
        return;
    }
    t->n_addrs = t->next = 0;
    for (size_t i = 0; i < n; i++) /* in the order of the resolver, best first */
        if (guard_allows(k->c->cfg.guard, &addrs[i].sa))
            t->addrs[t->n_addrs++] = addrs[i];
    if (t->n_addrs == 0) {
        stats_inc(STAT_fetch_refused_total);
        if (t->is_judged) {
            refuse_proxy(k, RC_DENIED);
            return;
        }
        http_address_text(&addrs[0], t->parts.port, t->peer, sizeof t->peer);
        http_call_fail(k, RC_DENIED, REFUSED, t->peer);
        return;
    }
    if (t->is_proxied && !t->is_judged) {
        t->is_judged = true;
        t->target = t->addrs[0];
        resolve(k, t->proxy.at.host);
        return;
    }
    http_try_start(k);
}

static void resolve(struct call *k, struct str host)
{
    struct transfer *t = k->t;
    union address addr;

    if (resolver_numeric(host, &addr)) {
        on_resolved(k, RC_OK, &addr, 1, NULL);
        return;
    }
    http_deadline_set(k, http_time_left_ms(t));
    t->query = resolver_ask(k->c->resolver, host, on_resolved, k);
}

/* May the host not be asked now? Then the call ends. */
static bool rests(struct call *k)
{
    struct transfer *t = k->t;
    char until[CLOCK_TEXT];

    if (k->given.rest == NULL)
        return false;
    t->rest_ms = k->given.rest(k->given.rest_ctx, url_authority(t->arena, t->url));
    if (t->rest_ms <= 0)
        return false;
    clock_rfc3339((clock_now_us() + t->rest_ms * 1000 + 999999) / 1000000, until);
    http_call_fail(k, RC_RESTING, "not asked, as its host asked for a pause until %s", until);
    return true;
}

void http_hop_start(struct call *k)
{
    struct transfer *t = k->t;
    struct str host = t->parts.host;
    union address addr;

    if (rests(k))
        return;

    t->is_numeric = resolver_numeric(host, &addr);
    t->is_judged = false;
    resolve(k, host);
}

/* Follow the redirect of the answer (RFC 9110 §15.4). */
static void redirect(struct call *k)
{
    struct transfer *t = k->t;
    struct str target = url_resolve(t->arena, t->url, http_try_field(t, "location"));
    struct str shown = str_slice(url_public(t->arena, target), 0, 200);
    struct err err = ERR_INIT;

    if (t->n_redirects >= k->given.max_redirects) {
        http_call_fail(k, RC_PEER, "more than %d redirects; the next one led to %.*s",
                       k->given.max_redirects, STR_ARG(shown));
        return;
    }
    if (t->n_redirects == 0)
        t->first = http_origin(t->arena, &t->parts);
    if (url_parse(t->arena, target, &t->parts, &err) != RC_OK) {
        http_call_fail(k, RC_PEER, "the redirect (%d) cannot be followed: %s", t->status, err.text);
        return;
    }
    if (t->n_redirects == 0)
        t->all_permanent = true;
    t->all_permanent = t->all_permanent && (t->status == 301 || t->status == 308);
    if ((t->status == 303 && !str_eqz(t->method, "HEAD")) ||
        ((t->status == 301 || t->status == 302) && str_eqz(t->method, "POST"))) {
        t->method = STR("GET");
        t->drop_body = true;
    }
    t->n_redirects++;
    t->url = t->parts.url;
    t->status = 0;
    t->n_answer = 0;
    http_try_forget_body(t);
    http_hop_start(k);
}

/* Could libcurl not connect? Then another address is tried. */
static bool is_connect_failure(const struct transfer *t, CURLcode code)
{
    curl_off_t ready_us = 0;

    if (code == CURLE_COULDNT_CONNECT)
        return true;
    if (code != CURLE_OPERATION_TIMEDOUT)
        return false;
    curl_easy_getinfo(t->kept.easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    return ready_us == 0; /* TLS is a part of it */
}

/* Was there a connection, but not the TLS that was to be in it? Of a proxy it is not known. */
static bool hung_in_handshake(const struct transfer *t, CURLcode code)
{
    long port = 0; /* while it connects there is none; the time of the connect comes with that of TLS */

    curl_easy_getinfo(t->kept.easy, CURLINFO_LOCAL_PORT, &port);
    return code == CURLE_OPERATION_TIMEDOUT && port > 0 && !t->is_proxied &&
           str_eqz(t->parts.scheme, "https");
}

/* What libcurl says of a failure. Of a proxy its texts tell where that is. */
static const char *detail_of(struct transfer *t, CURLcode code)
{
    long status = 0;

    if (t->curl_text[0] == '\0' || !t->is_proxied)
        return t->curl_text[0] != '\0' ? t->curl_text : curl_easy_strerror(code);
    curl_easy_getinfo(t->kept.easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 300 ? arena_printf(t->arena, "the proxy answered %ld", status)
                         : curl_easy_strerror(code);
}

/* End the call with the result and the text for libcurl's error `code`. */
static void try_failed(struct call *k, CURLcode code)
{
    struct transfer *t = k->t;
    const char *detail = detail_of(t, code);

    http_try_peer(t);
    t->is_tls_failure = http_tls_is(code);
    if (t->header_over)
        http_call_fail(k, RC_LIMIT, "the answer's header is longer than %zu bytes",
                       k->given.max_header);
    else if (t->body_err.rc != RC_OK)
        http_call_fail(k, t->body_err.rc, "%s", t->body_err.text);
    else if (t->refused)
        http_call_fail(k, RC_DENIED, REFUSED, t->peer);
    else if (is_connect_failure(t, code) && hung_in_handshake(t, code))
        http_call_fail(k, RC_TIMEOUT, "no TLS with %.*s (%s): the handshake did not end in time",
                       STR_ARG(t->parts.host), t->peer);
    else if (is_connect_failure(t, code))
        http_call_fail(k, code == CURLE_OPERATION_TIMEDOUT ? RC_TIMEOUT : RC_PEER,
                       "cannot connect to %s: %s", t->peer, detail);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        http_call_fail(k, RC_TIMEOUT, "no complete answer from %s within %" PRId64 " ms (%s)",
                       t->peer, k->given.timeout_ms, detail);
    else if (http_tls_is(code))
        http_call_fail(k, RC_PEER, "no TLS with %.*s (%s): %s", STR_ARG(t->parts.host), t->peer,
                       http_tls_why(t->kept.easy, code, detail));
    else if (code == CURLE_PARTIAL_FILE)
        http_call_fail(
            k, RC_PEER,
            "the connection to %s ended before the body had its announced length (%zu bytes "
            "came)",
            t->peer, t->body_len);
    else if (code == CURLE_GOT_NOTHING)
        http_call_fail(k, RC_PEER, "%s closed the connection without an answer", t->peer);
    else if (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR)
        http_call_fail(k, RC_PEER, "the connection to %s broke: %s", t->peer,
                       str_eqz(t->parts.scheme, "https") ? http_tls_broke(detail) : detail);
    else
        http_call_fail(k, RC_PEER, "%s: %s", t->peer, detail);
}

void http_hop_done(void *ctx UNUSED, CURL *easy, CURLcode code)
{
    static const struct err none = ERR_INIT;
    struct transfer *t = NULL;
    struct call *k;

    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
    ASSERT(t != NULL && t->in_multi);
    k = t->call;
    t->in_multi = false;
    if (t->redirect_cut)
        code = CURLE_OK;
    if (code != CURLE_OK && !t->refused && t->next < t->n_addrs && is_connect_failure(t, code)) {
        http_try_start(k);
    } else if (code != CURLE_OK) {
        try_failed(k, code);
    } else if (http_try_learn(k)) {
        t->next--;
        http_try_start(k);
    } else if (http_try_redirects(t)) {
        redirect(k);
    } else if (t->decoder != NULL && decoder_end(t->decoder, &t->body_err) != RC_OK) {
        try_failed(k, code);
    } else {
        http_call_end(k, RC_OK, &none);
    }
}
