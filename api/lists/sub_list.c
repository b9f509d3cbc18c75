/* api/lists/sub_list.c - GET /sub: the subscribed feeds, as OPML, or with all their details as
 * JSON. */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/http/task.h"
#include "api/lists/sub_part.h"
#include "api/lists/sub_shown.h"
#include "api/views/shapes.h"
#include "api/views/sub_book.h"
#include "base/limits.h"
#include "base/map.h"
#include "feed/lists/opml.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "model/view.h"

#define LIST_MAX ((size_t)512 * 1024 * 1024)

struct sub_listing {
    int64_t id; /* 0: all */
    bool json, all, brief;
    struct sub_part *part; /* of a brief list; NULL: all of it */
    bool failed; /* then problem says why */
    struct problem problem;
    struct buf out;
    /* what was read */
    struct subscription *subs;
    size_t n_subs;
    struct feed *feeds;
    size_t n_feeds;
};

static void dispose(struct task *t)
{
    struct sub_listing *l = t->data;

    sub_part_release(l->part);
    buf_release(&l->out);
}

/* Is it a feed that the listing has? What is only followed as a list of feeds is none. */
static bool is_shown(const struct sub_listing *l, const struct feed *feed)
{
    return (l->all || l->id != 0 || feed->n_subscriptions > 0) && !feed_is_list(feed);
}

/* The caller's own names for the feeds of the listing. */
static enum rc read_names(struct task *t, struct reader *r, const struct sub_listing *l, struct own_names *out)
{
    int64_t *ids = ARENA_ARRAY(&t->arena, int64_t, l->n_feeds + 1);
    enum rc rc = sub_book_refresh(t->api->subs, r, &t->err);

    for (size_t i = 0; i < l->n_feeds; i++)
        ids[i] = l->feeds[i].id;
    if (rc == RC_OK)
        *out = sub_book_names(t->api->subs, &t->caller, ids, l->n_feeds, &t->arena);
    return rc;
}

static void write_json(struct task *t, struct reader *r, struct sub_listing *l)
{
    struct arena *a = &t->arena;
    struct value *v = value_dict(a), *subs = value_list(a), *feeds = value_list(a);
    struct host_rests rests;
    struct own_names own;

    t->rc = host_rests_read(&rests, r, a, &t->err);
    if (t->rc == RC_OK)
        t->rc = subs_shown(t, r, l->subs, l->n_subs, l->brief, subs, &t->err);
    if (t->rc == RC_OK)
        t->rc = read_names(t, r, l, &own);
    if (t->rc != RC_OK)
        return;
    for (size_t i = 0; i < l->n_feeds; i++)
        if (is_shown(l, &l->feeds[i]))
            value_push(a, feeds, shape_feed(a, &l->feeds[i], own_name(&own, l->feeds[i].id), &rests, t->cfg));
    value_setz(a, v, "subscriptions", subs);
    value_setz(a, v, "feeds", feeds);
    value_setz(a, v, "last_seq", value_int(a, store_last_seq(t->api->store)));
    json_write(&l->out, v);
    buf_putc(&l->out, '\n');
}

/* Returns the freq that the list should have. Levels 0 and 1 change by themselves; in the list they
 * would become fixed settings (OPML-03). */
static struct str lasting_freq(struct arena *a, const struct feed *feed)
{
    if (feed->level == 0 || feed->level == 1)
        return STR_NULL;
    return str_printf(a, "%lld", (long long)(feed->level == 2 ? 2 : feed->period_s));
}

static void set_folders(struct arena *a, struct str stored, struct opml_feed *f)
{
    const struct value *names = shape_folder(a, stored);

    f->folders = ARENA_ARRAY(a, struct str, value_len(names) + 1);
    for (size_t i = 0; i < value_len(names); i++)
        if (value_at(names, i)->kind == VAL_TEXT)
            f->folders[f->n_folders++] = value_at(names, i)->s;
}

/* Find the subscribers' settings for each feed of the listing. If several have settings for a feed,
 * the first one counts. */
