/* api/session.c - GET, POST and DELETE /session: the caller, and how a browser signs in and out.
 *
 * A session is a token with an end, made for a browser that has shown another one. It is stored as
 * tokens are, so all nodes know it, and it ends on the server. The browser keeps it in a cookie
 * that scripts cannot read. Source: RFC 6265. */
#include "api/http/handlers.h"

#include "api/http/auth.h"
#include "api/http/identify.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/http/token_book.h"
#include "api/http/token_terms.h"
#include "api/rights.h"
#include "base/clock.h"
#include "base/digest.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/value.h"

#define SESSION_S (12 * 3600)
#define SESSIONS_MAX 50 /* of one token; the oldest one makes room */

struct signing {
    struct token token; /* the session */
    struct str secret;
    struct str option; /* that of --token, if it was shown; null */
};

/* ---- who one is ------------------------------------------------------------------------------ */

static struct value *shape(struct arena *a, const struct ask *ask, const struct caller *c)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "role", value_text(a, str_from(role_name(c->role))));
    value_setz(a, v, "token", c->owner > 0 ? value_int(a, c->owner) : value_null(a));
    value_setz(a, v, "session", value_bool(a, c->session != 0));
    value_setz(a, v, "alone", value_bool(a, c->is_alone));
    value_setz(a, v, "backup",
               value_bool(a, !store_is_shared(ask->api->store) &&
                                 (c->role == ROLE_ADMIN || c->is_alone)));
    value_setz(a, v, "origin", value_text(a, ask->origin));
    value_setz(a, v, "version", value_text(a, STR(FEEDMILL_VERSION)));
    return v;
}

static void reply_json(struct request *req, const struct value *v, struct str fields)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    json_write(&out, v);
    buf_putc(&out, '\n');
    reply_buf(req, 200, MEDIA_JSON, &out, fields);
}

void session_get(struct request *req)
{
    reply_json(req, shape(req->ask.arena, &req->ask, &req->ask.caller), STR_NULL);
}

/* ---- the cookie ------------------------------------------------------------------------------ */

static struct str cookie(struct request *req, struct str value, int64_t max_age_s)
{
    bool is_tls = str_istarts(req->ask.cfg->base_url, STR("https://"));

    return str_printf(
        req->ask.arena,
        "Set-Cookie: %.*s=%.*s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s\r\n",
        STR_ARG(identify_cookie_name(req)), STR_ARG(value), (long long)max_age_s,
        is_tls ? "; Secure" : "");
}

/* ---- sign in --------------------------------------------------------------------------------- */

/* On a reader thread: learn of the new session. */
static void on_reader(void *ctx, struct reader *r)
{
    struct task *t = ctx;

    t->rc = token_book_read(t->api->tokens, r, &t->err);
    task_finish(t);
}

/* The storer's thread. */
static void on_added(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                     const struct err *err)
{
    struct task *t = ctx;

    if (rc == RC_OK && (rc = store_read(t->api->store, on_reader, t)) == RC_OK)
        return;
    t->rc = rc;
    if (err != NULL)
        t->err = *err;
    task_finish(t);
}

static void set_digest(struct token *t, struct arena *a, struct str bytes)
{
    unsigned char digest[DIGEST_SHA256_LEN];
    char *hex = arena_alloc(a, 2 * sizeof digest + 1);

    digest_sha256(bytes, digest);
    digest_hex(digest, sizeof digest, hex);
    t->digest = str_of(hex, 2 * sizeof digest);
}

/* Has the session ended, or must it make room? They are in the order in which they began, so of one
 * token the first `n_over` are the oldest. */
static bool is_to_go(const struct token *t, int64_t of, int64_t now, size_t *n_over)
{
    if (t->session_of == 0)
        return false;
    if (t->expires_at <= now)
        return true;
    return t->session_of == of && *n_over > 0 && (*n_over)--;
}

