/* fetcher/get.c - documents that are not stored: lists, and the pages of /discover. They are asked for at once, without the
 * work queue, but not of a host that rests (ETIQ-03). */
#include "fetcher/fetcher_priv.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fetcher/rests.h"
#include "net/url.h"

struct get {
    struct fetcher *f;
    struct arena *arena;
    struct str url, credential;
    document_done_fn *done;
    void *ctx;
};

static void end_get(struct get *get, const struct document_result *res)
{
    get->done(get->ctx, res);
    arena_free(&get->arena);
    mem_free(get);
}

static void on_document(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct get *get = ctx;
    struct arena *arena = answer->arena;
    struct document_result res = {
        .rc = rc,
        .status = answer->status,
        .rest_s = (answer->rest_ms + 999) / 1000,
        .body = answer->body,
        .content_type = http_answer_field(answer, "content-type"),
        .text = STR(""),
        .url = answer->final_url,
    };
    struct response resp = response_judge(arena, rc, answer, err, false, clock_now_s());

    rests_heed(get->f, answer->final_url, &resp);
    if (rc != RC_OK) {
        res.text = str_from(err->text);
    } else if (answer->status != 200 || resp.kind == RESPONSE_ERROR) { /* a challenge may be 200 */
        res.rc = RC_PEER;
        res.text = str_is_null(resp.text) ? str_printf(arena, "the server answered with status %d", answer->status)
                                          : resp.text; /* as in last_error of a feed */
    }
    end_get(get, &res);
    arena_free(&arena);
}

static void on_get(void *ctx)
{
    struct get *get = ctx;
    struct fetcher *f = get->f;
    struct url_parts parts;
    struct err err = ERR_INIT;
    struct http_field accept = {STR("Accept"),
                                STR("text/x-opml, application/xml, text/xml;q=0.9, */*;q=0.5")};
    struct http_call call = {
        .method = STR("GET"),
        .credential = get->credential,
        .fields = &accept,
        .n_fields = 1,
        .max_redirects = LIMIT_FETCH_REDIRECTS,
        .max_body = f->max_body,
        .max_header = LIMIT_FETCH_HEADER,
        .timeout_ms = f->timeout_ms,
        .rest = rests_left_ms,
        .rest_ctx = f,
    };
    enum rc rc = RC_CLOSED;

    if (f->client == NULL || f->stopping)
        err_set(&err, rc, "shutting down");
    else
        rc = url_parse(get->arena, get->url, &parts, &err);
    if (rc != RC_OK) {
        end_get(get,
                &(struct document_result){.rc = rc, .body = STR(""), .text = str_from(err.text)});
        return;
    }
    call.url = parts.url;
    if (str_is_null(call.credential))
        call.credential = parts.credential;
    http_client_start(f->client, &call, on_document, get);
}

void fetcher_get(struct fetcher *f, struct str url, struct str credential, document_done_fn *done,
                 void *ctx)
{
    struct get *get = NEW(struct get);

    get->f = f;
    get->arena = arena_new();
    get->url = str_dup(get->arena, url);
    get->credential = str_is_null(credential) ? STR_NULL : str_dup(get->arena, credential);
    get->done = done;
    get->ctx = ctx;
    loop_post(f->loop, on_get, get);
}
