/* server/cli_http.c - requests to the daemon: each on a loop of its own, one at a time. */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/queue.h"
#include "feed/text/json.h"
#include "model/paths.h"
#include "net/http_client.h"
#include "net/http_fields.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define LOOK_MS 250 /* how often to look how it goes, and whether somebody still reads the output */

/* When nothing comes for SAY_MS, a person is told what is waited for. After SILENCE_MS the daemon is asked over a second
 * connection whether it is there, and has PROBE_MS to answer. */
#define SAY_MS 2500
#define SILENCE_MS 8000
#define PROBE_MS 7000

/* How long a download may take; until its first byte, while the daemon makes it; and between two
 * bytes. */
#define DOWNLOAD_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define DOWNLOAD_FIRST_MS ((int64_t)60 * 60 * 1000)
#define DOWNLOAD_NEXT_MS 60000
#define PROBLEM_LEN_MAX 65536 /* of an answer in place of a download */

struct exchange {
    struct loop *loop;
    struct http_client *client;
    const struct http_client_cfg *cfg;
    const struct http_call *call;
    const struct http_call *probe; /* see look() */
    struct arena *arena; /* the caller's; the loop uses it before `done`, the caller after */
    struct queue *done;  /* gets one item when the call has ended */
    enum rc rc;
    struct err err;
    struct cli_answer *out;
    const char *wants; /* see cli_ask() */
    cli_take_fn *take; /* of a download; NULL: the answer is kept whole */
    void *take_ctx;
    struct err refused;         /* by `take` */
    struct buf told;            /* the body of an answer that is not to be taken */
    bool has_taken;
    uint64_t number;            /* of the call */
    _Atomic int64_t until_ms;   /* monotonic: so long to wait for the next byte of a download */
    _Atomic int64_t heard_ms;   /* monotonic: when something came, or the call began */
    _Atomic bool is_probing, is_silent;
};

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct exchange *x = ctx;
    enum rc pushed;

    x->rc = rc;
    if (rc != RC_OK) {
        x->err = *err;
    } else {
        x->out->status = answer->status;
        x->out->body = str_dup(x->arena, x->take != NULL ? buf_view(&x->told) : answer->body);
        x->out->content_type = str_dup(x->arena, http_answer_field(answer, "content-type"));
        x->out->location = str_dup(x->arena, http_answer_field(answer, "location"));
    }
    if (answer != NULL)
        arena_free(&answer->arena);
    pushed = queue_try_push(x->done, x);
    (void)pushed; /* it has room for one item */
}

/* The loop: a piece of a download, or of what is told in its place. */
static enum rc on_piece(void *ctx, const struct http_answer *answer, struct str piece,
                        struct err *err)
{
    struct exchange *x = ctx;
    int64_t n_all = -1;
    enum rc rc;

    atomic_store(&x->until_ms, clock_mono_ms() + DOWNLOAD_NEXT_MS);
    atomic_store(&x->heard_ms, clock_mono_ms());
    x->out->status = answer->status;
    if (answer->status != 200 ||
        !str_eqz(http_media_type(x->arena, http_answer_field(answer, "content-type")), x->wants)) {
        buf_append(&x->told, piece.ptr, piece.len); /* what is too long is cut */
        return RC_OK;
    }
    if (!str_to_i64(http_answer_field(answer, "content-length"), &n_all))
        n_all = -1;
    x->has_taken = true;
    rc = x->take(x->take_ctx, n_all, piece, &x->refused);
    return rc == RC_OK ? rc : err_set(err, rc, "%s", x->refused.text);
}

static void begin(void *ctx)
{
    struct exchange *x = ctx;

    x->client = http_client_new(x->loop, x->cfg);
    x->number = http_client_start(x->client, x->call, on_answer, x);
}

static void cancel(void *ctx)
{
    struct exchange *x = ctx;

    http_client_cancel(x->client, x->number);
}

/* Whatever the answer to the probe is, somebody is there. Where no connection is taken any more, a daemon that ends
 * may still be working for us. */
