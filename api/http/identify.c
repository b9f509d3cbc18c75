/* api/http/identify.c - see identify.h. */
#include "api/http/identify.h"

#include "api/http/auth.h"
#include "api/http/token_book.h"

#define NAME_LEN 8 /* characters of the id of the log in the name of the cookie */

struct str identify_cookie_name(const struct request *req)
{
    struct str log = store_log_id(req->ask.api->store);

    return str_concat(req->ask.arena, STR("feedmill_"), str_slice(log, 0, NAME_LEN));
}

struct str identify_option_session(struct arena *a, struct str session, struct str option_token)
{
    return str_printf(a, "%.*s.%.*s", STR_ARG(session), STR_ARG(option_token));
}

/* A cookie counts only if one of our own pages, or nobody, has caused the request: another port of
 * the same host is the same site, and SameSite does not keep its pages away. */
static void take_cookie(struct request *req)
{
    struct str site = str_trim(http_request_field(req->http, "sec-fetch-site"));

    if (site.len > 0 && !str_ieqz(site, "same-origin") && !str_ieqz(site, "none"))
        return;
    req->token = auth_cookie(http_request_field(req->http, "cookie"), identify_cookie_name(req));
    req->has_cookie = !str_is_null(req->token);
}

void identify_take_token(struct request *req)
{
    struct str method = http_request_method(req->http), key = STR_NULL;

    req->token = auth_token(req->ask.arena, http_request_field(req->http, "authorization"));
    if (str_eqz(method, "GET") || str_eqz(method, "HEAD"))
        req->ask.target = auth_without_key(req->ask.arena, req->ask.target, &key);
    req->has_key = !str_is_null(key);
    if (str_is_null(req->token))
        req->token = key;
    if (str_is_null(req->token))
        take_cookie(req);
}

/* A script of a page asks the user itself; after a challenge for Basic the browser would, too. */
static bool refuse(struct request *req, struct problem *p, const char *why)
{
    bool by_script = str_ieqz(str_trim(http_request_field(req->http, "sec-fetch-dest")), "empty");

    problem_set(p, req->ask.arena, PROBLEM_UNAUTHORIZED, "%s", why);
    p->fields = by_script ? STR("WWW-Authenticate: Bearer realm=\"feedmill\"\r\n")
                          : STR("WWW-Authenticate: Basic realm=\"feedmill\", charset=\"UTF-8\"\r\n"
                                "WWW-Authenticate: Bearer realm=\"feedmill\"\r\n");
    return false;
}

/* A caller without a token is identified by its address. */
static bool take_anonymous(struct request *req, struct problem *p)
{
    struct caller *c = &req->ask.caller;
    bool is_alone;

    c->role = ask_anonymous(&req->ask, &is_alone);
    c->is_alone = is_alone;
    c->owner = is_alone ? OWNER_LOCAL : OWNER_ANONYMOUS;
    c->source = buckets_source(http_request_peer(req->http));
    if (c->role == ROLE_NONE)
        return refuse(req, p,
                               "This server requires a token: as `Authorization: Bearer TOKEN`, as "
                               "the password of Basic authentication, or as the parameter `key` of "
                               "a GET.");
    if (auth_host_is_ours(http_request_host(req->http), req->ask.cfg->allow_hosts,
                          req->ask.cfg->n_allow_hosts))
        return true;
    problem_set(p, req->ask.arena, PROBLEM_MISDIRECTED,
                "Without a token this server answers only to IP addresses, localhost, and the "
                "names given by the options --base-url and --allow-host.");
    p->value = http_request_host(req->http);
    return false;
}

/* Is there a token with which this one could be compared? A server without any ignores what clients
 * send, unless it looks like one that was deleted. */
static bool has_tokens(const struct request *req)
{
    return !str_is_null(req->ask.cfg->token) || str_starts(req->token, STR(TOKEN_PREFIX)) ||
           !token_book_is_empty(req->ask.api->tokens);
}

/* Find the caller of a session that was begun with the token of --token. */
static bool find_option_session(struct request *req, struct str token, struct caller *out)
{
    return !str_is_null(req->ask.cfg->token) &&
           token_book_find(
               req->ask.api->tokens,
               identify_option_session(req->ask.arena, token, req->ask.cfg->token), out);
}

bool identify_token(struct request *req, struct str token, struct caller *out)
{
    if (!str_is_null(req->ask.cfg->token) && auth_same(token, req->ask.cfg->token)) {
        *out = (struct caller){.role = ROLE_ADMIN, .owner = OWNER_OPTION, .source = STR("option")};
        return true;
    }
    if (!token_book_find(req->ask.api->tokens, token, out) &&
        !find_option_session(req, token, out))
        return false;
    out->source = out->owner == OWNER_OPTION
                      ? STR("option")
                      : str_printf(req->ask.arena, "token %lld", (long long)out->owner);
    return true;
}

/* A session that has ended is as if there were none. */
bool identify(struct request *req, request_handler_fn *handle, struct problem *p, bool *waits)
{
    if (str_is_null(req->token) || !has_tokens(req))
        return take_anonymous(req, p);
    if (identify_token(req, req->token, &req->ask.caller))
        return true;
    *waits = !req->has_looked && token_book_look(req->ask.api->tokens, req, handle);
    req->has_looked = true;
    if (*waits)
        return false;
    if (req->has_cookie)
        return take_anonymous(req, p);
    return refuse(req, p,
                           "This token is not known here: it is wrong, was deleted, or has "
                           "expired.");
}
