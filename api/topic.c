/* api/topic.c - see topic.h. */
#include "api/topic.h"

#include "api/draw.h"
#include "api/pull.h"
#include "api/selflink.h"
#include "net/url.h"

#define FIELD_MAX 8192 /* a longer field breaks clients */

/* What a topic's document is when its URL leaves the type open. */
#define TOPIC_ACCEPT "application/atom+xml, */*;q=0.1"

static const struct {
    const char *path;
    topic_read_fn *read;
} resources[] = {{"/feed", feed_topic},       {"/feeds", feeds_topic},
                 {"/smart", smart_topic},     {"/simple/recent", simple_topic},
                 {"/archive", archive_topic}, {"/history", history_topic},
                 {"/pmh", pmh_topic}};

int64_t *topic_ids(struct arena *a, const struct gathered *items, size_t n,
                   struct render_spec *spec)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1), *each = ARENA_ARRAY(a, int64_t, n + 1);
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++) {
        each[i] = items[i].ready ? items[i].id : 0;
        if (items[i].ready)
            ids[n_ids++] = items[i].id;
    }
    spec->view.feed_ids = ids;
    spec->view.n_feeds = view_ids_sort(ids, n_ids);
    return each;
}

struct str topic_target(struct arena *a, struct str url, const struct str *origins,
                        size_t n_origins, struct str *origin)
{
    struct url_parts topic, ours;

    /* what cannot stand in a URL cannot stand in a header field either */
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || strchr("<>\"\\", url.ptr[i]) != NULL)
            return STR_NULL;
    if (url.len > FIELD_MAX || str_chr(url, '#') >= 0 || url_parse(a, url, &topic, NULL) != RC_OK ||
        !str_is_null(topic.credential))
        return STR_NULL;
    for (size_t i = 0; i < n_origins; i++) {
        struct str base;

        if (url_parse(a, origins[i], &ours, NULL) != RC_OK)
            continue;
        base = ours.url;
        while (str_ends(base, STR("/")))
            base.len--;
        if (!str_starts(topic.url, base) || topic.url.len == base.len ||
            topic.url.ptr[base.len] != '/')
            continue;
        *origin = origins[i];
        while (str_ends(*origin, STR("/")))
            origin->len--;
        return str_slice(topic.url, base.len, topic.url.len);
    }
    return STR_NULL;
}

bool topic_read(struct call *c, struct str origin, struct str target, struct topic *t,
                struct problem *p)
{
    ssize_t mark = str_chr(target, '?');
    struct str path = mark < 0 ? target : str_slice(target, 0, (size_t)mark);
    struct str query = mark < 0 ? STR("") : str_slice(target, (size_t)mark + 1, target.len);

    *t = (struct topic){0};
    c->origin = origin;
    c->target = target;
    c->accept = STR(TOPIC_ACCEPT);
    while (path.len > 1 && str_ends(path, STR("/")))
        path.len--;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        if (str_eqz(path, resources[i].path))
            return params_add(&c->params, c->arena, query, p) && resources[i].read(c, t, p);
    return problem_set(
        p, c->arena, PROBLEM_NOT_FOUND,
        "The topic is no document that this hub can deliver: those at /feed, /feeds, "
        "/smart, /simple/recent, /archive, /history and /pmh are.");
}

struct str topic_hub(struct call *c)
{
    return c->cfg->hub ? str_concat(c->arena, pull_origin(c), STR("/hub")) : STR_NULL;
}

static struct str access_key(void *ctx, int64_t feed_id)
{
    const struct call *c = ctx;

    return store_access_key(c->api->store, feed_id, c->arena);
}

struct str topic_link_field(struct call *c, struct str self, bool is_topic, struct str more)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str hub = is_topic ? topic_hub(c) : STR_NULL;

    self = selflink_fill(c->arena, self, access_key, c);
    more = selflink_fill(c->arena, more, access_key, c);
    if (self.len > FIELD_MAX)
        return STR_NULL;
    buf_puts(&out, "Link: ");
    if (!str_is_null(hub))
        buf_printf(&out, "<%.*s>; rel=\"hub\", ", STR_ARG(hub));
    buf_printf(&out, "<%.*s>; rel=\"self\"", STR_ARG(self));
    if (more.len > 0)
        buf_printf(&out, ", %.*s", STR_ARG(more));
    buf_puts(&out, "\r\n");
    return str_dup(c->arena, buf_view(&out));
}

/* ---- deliveries ------------------------------------------------------------------------------ */

/* Where the topic is below: it was taken because it begins with an origin of ours, which may have
 * another name since. */
static struct str origin_of(struct arena *a, struct str url, struct str *target)
{
    struct url_parts parts;
    struct str origin = STR_NULL;

    *target = STR_NULL;
    if (url_parse(a, url, &parts, NULL) != RC_OK)
        return STR_NULL;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        ssize_t mark = str_chr(parts.url, '?');
        struct str path = mark < 0 ? parts.url : str_slice(parts.url, 0, (size_t)mark);

        while (str_ends(path, STR("/")))
            path.len--;
        if (!str_ends(path, str_from(resources[i].path)))
            continue;
        origin = str_slice(path, 0, path.len - strlen(resources[i].path));
        *target = str_slice(parts.url, origin.len, parts.url.len);
        break;
    }
    return origin;
}

enum rc api_draw_topic(struct api *api, struct reader *r, struct str url, int64_t after_seq,
                       size_t max_entries, struct arena *a, struct buf *body,
                       struct api_delivery *out, struct err *err)
{
    struct call c = {.api = api, .cfg = &atomic_load(&api->conf)->cfg, .arena = a};
    struct render_spec spec = {0};
    struct drawn drawn = {.position = after_seq};
    struct gathered *items;
    struct str target, origin = origin_of(a, url, &target);
    struct problem p;
    struct topic t;
    enum rc rc;

    if (str_is_null(target) || !topic_read(&c, origin, target, &t, &p))
        return err_set(err, RC_NOT_FOUND, "the topic cannot be read any more");
    items = ARENA_ARRAY(a, struct gathered, t.n_urls + 1);
    for (size_t i = 0; i < t.n_urls; i++) {
        items[i].want = t.urls[i];
        gather_find(api, &items[i]);
    }
    t.describe(&c, t.own, items, t.n_urls, &spec);
    if (spec.view.n_feeds == 0)
        return err_set(err, RC_NOT_FOUND, "there is no feed of this topic any more");
    spec.is_delivery = true;
    spec.view.after_seq = after_seq;
    spec.max_new = max_entries;
    rc = draw_document(&spec, c.cfg, api->store, r, body, &drawn, err);
    out->media_type = feed_format_media_type(spec.view.format);
    out->self = url;
    out->hub = str_concat(a, origin, STR("/hub"));
    out->n_entries = drawn.n_new;
    out->position = drawn.position;
    out->is_last = drawn.is_last;
    return rc;
}