static void on_probe(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err UNUSED)
{
    struct exchange *x = ctx;

    if (answer != NULL)
        arena_free(&answer->arena);
    if (rc == RC_TIMEOUT && clock_mono_ms() - atomic_load(&x->heard_ms) >= SILENCE_MS) {
        atomic_store(&x->is_silent, true);
        http_client_cancel(x->client, x->number);
    } else {
        atomic_store(&x->heard_ms, clock_mono_ms());
    }
    atomic_store(&x->is_probing, false);
}

static void probe(void *ctx)
{
    struct exchange *x = ctx;

    http_client_start(x->client, x->probe, on_probe, x);
}

static void end(void *ctx)
{
    struct exchange *x = ctx;

    http_client_free(&x->client);
}

/* "; allowed are a, b": the values that would be right; empty: the problem does not list them, or
 * its sentence does. */
static struct str allowed_of(struct arena *a, const struct value *problem, struct str detail)
{
    const struct value *allowed = value_getz(problem, "allowed");
    struct str out = STR("");

    for (size_t i = 0; i < value_len(allowed); i++) {
        struct str one = value_at(allowed, i)->kind == VAL_TEXT ? value_at(allowed, i)->s : STR("");

        if (one.len > 0 && str_find(detail, one) < 0)
            out = str_printf(a, "%.*s%s%.*s", STR_ARG(out), out.len == 0 ? "; allowed are " : ", ",
                             STR_ARG(one));
    }
    return out;
}

/* A sentence that speaks of the member `horizon` has its value instead, because the document is not printed. */
static struct str with_horizon(struct arena *a, const struct value *problem, struct str detail)
{
    struct str member = STR("the cursor `horizon`"), horizon = value_get_textz(problem, "horizon");
    ssize_t at = str_find(detail, member);

    if (at < 0 || horizon.len == 0)
        return detail;
    return str_printf(a, "%.*sthe cursor %.*s%.*s", (int)at, detail.ptr, STR_ARG(horizon),
                      STR_ARG(str_slice(detail, (size_t)at + member.len, detail.len)));
}

/* The detail of a problem document, and what is allowed; null: the answer is not one. */
static struct str problem_of(struct arena *a, const struct cli_answer *answer, bool has_token)
{
    struct value *v = NULL;
    struct str detail = STR_NULL, allowed;

    if (answer->status == 401)
        return has_token ? STR("the daemon does not accept this token; --token or FEEDMILL_TOKEN "
                               "must have one that \"feedmill token ls\" lists, or the one with "
                               "which it was started")
                         : STR("the daemon requires a token; set it by --token TEXT or "
                               "FEEDMILL_TOKEN");
    if (json_read(a, answer->body, &v, NULL) == RC_OK)
        detail = with_horizon(a, v, value_get_textz(v, "detail"));
    if (str_is_null(detail))
        return detail;
    allowed = allowed_of(a, v, detail);
    if (allowed.len > 0 && str_ends(detail, STR(".")))
        detail.len--;
    return cli_plain(a, str_concat(a, detail, allowed));
}

/* Is standard output a pipe or socket that nobody reads any more? */
static bool is_output_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
}

/* Nothing has come for some time. An answer may take long (a copy of a database, a publisher who is asked first), so
 * time alone tells nothing: a daemon that works answers a second, small request meanwhile. */
static void look(struct exchange *x, const struct cli_server *srv, struct str origin, bool *is_told)
{
    int64_t silent_ms = clock_mono_ms() - atomic_load(&x->heard_ms);

    if (srv->ends_with_output && is_output_gone())
        exit(CLI_OK);
    if (x->take != NULL && clock_mono_ms() > atomic_load(&x->until_ms))
        loop_call(x->loop, cancel, x);
    if (silent_ms >= SAY_MS && !*is_told && !srv->is_patient) {
        cli_progress("waiting for %.*s; Ctrl-C ends it", STR_ARG(origin));
        *is_told = true;
    }
    if (silent_ms >= SILENCE_MS && !atomic_exchange(&x->is_probing, true))
        loop_call(x->loop, probe, x);
}