static const struct sub_feed **given_for(struct task *t, const struct sub_listing *l)
{
    static const struct sub_feed nothing = {.feed_id = 0};
    const struct sub_feed **given = ARENA_ARRAY(&t->arena, const struct sub_feed *, l->n_feeds + 1);
    struct map by_id = MAP_INIT;

    for (size_t i = 0; i < l->n_subs; i++)
        for (size_t k = 0; k < l->subs[i].n_feeds; k++) {
            struct sub_feed *f = &l->subs[i].feeds[k];
            struct str id = str_of((const char *)&f->feed_id, sizeof f->feed_id);

            if ((!str_is_null(f->name) || !str_is_null(f->folder) || !str_is_null(f->category)) &&
                map_get(&by_id, id) == NULL)
                map_put(&by_id, id, f);
        }
    for (size_t i = 0; i < l->n_feeds; i++) {
        const int64_t *id = &l->feeds[i].id;

        given[i] = map_get(&by_id, str_of((const char *)id, sizeof *id));
        if (given[i] == NULL)
            given[i] = &nothing;
    }
    map_release(&by_id, NULL);
    return given;
}

/* The dates are those of the subscriptions, so that the document changes only when the list
 * changes. */
static void write_opml(struct task *t, struct sub_listing *l)
{
    struct opml list = {.title = STR("Feedmill subscriptions")};
    const struct sub_feed **given = given_for(t, l);
    int64_t created_at = TIME_UNKNOWN, modified_at = TIME_UNKNOWN;

    list.feeds = ARENA_ARRAY(&t->arena, struct opml_feed, l->n_feeds + 1);
    for (size_t i = 0; i < l->n_feeds; i++) {
        const struct feed *feed = &l->feeds[i];
        struct opml_feed *f = &list.feeds[list.n_feeds];

        if (!is_shown(l, feed))
            continue;
        f->xml_url = feed->url;
        f->html_url = feed->site_url.len > 0 ? feed->site_url : feed->page_url;
        f->text = given[i]->name;
        f->title = feed->title.len > 0 ? feed->title : feed->url;
        if (str_is_null(f->text))
            f->text = f->title;
        f->category = given[i]->category;
        f->freq = lasting_freq(&t->arena, feed);
        /* "yes" is the default, so it is left out */
        f->sanitize = feed->raw_html ? STR("no") : STR_NULL;
        set_folders(&t->arena, given[i]->folder, f);
        list.n_feeds++;
    }
    opml_group(&t->arena, &list);
    for (size_t i = 0; i < l->n_subs; i++) {
        int64_t at = l->subs[i].created_at;

        if (created_at == TIME_UNKNOWN || at < created_at)
            created_at = at;
        if (modified_at == TIME_UNKNOWN || at > modified_at)
            modified_at = at;
    }
    opml_write(&l->out, &list, created_at, modified_at);
}

static enum rc read_feeds_of(struct reader *r, struct task *t, struct sub_listing *l)
{
    const struct subscription *sub = &l->subs[0];
    int64_t *ids = ARENA_ARRAY(&t->arena, int64_t, sub->n_feeds + 1);

    for (size_t i = 0; i < sub->n_feeds; i++)
        ids[i] = sub->feeds[i].feed_id;
    return reader_feeds(r, ids, sub->n_feeds, &t->arena, &l->feeds, &l->n_feeds, &t->err);
}

/* Leave out the subscriptions of others. Returns whether the caller may see feeds of them, too. */
static bool keep_own(const struct caller *caller, struct sub_listing *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n_subs; i++)
        if (caller_has(caller, l->subs[i].owner))
            l->subs[n++] = l->subs[i];
    l->n_subs = n;
    return caller->role == ROLE_ADMIN || caller->is_alone;
}

/* The feeds of the subscriptions that are left, in order of their ids. */
static enum rc read_own_feeds(struct reader *r, struct task *t, struct sub_listing *l)
{
    size_t n = 0, n_ids = 0;
    int64_t *ids;