/* Sessions that are over are cleared away when the next one begins. */
static enum rc clear_away(struct task *t, struct reader *r)
{
    const struct signing *s = t->data;
    int64_t now = clock_now_s();
    struct token *all;
    size_t n, n_of = 0, n_over;
    enum rc rc = reader_tokens(r, &t->arena, &all, &n, &t->err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        n_of += all[i].session_of == s->token.session_of && all[i].expires_at > now;
    n_over = n_of < SESSIONS_MAX ? 0 : n_of - SESSIONS_MAX + 1;
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        if (is_to_go(&all[i], s->token.session_of, now, &n_over))
            rc = store_token_drop(t->api->store, all[i].id, NULL, NULL);
    return rc;
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct signing *s = t->data;

    s->secret = token_make(&t->arena, &s->token);
    if (!str_is_null(s->option))
        set_digest(&s->token, &t->arena, identify_option_session(&t->arena, s->secret, s->option));
    t->rc = clear_away(t, r);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    return task_handed_over(t, store_token_add(t->api->store, &s->token, on_added, t));
}

static void reply_signed(struct task *t, struct request *req)
{
    const struct signing *s = t->data;
    struct caller c;
    struct problem p;

    if (t->rc == RC_OK && identify_token(req, s->secret, &c)) {
        reply_json(req, shape(req->ask.arena, &req->ask, &c), cookie(req, s->secret, SESSION_S));
        return;
    }
    problem_of_err(&p, req->ask.arena, t->rc == RC_OK ? RC_AGAIN : t->rc, &t->err);
    reply_problem(req, &p);
}

static void begin(struct request *req, const struct caller *c)
{
    struct task *t = task_new(req, work, reply_signed);
    struct signing *s = ARENA_NEW(&t->arena, struct signing);

    s->token = (struct token){.name = STR("session"),
                              .role = c->role,
                              .rate = c->rate,
                              .created_at = clock_now_s(),
                              .expires_at = clock_now_s() + SESSION_S,
                              .used_at = TIME_UNKNOWN,
                              .session_of = c->owner};
    s->option = c->owner == OWNER_OPTION ? str_dup(&t->arena, req->ask.cfg->token) : STR_NULL;
    t->data = s;
    task_start(t);
}

static bool is_our_page(struct request *req, struct problem *p)
{
    if (auth_origin_may_write(http_request_field(req->http, "origin"), http_request_host(req->http),
                              req->ask.cfg->base_url, STR_NULL))
        return true;
    return problem_set(p, req->ask.arena, PROBLEM_FORBIDDEN,
                       "A page of another origin may not sign anybody in here.");
}

/* The token's rate holds for signing in, too. A session ends when it was said to: it makes no
 * further one. */
static void sign_in(struct request *req, const struct caller *c)
{
    struct problem p;

    req->ask.caller = *c;
    if (!request_in_rate(req, &p)) {
        reply_problem(req, &p);
    } else if (c->session != 0) {
        problem_set(&p, req->ask.arena, PROBLEM_FORBIDDEN,
                    "This is a session; to sign in takes the token that it was made with.");
        reply_problem(req, &p);
    } else {
        begin(req, c);
    }
}

void session_post(struct request *req)
{
    struct str token;
    struct problem p;
    struct caller c;

    if (!is_our_page(req, &p) ||
        !params_one(&req->ask.params, req->ask.arena, PARAM_shown_token, &token, &p)) {
        reply_problem(req, &p);
        return;
    }
    token = str_trim(token);
    if (identify_token(req, token, &c)) {
        sign_in(req, &c);
        return;
    }
    if (!req->has_looked && token_book_look(req->ask.api->tokens, req, session_post)) {
        req->has_looked = true;
        return;
    }
    problem_set(&p, req->ask.arena, PROBLEM_FORBIDDEN,
                "This token is not known here: it is wrong, was deleted, or has expired.");
    reply_problem(req, &p);
}

/* ---- sign out -------------------------------------------------------------------------------- */

static void on_dropped(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                       const struct err *err)
{
    struct task *t = ctx;

    t->rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    if (t->rc == RC_OK)
        rights_forget(t->api, t->caller.session);
    else if (err != NULL)
        t->err = *err;
    task_finish(t);
}

static enum task_step work_end(struct task *t, struct reader *r UNUSED)
{
    enum rc rc = store_token_drop(t->api->store, t->caller.session, on_dropped, t);

    return task_handed_over(t, rc);
}

static void reply_ended(struct request *req)
{
    struct reply r = REPLY_INIT;

    r.status = 204;
    r.cache = "no-store";
    r.fields = cookie(req, STR(""), 0);
    reply_send(req, &r);
}

static void on_ended(struct task *t, struct request *req)
{
    struct problem p;

    if (t->rc == RC_OK) {
        reply_ended(req);
        return;
    }
    problem_of_err(&p, req->ask.arena, t->rc, &t->err);
    reply_problem(req, &p);
}

void session_delete(struct request *req)
{
    if (req->ask.caller.session == 0)
        reply_ended(req);
    else
        task_start(task_new(req, work_end, on_ended));
}