/* Run the call on a loop of its own, and wait until it has ended. */
static void run(struct exchange *x, const struct cli_server *srv, struct str origin)
{
    bool is_told = false;
    void *item;

    x->done = queue_new(1, NULL);
    x->loop = loop_new("cli");
    atomic_store(&x->heard_ms, clock_mono_ms());
    loop_call(x->loop, begin, x);
    while (queue_pop(x->done, &item, 1, LOOK_MS) == 0)
        look(x, srv, origin, &is_told);
    queue_done(1);
    if (is_told)
        cli_progress_end();
    loop_call(x->loop, end, x);
    loop_free(&x->loop);
    queue_free(&x->done);
}

/* A sentence that says why a download is not whole. */
static struct str broken(struct arena *a, struct str origin, const struct exchange *x)
{
    if (x->refused.rc != RC_OK)
        return str_dup(a, str_from(x->refused.text));
    if (x->rc == RC_CLOSED)
        return str_printf(a, "the daemon at %.*s has sent nothing for too long", STR_ARG(origin));
    return str_printf(a, "the daemon at %.*s has not sent all: %s", STR_ARG(origin), x->err.text);
}

/* Is nobody there? Else somebody has answered, but not to the end, or not in HTTP. */
static bool is_alone(const struct exchange *x)
{
    struct str why = str_from(x->err.text);

    return x->rc == RC_PEER && (str_find(why, STR("cannot connect")) >= 0 || str_find(why, STR("cannot be resolved")) >= 0);
}

/* A sentence that says why no answer came. */
static struct str silence(struct arena *a, struct str origin, const struct exchange *x)
{
    if (is_alone(x))
        return str_printf(a,
                          "no daemon answers at %.*s; start one with \"feedmill serve\", or give "
                          "the URL of another one with --server URL",
                          STR_ARG(origin));
    if (atomic_load(&x->is_silent))
        return str_printf(a,
                          "%.*s takes connections, but has answered nothing for %d seconds; if a daemon runs there, "
                          "it hangs or has far too much to do: its log says more; --server URL names another one",
                          STR_ARG(origin), (SILENCE_MS + PROBE_MS) / 1000);
    if (x->take != NULL)
        return broken(a, origin, x);
    return str_printf(a, "no whole answer came: %s", x->err.text); /* which names the URL */
}

/* What is wrong with an answer that came; null: nothing. */
static struct str problem_in(struct exchange *x, struct str origin, bool has_token)
{
    struct str problem = x->out->status >= 400 ? problem_of(x->arena, x->out, has_token) : STR_NULL;

    if (!str_is_null(problem) || x->has_taken)
        return problem;
    return cli_judge(x->arena, origin, x->out, x->wants);
}

/* The address of the daemon. */
static struct str origin_of(const struct cli_server *srv, struct arena *a)
{
    struct str origin = str_is_null(srv->url) ? str_from(getenv("FEEDMILL_SERVER")) : srv->url;

    origin = origin.len == 0 ? STR("http://127.0.0.1:8080") : cli_url(a, origin);
    if (str_ends(origin, STR("/")) && !str_ends(origin, STR("://")))
        origin.len--;
    return origin;
}

/* Make the call to this path, as `srv` says, and look at what came of it. x->out is empty. */
static bool ask(const struct cli_server *srv, struct exchange *x, struct http_call *call,
                struct str path, struct str content_type)
{
    struct arena *a = x->arena;
    struct cli_answer *out = x->out;
    struct str origin = origin_of(srv, a);
    struct str token = str_is_null(srv->token) ? str_from(getenv("FEEDMILL_TOKEN")) : srv->token;
    struct str everywhere[] = {STR("0.0.0.0/0"), STR("::/0")};
    struct guard *guard = NULL;
    struct http_field fields[2];
    struct http_call health = {.method = STR("GET"),
                               .max_body = PROBLEM_LEN_MAX,
                               .max_header = LIMIT_FETCH_HEADER,
                               .timeout_ms = PROBE_MS};
    struct url_parts parts, there;
    struct err err = ERR_INIT;
    struct http_client_cfg cfg = {.user_agent = "feedmill/" FEEDMILL_VERSION, .max_total = 4};

