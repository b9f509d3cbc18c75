/* api/pull.c - gather, then render.
 *
 * The version of the feeds and the request name the document (render.c), so an answer 304 needs no
 * query, and a second request for the same thing none but the cache.
 */
#include "api/pull.h"

#include "api/gather.h"
#include "api/negotiate.h"
#include "api/render.h"
#include "api/selflink.h"
#include "api/topic.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"

/* Short: shields from bursts, and nobody sees news late. Then a 304 tells that nothing is new. */
#define FRESH "max-age=2"
#define FRESH_PRIVATE "private, max-age=2"
#define SKIP_MAX 1000000

bool pull_read(struct call *c, struct pull *q, struct problem *p)
{
    enum feed_format format;
    int64_t len, skip, page;
    struct str page_text;

    if (!params_format(&c->params, c->arena, &format, &q->type_given, p) ||
        !params_count(&c->params, c->arena, "len", DEFAULT_LEN, LIMIT_LEN, &len, p) ||
        !params_count(&c->params, c->arena, "skip", 0, SKIP_MAX, &skip, p) ||
        !params_one(&c->params, c->arena, "page", &page_text, p) ||
        !params_count(&c->params, c->arena, "page", 0, SKIP_MAX, &page, p))
        return false;
    if (page == 0 && page_text.len > 0)
        return problem_parameter(p, c->arena, "page", page_text, NULL,
                                 "The parameter `page` counts from 1.");
    if (page > 0)
        skip = (page - 1) * len > SKIP_MAX ? SKIP_MAX : (page - 1) * len;
    q->page = (size_t)page;
    q->view = view_of_newest((size_t)len, (size_t)skip);
    q->view.format = format;
    if (q->type_given)
        return true;
    c->negotiated = true;
    if (!negotiate_format(c->accept, &q->view.format)) {
        problem_set(p, c->arena, PROBLEM_NOT_ACCEPTABLE,
                    "The Accept field permits none of the types offered here; `type` in the query "
                    "overrides it.");
        p->value = c->accept;
        p->value = str_slice(p->value, 0, str_utf8_valid(p->value));
        p->allowed = negotiate_offers;
        p->fields = STR("Vary: Accept\r\n");
        return false;
    }
    /* `obj` is said of the JSON form however it was chosen */
    if (q->view.format == FORMAT_JSON) {
        bool obj;

        if (!params_flag(&c->params, c->arena, "obj", &obj, p))
            return false;
        if (obj)
            q->view.format = FORMAT_JSON_OBJ;
    }
    return true;
}

struct str pull_origin(struct call *c)
{
    struct str origin = c->cfg->base_url;

    if (!str_is_null(c->origin))
        return c->origin;
    if (str_is_null(origin))
        return str_concat(c->arena, STR("http://"), http_request_host(c->req));
    while (str_ends(origin, STR("/")))
        origin.len--;
    return origin;
}

struct str pull_merged_id(struct arena *a, struct str seed)
{
    static const unsigned char ns[16] = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    char uuid[37];

    digest_uuid5(ns, seed, uuid);
    return str_printf(a, "urn:uuid:%s", uuid);
}

/* The same document in other types (RFC 8288). */
static struct str alternates(struct arena *a, const struct pull *q, struct str self)
{
    static const enum feed_format formats[] = {FORMAT_ATOM, FORMAT_RSS, FORMAT_JSON,
                                               FORMAT_JSONFEED};
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        const char *name = feed_format_name(formats[i]);
        struct str media = str_from(feed_format_media_type(formats[i])), type;
        struct str href = selflink_set(a, self, "type", str_from(name));

        if (formats[i] == q->view.format)
            continue;
        type = str_split(&media, ';');
        buf_printf(&out, "%s<%.*s>; rel=\"alternate\"; type=\"%.*s\"", out.len == 0 ? "" : ", ",
                   STR_ARG(href), STR_ARG(type));
    }
    return str_dup(a, buf_view(&out));
}

static bool is_private(struct call *c, const struct pull *q)
{
    if (!str_is_null(c->cfg->token))
        return true;
    for (size_t i = 0; i < q->n_link_urls; i++)
        if (!str_is_null(q->link_urls[i].credential))
            return true;
    return false;
}