    for (size_t i = 0; i < l->n_subs; i++)
        n += l->subs[i].n_feeds;
    ids = ARENA_ARRAY(&t->arena, int64_t, n + 1);
    for (size_t i = 0; i < l->n_subs; i++)
        for (size_t k = 0; k < l->subs[i].n_feeds; k++)
            ids[n_ids++] = l->subs[i].feeds[k].feed_id;
    return reader_feeds(r, ids, view_ids_sort(ids, n_ids), &t->arena, &l->feeds, &l->n_feeds,
                        &t->err);
}

static enum task_step work(struct task *t, struct reader *r)
{
    struct sub_listing *l = t->data;
    struct arena *a = &t->arena;

    if (l->part != NULL)
        return sub_part_step(t, r, l->part, &l->out);
    if (l->id != 0) {
        l->failed = !sub_own_read(t, r, l->id, &l->subs, &l->problem);
        if (l->failed)
            return TASK_ENDS;
        l->n_subs = 1;
        t->rc = read_feeds_of(r, t, l);
    } else {
        t->rc = reader_subs(r, NULL, 0, a, &l->subs, &l->n_subs, &t->err);
        bool sees_all = t->rc == RC_OK && keep_own(&t->caller, l);

        if (t->rc == RC_OK && l->brief)
            l->n_feeds = 0;
        else if (t->rc == RC_OK && !sees_all)
            t->rc = read_own_feeds(r, t, l);
        else if (t->rc == RC_OK)
            t->rc = reader_feeds(r, NULL, 0, a, &l->feeds, &l->n_feeds, &t->err);
    }
    if (t->rc != RC_OK)
        return TASK_ENDS;
    if (l->json)
        write_json(t, r, l);
    else
        write_opml(t, l);
    return TASK_ENDS;
}

static void done(struct task *t, struct request *req)
{
    struct sub_listing *l = t->data;
    struct reply r = REPLY_INIT;
    size_t len;
    char *bytes;

    if (l->failed) {
        reply_problem(req, &l->problem);
        return;
    }
    if (t->rc != RC_OK) {
        struct problem p;

        problem_of_err(&p, req->ask.arena, t->rc, &t->err);
        reply_problem(req, &p);
        return;
    }
    r.media_type = l->json ? MEDIA_JSON : MEDIA_OPML MEDIA_UTF8;
    r.cache = "private, no-cache";
    r.etag = reply_etag(req->ask.arena, buf_view(&l->out));
    bytes = buf_detach(&l->out, &len);
    r.body = blob_new(bytes, len);
    reply_send(req, &r);
    blob_unref(&r.body);
}

void sub_get(struct request *req)
{
    struct sub_listing listing = {.out = BUF_INIT(LIST_MAX)};
    enum { TYPE_OPML, TYPE_JSON }; /* as the row has them */
    struct problem p;
    struct task *t;
    int type;

    if (!params_id(&req->ask.params, req->ask.arena, PARAM_only_id, &listing.id, &p) ||
        !params_flag(&req->ask.params, req->ask.arena, PARAM_all, &listing.all, &p) ||
        !params_flag(&req->ask.params, req->ask.arena, PARAM_brief, &listing.brief, &p) ||
        !params_choice(&req->ask.params, req->ask.arena, PARAM_list_type, &type, &p) ||
        !sub_part_read(&req->ask.params, req->ask.arena, &listing.part, &p)) {
        reply_problem(req, &p);
        return;
    }
    listing.json = type == TYPE_JSON;
    listing.brief = listing.brief && listing.json && listing.id == 0;
    if (!listing.brief)
        listing.part = NULL;
    t = task_new(req, work, done);
    if (listing.part != NULL)
        listing.part = sub_part_copy(t, listing.part);
    t->data = arena_copy(&t->arena, &listing, sizeof(listing));
    t->dispose = dispose;
    if (listing.part != NULL) {
        task_start_long(t);
        return;
    }
    t->may_last = true; /* a million feeds take a busy machine minutes */
    task_start(t);
}
