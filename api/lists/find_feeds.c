/* api/lists/find_feeds.c - GET /discover: the feeds of a web page.
 *
 * The page is fetched, and read on the list thread; it is not stored. If it announces nothing, it is
 * looked up as any feed is that a reader asks for, which tries what the page links to and the usual
 * addresses; what is found then is a feed that is known. */
#include "api/http/first_fetches.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/lists/list_thread.h"
#include "api/views/gather.h"
#include "api/views/shapes.h"
#include "base/mem.h"
#include "feed/lists/discover.h"
#include "feed/read/parse.h"
#include "feed/text/html.h"
#include "feed/text/json.h"
#include "model/media_types.h"

#define MARGIN_MS 60000 /* for what follows, after fetch_wait_ms */

/* A page that is fetched. */
struct finding {
    struct ticket ticket;
    struct list_thread *thread;
    struct arena arena;
    struct wanted_url asked;
    enum rc rc;
    int status;
    int64_t rest_s;
    struct str text;     /* why it failed */
    struct str url;      /* after redirects */
    struct str content_type;
    struct blob *body;
    struct value *feeds; /* a list */
};

/* ---- the answer ---- */

static void put_feed(struct arena *a, struct value *list, struct str href, struct str title,
                     struct str type)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "href", shape_text(a, href));
    value_setz(a, v, "title", shape_text(a, title));
    value_setz(a, v, "type", shape_text(a, type));
    value_push(a, list, v);
}

static void answer(struct request *req, struct str url, struct value *feeds)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct arena *a = req->ask.arena;
    struct value *v = value_dict(a);

    value_setz(a, v, "url", shape_text(a, url));
    value_setz(a, v, "feeds", feeds);
    json_write(&out, v);
    buf_putc(&out, '\n');
    reply_buf(req, 200, MEDIA_JSON, &out, STR_NULL);
}

/* ---- a feed that is known ---- */

static enum task_step read_known(struct task *t, struct reader *r)
{
    struct feed *feed;

    t->rc = reader_feed(r, *(const int64_t *)t->data, &t->arena, &feed, &t->err);
    if (t->rc == RC_OK)
        t->data = feed;
    return TASK_ENDS;
}

static void known_done(struct task *t, struct request *req)
{
    const struct feed *feed = t->data;
    struct value *feeds = value_list(req->ask.arena);
    struct problem p;

    if (t->rc != RC_OK) {
        problem_of_err(&p, req->ask.arena, t->rc, &t->err);
        reply_problem(req, &p);
        return;
    }
    put_feed(req->ask.arena, feeds, feed->url, feed->title, STR_NULL);
    answer(req, str_is_null(feed->page_url) ? feed->url : feed->page_url, feeds);
}

static void answer_known(struct request *req, int64_t id)
{
    struct task *t = task_new(req, read_known, known_done);
    int64_t *kept = ARENA_NEW(&t->arena, int64_t);

    *kept = id;
    t->data = kept;
    task_start(t);
}

/* ---- a page that announces nothing ---- */

static void on_gathered(struct request *req, struct gathered *items, size_t n, void *ctx UNUSED)
{
    struct problem p;

    if (items[0].ready) {
        answer_known(req, items[0].id);
    } else {
        gather_problem(req, items, n, &p);
        reply_problem(req, &p);
    }
}

static void look_further(struct request *req, const struct wanted_url *url)
{
    struct gathered *item = ARENA_NEW(req->ask.arena, struct gathered);

    *item = (struct gathered){.want = {str_dup(req->ask.arena, url->url),
                                       str_dup(req->ask.arena, url->credential),
                                       str_dup(req->ask.arena, url->shown)},
                              .is_let = true}; /* it was charged when the page was fetched */
    gather_start(req, item, 1, on_gathered, NULL);
}

/* ---- a page that is fetched ---- */

static void finding_free(struct finding *f)
{
    blob_unref(&f->body);
    arena_release(&f->arena);
    mem_free(f);
}