/* "q=0", "q=0.00": the parameter by which a manipulation is said to be unwelcome. */
static bool is_refused(struct str parameters)
{
    struct str q = str_trim(parameters);

    if (!str_istarts(q, STR("q=0")))
        return false;
    for (size_t i = 3; i < q.len; i++)
        if (q.ptr[i] != '.' && q.ptr[i] != '0')
            return false;
    return true;
}

/* The answer that a delta stands for. */
struct whole {
    struct render_spec spec;
    struct reply reply;
};

/* There is no delta: something was deleted, or what came is outside of the document. */
static bool on_no_delta(struct call *c, struct reply *r)
{
    struct whole *w = r->empty_ctx;

    render_reply(c, &w->spec, &w->reply);
    return true;
}

/* RFC 3229 with "feed": who tells by an entity tag what it has is given what came since. Caches
 * that do not know of this must not keep it. */
static void take_delta(struct call *c, struct render_spec *spec, struct reply *r)
{
    struct str wanted = http_request_field(c->req, "a-im");
    struct whole *whole;
    int64_t base = 0;

    while (!str_is_null(wanted) && base == 0) {
        struct str one = str_split(&wanted, ',');

        if (str_ieq(str_trim(str_split(&one, ';')), STR("feed")) && !is_refused(one))
            base = render_base(c, spec);
    }
    if (base == 0 || base >= store_seq_of(c->api->store, spec->view.feed_ids, spec->view.n_feeds) ||
        (spec->view.format != FORMAT_ATOM && spec->view.format != FORMAT_RSS))
        return;
    whole = ARENA_NEW(c->arena, struct whole);
    *whole = (struct whole){.spec = *spec, .reply = *r};
    r->on_empty = on_no_delta;
    r->empty_ctx = whole;
    spec->view.after_seq = base;
    render_name(c, spec);
    r->status = 226;
    r->cache = r->private_cache = "no-store, im";
    r->fields = str_concat(c->arena, STR("IM: feed\r\n"), r->fields);
}

void pull_describe(struct call *c, void *own, const struct gathered *items, size_t n,
                   struct render_spec *out)
{
    const struct pull *q = own;
    int64_t *link_ids;

    *out = (struct render_spec){.view = q->view,
                                .merged = q->merged,
                                .page_no = q->page,
                                .page_size = c->cfg->archive_size,
                                .origin = pull_origin(c),
                                .title = q->title};
    link_ids = topic_ids(c->arena, items, n, out);
    if (!q->link_is_feed) /* the links name a list */
        link_ids = ARENA_ARRAY(c->arena, int64_t, q->n_link_urls + 1);
    else
        out->hub = topic_hub(c);
    out->self = selflink_make(c->arena, pull_origin(c), c->target,
                              q->type_given ? NULL : feed_format_name(q->view.format), q->link_urls,
                              link_ids, q->n_link_urls);
    if (q->view.format == FORMAT_JSONFEED && q->view.len > 0)
        out->next = selflink_set(c->arena, out->self, "skip",
                                 str_printf(c->arena, "%zu", q->view.skip + q->view.len));
    if (q->merged)
        out->id = pull_merged_id(c->arena, q->id_seed);
}

static void on_gathered(struct call *c, struct gathered *items, size_t n, void *ctx)
{
    struct pull *q = ctx;
    struct render_spec spec;
    struct reply *r = ARENA_NEW(c->arena, struct reply);

    pull_describe(c, q, items, n, &spec);
    if (spec.view.n_feeds == 0 && n > 0) {
        struct problem p;

        gather_problem(c, items, n, &p);
        reply_problem(c, &p);
        return;
    }
    store_touch(c->api->store, spec.view.feed_ids, spec.view.n_feeds);
    *r = (struct reply)REPLY_INIT;
    r->cache = is_private(c, q) ? FRESH_PRIVATE : FRESH;
    r->varies_encoding = true;
    if (render_unmodified(c, &spec, r))
        return;
    r->fields = topic_link_field(c, spec.self, q->link_is_feed, alternates(c->arena, q, spec.self));
    take_delta(c, &spec, r);
    render_reply(c, &spec, r);
}

void pull_serve(struct call *c, struct pull *q, const struct wanted_url *urls, size_t n)
{
    struct gathered *items = ARENA_ARRAY(c->arena, struct gathered, n + 1);

    for (size_t i = 0; i < n; i++)
        items[i].want = urls[i];
    gather_start(c, items, n, on_gathered, q);
}
