/* api/lists/list_tree.c - reads a list and the lists that it includes, in rounds.
 *
 * In a round, a few lists are fetched. Then the list thread reads them, and puts the lists that
 * they include in the queue. The tree belongs to one thread at a time: first to the thread that
 * gets the last answer of a round, then to the list thread. */
#include "api/lists/list_tree.h"

#include "api/http/first_fetches.h"
#include "api/lists/list_thread.h"
#include "base/blob.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/url.h"

#define ROUND 4 /* lists that are fetched at a time */

/* One list that is being fetched. */
struct list_get {
    struct list_tree *tree;
    struct list_node *node;
    struct arena arena; /* of the strings; the answers of a round come on any thread */
    struct blob *body;  /* NULL: the fetch failed */
    struct str content_type, base, why;
};

struct list_tree {
    struct arena arena;
    struct list_node root;
    struct map seen;                 /* lists that were named so far, by URL and credential */
    struct list_node *first, **last; /* the queue of lists to fetch */
    size_t n_lists, n_bytes, n_outlines;
    int64_t until_ms; /* monotonic; no further list is fetched after this time */
    struct api *api;
    const struct api_cfg *cfg; /* of who pays for the lists; NULL: nobody does */
    struct caller caller;
    list_tree_done_fn *done;
    void *ctx;
    struct list_get gets[ROUND];
    size_t n_gets;
    atomic_size_t n_pending;
};

struct list_tree *list_tree_new(void)
{
    struct list_tree *t = NEW(struct list_tree);

    t->last = &t->first;
    return t;
}

void list_tree_free(struct list_tree **tp)
{
    struct list_tree *t = *tp;

    if (t == NULL)
        return;
    map_release(&t->seen, NULL);
    arena_release(&t->arena);
    mem_free(t);
    *tp = NULL;
}

const struct list_node *list_tree_root(const struct list_tree *t)
{
    return &t->root;
}