    if (url_parse(a, str_concat(a, origin, path), &parts, &err) != RC_OK ||
        url_parse(a, str_concat(a, origin, STR(PATH_HEALTH)), &there, &err) != RC_OK) {
        out->problem = str_printf(a, "--server %.*s: %s", STR_ARG(origin), err.text);
        out->is_misuse = true;
        return false;
    }
    call->url = parts.url;
    call->fields = fields;
    health.url = there.url;
    if (!str_is_null(content_type))
        fields[call->n_fields++] = (struct http_field){STR("Content-Type"), content_type};
    if (token.len > 0)
        fields[call->n_fields++] =
            (struct http_field){STR("Authorization"), str_concat(a, STR("Bearer "), token)};
    if (guard_new(everywhere, ARRAY_LEN(everywhere), &guard, &err) != RC_OK) {
        out->problem = str_dup(a, str_from(err.text));
        return false;
    }
    cfg.guard = guard;
    x->cfg = &cfg;
    x->call = call;
    x->probe = &health;
    if (srv->ends_with_output && is_output_gone())
        exit(CLI_OK);
    run(x, srv, str_slice(there.url, 0, there.url.len - strlen(PATH_HEALTH))); /* without a password */
    guard_free(&guard);
    out->is_misuse = out->status == 400;
    if (x->rc != RC_OK)
        out->problem = silence(a, origin, x);
    else
        out->problem = problem_in(x, origin, token.len > 0);
    return str_is_null(out->problem);
}

bool cli_ask(const struct cli_server *srv, struct arena *a, const char *method, struct str path,
             struct str content_type, struct str body, int64_t timeout_ms, const char *wants,
             struct cli_answer *out)
{
    struct http_call call = {.method = str_from(method),
                             .body = body,
                             .max_body = (size_t)1 << 30,
                             .max_header = LIMIT_FETCH_HEADER,
                             .timeout_ms = timeout_ms};
    struct exchange x = {.arena = a, .out = out, .wants = wants};

    *out = (struct cli_answer){.problem = STR_NULL};
    return ask(srv, &x, &call, path, content_type);
}

bool cli_download(const struct cli_server *srv, struct arena *a, const char *method,
                  struct str path, const char *type, cli_take_fn *take, void *ctx,
                  struct cli_answer *out)
{
    struct http_call call = {.method = str_from(method),
                             .take = on_piece,
                             .max_header = LIMIT_FETCH_HEADER,
                             .timeout_ms = DOWNLOAD_MS};
    struct exchange x = {.arena = a,
                         .out = out,
                         .wants = type,
                         .take = take,
                         .take_ctx = ctx,
                         .told = BUF_INIT(PROBLEM_LEN_MAX),
                         .until_ms = clock_mono_ms() + DOWNLOAD_FIRST_MS};
    bool ok;

    *out = (struct cli_answer){.problem = STR_NULL};
    ok = ask(srv, &x, &call, path, STR_NULL);
    buf_release(&x.told);
    return ok;
}

bool cli_call(const char *name, const struct cli_server *srv, struct arena *a, const char *method,
              struct str path, struct str content_type, struct str body, int64_t timeout_ms,
              const char *wants, struct cli_answer *out)
{
    if (cli_ask(srv, a, method, path, content_type, body, timeout_ms, wants, out))
        return true;
    if (out->is_misuse)
        cli_misuse(name, "%.*s", STR_ARG(out->problem));
    else
        cli_fail(name, "%.*s", STR_ARG(out->problem));
    return false;
}

struct value *cli_call_json(const char *name, const struct cli_server *srv, struct arena *a,
                            const char *method, struct str path, struct str content_type,
                            struct str body, int64_t timeout_ms, const char *members)
{
    struct cli_answer answer;

    return cli_call(name, srv, a, method, path, content_type, body, timeout_ms, members, &answer) ? answer.json : NULL;
}