static void on_home(struct request *req, void *work)
{
    struct finding *f = work;
    struct problem p;

    if (req != NULL)
        req->on_gone = NULL;
    if (req != NULL && f->rc != RC_OK) {
        gather_failure(req, f->rc, f->status, f->rest_s, str_dup(req->ask.arena, f->text), f->asked.url, &p);
        reply_problem(req, &p);
    } else if (req != NULL && value_len(f->feeds) == 0) {
        look_further(req, &f->asked);
    } else if (req != NULL) {
        answer(req, f->url, f->feeds);
    }
    finding_free(f);
}

static void read_page(struct finding *f)
{
    struct discovery found;

    discover_page(&f->arena, blob_bytes(f->body), f->url, f->content_type, &found);
    discover_order(f->url, found.feeds, found.n_feeds);
    for (size_t i = 0; i < found.n_feeds; i++)
        put_feed(&f->arena, f->feeds, found.feeds[i].href, found.feeds[i].title,
                 found.feeds[i].type);
}

/* Is the document a feed itself? */
static bool read_feed(struct finding *f)
{
    const struct parse_input in = {
        .body = blob_bytes(f->body), .url = f->url, .content_type = f->content_type};
    const struct feed_doc *doc;
    struct str title;

    doc = feed_parse(&f->arena, &in);
    if (doc->version.len == 0)
        return false;
    title = value_get_textz(doc->feed, "title");
    put_feed(&f->arena, f->feeds, f->url,
             str_is_null(title) ? title : html_to_text(&f->arena, title), f->content_type);
    return true;
}

/* The list thread. */
static void on_list_thread(void *ctx)
{
    struct finding *f = ctx;

    if (!read_feed(f))
        read_page(f);
    ticket_post(&f->ticket, on_home, f);
}

/* Any thread. */
static void on_document(void *ctx, const struct document_result *res)
{
    struct finding *f = ctx;
    enum rc rc;

    f->rc = res->rc;
    f->status = res->status;
    f->rest_s = res->rest_s;
    f->text = str_dup(&f->arena, res->text);
    if (f->rc == RC_OK && f->status >= 300) {
        f->rc = RC_PEER;
        f->text = str_printf(&f->arena, "the publisher answered %d", f->status);
    }
    if (f->rc == RC_OK) {
        f->url = str_dup(&f->arena, str_is_null(res->url) ? f->asked.url : res->url);
        f->content_type = str_dup(&f->arena, res->content_type);
        f->body = blob_copy(res->body);
        rc = list_thread_run(f->thread, on_list_thread, f);
        if (rc == RC_OK)
            return; /* it belongs to the list thread, and may be freed already */
        f->rc = rc;
    }
    ticket_post(&f->ticket, on_home, f);
}

static void fetch(struct request *req, const struct wanted_url *url)
{
    struct finding *f = NEW(struct finding);

    f->ticket = ticket_take(req, req->ask.cfg->fetch_wait_ms + MARGIN_MS);
    req->on_gone = request_leave_nothing;
    f->thread = req->ask.api->list_thread;
    f->asked = (struct wanted_url){str_dup(&f->arena, url->url), str_dup(&f->arena, url->credential),
                                   str_dup(&f->arena, url->shown)};
    f->feeds = value_list(&f->arena);
    req->ask.api->ports.get_document(req->ask.api->ports.ctx, f->asked.url, f->asked.credential,
                                     on_document, f);
}

/* Is it a feed that is known here? A page from which one was found may have more; but who may not
 * have a page fetched is told of that one. */
static bool is_known(struct request *req, struct gathered *item)
{
    return gather_knows(&req->ask, item) && item->ready &&
           (req->ask.caller.role < ROLE_SUBSCRIBE ||
            str_eq(store_feed_url(req->ask.api->store, item->id, req->ask.arena), item->want.url));
}

void discover_get(struct request *req)
{
    struct gathered item = {.id = 0};
    struct problem p;

    if (!params_url(&req->ask.params, req->ask.arena, PARAM_page_url, &item.want, &p))
        reply_problem(req, &p);
    else if (is_known(req, &item))
        answer_known(req, item.id);
    else if (!first_fetches_let(req, "page", &p))
        reply_problem(req, &p);
    else if (!request_refuse_at_end(req))
        fetch(req, &item.want);
}