void list_tree_charge(struct list_tree *t, struct api *api, const struct api_cfg *cfg,
                      const struct caller *caller)
{
    t->api = api;
    t->cfg = cfg;
    t->caller = *caller;
    t->caller.source = str_dup(&t->arena, caller->source);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Note that a list was named. True: for the first time. */
static bool note_list(struct list_tree *t, const struct wanted_url *url)
{
    struct str key =
        str_printf(&t->arena, "%.*s\n%.*s", STR_ARG(url->url), STR_ARG(url->credential));

    return map_put(&t->seen, key, t) == NULL;
}

/* May one more list be fetched for whoever pays? */
static bool is_paid(struct list_tree *t)
{
    int64_t wait_s;

    return t->cfg == NULL || first_fetches_take_all(t->api, t->cfg, &t->caller, 1, &wait_s);
}

/* Put the list that an outline includes in the queue, or note why that is not possible. */
static void take_include(struct list_tree *t, const struct list_node *from,
                         const struct opml_include *in, struct list_node *node)
{
    struct str base = str_is_null(from->base) ? from->url.url : from->base, url = in->url;
    struct problem p;

    node->depth = from->depth + 1;
    if (!str_is_null(base))
        url = url_resolve(&t->arena, base, url);
    if (!wanted_url_read(&t->arena, "url", url, &node->url, &p)) {
        node->url.shown = url_public(&t->arena, in->url);
        node->why = STR("an included list needs an absolute http or https address");
        return;
    }
    if (!note_list(t, &node->url))
        return;
    if (node->depth > LIMIT_LISTS_DEPTH) {
        node->why = str_printf(&t->arena, "lists in lists are read only to a depth of %d",
                               LIMIT_LISTS_DEPTH);
    } else if (t->n_lists == LIMIT_LISTS) {
        node->why = str_printf(&t->arena, "more than %d lists", LIMIT_LISTS);
    } else if (!is_paid(t)) {
        node->why = STR("too many lists and feeds that are not known here were asked for; try "
                        "again in a minute");
    } else {
        t->n_lists++;
        *t->last = node;
        t->last = &node->next;
    }
}

static enum rc read_list(struct list_tree *t, struct list_node *node, struct str body,
                         struct str content_type, struct err *err)
{
    enum rc rc;

    if (t->n_bytes + body.len > LIMIT_FETCH_BODY)
        return err_set(err, RC_LIMIT, "the lists together have more than %d bytes",
                       LIMIT_FETCH_BODY);
    rc = opml_read(&t->arena, body, content_type, &node->opml, err);
    if (rc == RC_OK && t->n_outlines + node->opml.n_outlines > LIMIT_OPML_OUTLINES) {
        node->opml = (struct opml){.n_feeds = 0};
        rc = err_set(err, RC_LIMIT, "the lists together have more than %d outlines",
                     LIMIT_OPML_OUTLINES);
    }
    if (rc != RC_OK)
        return rc;
    t->n_bytes += body.len;
    t->n_outlines += node->opml.n_outlines;
    node->included = ARENA_ARRAY(&t->arena, struct list_node, node->opml.n_includes + 1);
    for (size_t i = 0; i < node->opml.n_includes; i++)
        take_include(t, node, &node->opml.includes[i], &node->included[i]);
    return RC_OK;
}

enum rc list_tree_read(struct list_tree *t, const struct wanted_url *url, struct str base,
                       struct str body, struct str content_type, struct err *err)
{
    t->n_lists = 1;
    if (url != NULL) {
        t->root.url = (struct wanted_url){.url = str_dup(&t->arena, url->url),
                                          .credential = str_dup(&t->arena, url->credential),
                                          .shown = str_dup(&t->arena, url->shown)};
        if (str_is_null(url->credential))
            t->root.url.credential = STR_NULL;
        note_list(t, &t->root.url);
    }
    if (!str_is_null(base))
        t->root.base = str_dup(&t->arena, base);
    return read_list(t, &t->root, body, content_type, err);
}

/* ---- following ------------------------------------------------------------------------------- */

static void next_round(struct list_tree *t);

/* Fetch no more lists; those in the queue fail with this text. */
static void give_up(struct list_tree *t, struct str why)
{
    for (; t->first != NULL; t->first = t->first->next)
        t->first->why = why;
    t->last = &t->first;
}

static void take_answer(struct list_tree *t, struct list_get *g)
{
    struct err err = ERR_INIT;

    if (!str_is_null(g->base))
        g->node->base = str_dup(&t->arena, g->base);
    if (g->body == NULL)
        g->node->why = str_dup(&t->arena, g->why);
    else if (read_list(t, g->node, blob_bytes(g->body), g->content_type, &err) != RC_OK)
        g->node->why = str_dup(&t->arena, str_from(err.text));
    blob_unref(&g->body);
    arena_release(&g->arena);
}

/* Runs on the list thread: read the lists of a round. */
static void on_round(void *ctx)
{
    struct list_tree *t = ctx;

    for (size_t i = 0; i < t->n_gets; i++)
        take_answer(t, &t->gets[i]);
    next_round(t);
}

static void on_document(void *ctx, const struct document_result *res)
{
    struct list_get *g = ctx;
    struct list_tree *t = g->tree;
    enum rc rc;

    if (res->rc == RC_OK && res->status < 300) {
        g->content_type = str_dup(&g->arena, res->content_type);
        g->base = str_is_null(res->url) ? STR_NULL : str_dup(&g->arena, res->url);
        g->body = blob_copy(res->body);
    } else if (res->rc == RC_OK) {
        g->why = str_printf(&g->arena, "the publisher answered %d", res->status);
    } else {
        g->why = res->text.len > 0 ? str_dup(&g->arena, res->text) : str_from(rc_meaning(res->rc));
    }
    if (atomic_fetch_sub(&t->n_pending, 1) > 1)
        return;
    rc = list_thread_run(t->api->list_thread, on_round, t);
    if (rc == RC_OK)
        return; /* the tree belongs to the list thread now */
    for (size_t i = 0; i < t->n_gets; i++) {
        blob_unref(&t->gets[i].body);
        t->gets[i].why = str_from(rc_meaning(rc));
        take_answer(t, &t->gets[i]);
    }
    give_up(t, str_from(rc_meaning(rc)));
    t->done(t->ctx);
}

static void next_round(struct list_tree *t)
{
    struct api *api = t->api;
    struct list_node *nodes[ROUND];
    size_t n = 0;

    pthread_mutex_lock(&api->stop_lock);
    if (api->stopping) /* publishers would not answer in time */
        give_up(t, STR("the daemon is stopping"));
    else if (clock_mono_ms() >= t->until_ms)
        give_up(t, STR("the time limit for all lists together was reached before it"));
    for (; t->first != NULL && n < ROUND; t->first = t->first->next) {
        t->gets[n] = (struct list_get){.tree = t, .node = t->first};
        nodes[n++] = t->first;
    }
    if (t->first == NULL)
        t->last = &t->first;
    t->n_gets = n;
    atomic_store(&t->n_pending, n);
    for (size_t i = 0; i < n; i++) { /* after the last one, the tree may belong to another thread */
        struct list_get *get = &t->gets[i];

        api->ports.get_document(api->ports.ctx, nodes[i]->url.url, nodes[i]->url.credential,
                                on_document, get);
    }
    pthread_mutex_unlock(&api->stop_lock);
    if (n == 0)
        t->done(t->ctx);
}

bool list_tree_follow(struct list_tree *t, struct api *api, list_tree_done_fn *done, void *ctx)
{
    if (t->first == NULL)
        return true;
    t->api = api;
    t->done = done;
    t->ctx = ctx;
    t->until_ms = clock_mono_ms() + LIMIT_LISTS_MS;
    next_round(t);
    return false;
}

/* ---- the result ------------------------------------------------------------------------------ */

static struct str *joined(struct arena *a, const struct str *x, size_t n_x, const struct str *y,
                          size_t n_y)
{
    struct str *all = ARENA_ARRAY(a, struct str, n_x + n_y + 1);

    for (size_t i = 0; i < n_x; i++)
        all[i] = x[i];
    for (size_t i = 0; i < n_y; i++)
        all[n_x + i] = y[i];
    return all;
}

/* Append the contents of a list and of the lists within it. They are at most LIMIT_LISTS_DEPTH
 * deep.
 */
static void visit(struct arena *a, struct list_contents *out, const struct list_node *node,
                  const struct str *folders, size_t n_folders)
{
    const struct opml *l = &node->opml;
    size_t next = 0;

    if (!str_is_null(node->why))
        out->failures[out->n_failures++] = node;
    for (size_t i = 0; i <= l->n_feeds; i++) {
        for (; next < l->n_includes && l->includes[next].before == i; next++) {
            const struct opml_include *in = &l->includes[next];

            visit(a, out, &node->included[next],
                  joined(a, folders, n_folders, in->folders, in->n_folders),
                  n_folders + in->n_folders);
        }
        if (i == l->n_feeds)
            break;
        out->feeds[out->n_feeds++] = (struct listed_feed){
            .feed = &l->feeds[i],
            .node = node,
            .folders = joined(a, folders, n_folders, l->feeds[i].folders, l->feeds[i].n_folders),
            .n_folders = n_folders + l->feeds[i].n_folders};
    }
}

struct list_contents list_tree_contents(struct arena *a, const struct list_tree *t)
{
    struct list_contents out = {.feeds = ARENA_ARRAY(a, struct listed_feed, t->n_outlines + 1),
                                .failures =
                                    ARENA_ARRAY(a, const struct list_node *, t->n_outlines + 1)};

    visit(a, &out, &t->root, NULL, 0);
    return out;
}
