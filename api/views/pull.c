/* api/views/pull.c - see pull.h.
 *
 * The name of a document is made of the request and the version of the feeds (documents.c). So a
 * 304 needs no query, and a second request for the same document needs only the cache. */
#include "api/views/pull.h"

#include "api/http/negotiate.h"
#include "api/views/documents.h"
#include "api/views/left_out.h"
#include "api/views/page_fields.h"
#include "api/views/query.h"
#include "api/views/recall.h"
#include "api/views/selflink.h"
#include "api/views/shown.h"
#include "base/assert.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"
#include "feed/words/likeness.h"
#include "model/filter.h"

/* Short, so that nobody gets news late; it only protects against bursts. After that a 304 tells
 * that nothing is new. */
#define FRESH "max-age=2"
#define FRESH_PRIVATE "private, max-age=2"

/* Read which date orders the view. */
static bool read_order(struct ask *ask, struct view *v, struct problem *p)
{
    static const enum view_order orders[] = {VIEW_NEWEST, VIEW_RECEIVED, VIEW_CHANGED};
    int order;

    if (!params_choice(&ask->params, ask->arena, PARAM_date_order, &order, p))
        return false;
    ASSERT(order >= 0 && (size_t)order < ARRAY_LEN(orders));
    v->order = orders[order];
    return true;
}

/* Read which entries count as the same. */
static bool read_unique(struct ask *ask, struct view *v, struct problem *p)
{
    enum { BY_ID, BY_LINK, BY_TITLE, ALL };
    int way;

    if (!params_choice(&ask->params, ask->arena, PARAM_unique, &way, p))
        return false;
    v->alike = way == BY_LINK ? &likeness_link : way == BY_TITLE ? &likeness_title : NULL;
    v->with_doubles = way == ALL;
    return true;
}

/* Without `type`, the Accept field chooses the format. */
static bool negotiate(struct ask *ask, struct pull *q, struct problem *p)
{
    ask->negotiated = true;
    if (!negotiate_format(ask->accept, FORMAT_IS_ACCEPTED, &q->view.format)) {
        problem_set(p, ask->arena, PROBLEM_NOT_ACCEPTABLE,
                    "The Accept field does not allow any of the types offered here; `type` in the "
                    "query overrides it.");
        p->value = ask->accept;
        p->value = str_slice(p->value, 0, str_utf8_valid(p->value));
        p->allowed = negotiate_offers(ask->arena, FORMAT_IS_ACCEPTED);
        p->fields = STR("Vary: Accept\r\n");
        return false;
    }
    /* `obj` changes the JSON format, whether `type` or Accept chose it */
    return params_obj(&ask->params, ask->arena, &q->view.format, p);
}

bool pull_read(struct ask *ask, struct pull *q, struct problem *p)
{
    enum feed_format format;
    int64_t len, skip, page;

    if (!params_format(&ask->params, ask->arena, PARAM_type, &format, &q->type_given, p) ||
        !params_count(&ask->params, ask->arena, PARAM_len, &len, p) ||
        !params_count(&ask->params, ask->arena, PARAM_skip, &skip, p) ||
        !params_count(&ask->params, ask->arena, PARAM_page, &page, p) ||
        !filtering_read(ask, &q->what, p))
        return false;
    if (page > 0)
        skip = (page - 1) * len;
    if (skip > param_max(PARAM_skip))
        skip = param_max(PARAM_skip);
    q->page = (size_t)page;
    q->view = view_of_newest((size_t)len, (size_t)skip);
    q->view.format = format;
    q->view.filter = q->what.filter;
    return read_order(ask, &q->view, p) && read_unique(ask, &q->view, p) &&
           (q->type_given || negotiate(ask, q, p)) && shown_read(ask, &q->view, p);
}

struct str pull_merged_id(struct arena *a, struct str seed)
{
    static const unsigned char ns[16] = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    char uuid[37];

    digest_uuid5(ns, seed, uuid);
    return str_printf(a, "urn:uuid:%s", uuid);
}

/* Returns links to the same document in other types (RFC 8288). */
static struct str alternates(struct ask *ask, const struct pull *q, struct str self)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct arena *a = ask->arena;

    if (!query_link_fits(ask, self, FORMAT_COUNT_)) /* each is about as long */
        return STR_NULL;
    for (int i = 0; i < FORMAT_COUNT_; i++) {
        enum feed_format format = (enum feed_format)i;
        struct str href;

        if (format == q->view.format || !format_has(format, FORMAT_IS_OFFERED))
            continue;
        href = selflink_set(a, self, "type", str_from(format_name(format)));
        if (!str_is_null(q->view.fields)) /* names of members of this format only */
            href = selflink_unset(a, href, param_name(PARAM_fields));
        buf_puts(&out, out.len == 0 ? "<" : ", <");
        buf_str(&out, selflink_target(a, href)); /* long, so not by buf_printf() */
        buf_printf(&out, ">; rel=\"alternate\"; type=\"%.*s\"", STR_ARG(format_bare_type(format)));
    }
    return str_dup(a, buf_view(&out));
}

static bool is_private(struct ask *ask, const struct pull *q)
{
    if (ask_is_private(ask) || q->is_own)
        return true;
    for (size_t i = 0; i < q->n_link_urls; i++)
        if (!str_is_null(q->link_urls[i].credential))
            return true;
    return false;
}

/* Returns true for "q=0", "q=0.00": the client does not accept the manipulation. */
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

/* The answer for which the delta is sent. */
struct whole {
    struct document_spec spec;
    struct reply reply;
};

/* There cannot be a delta: something was deleted, or the news is outside the document. */
static bool on_no_delta(struct request *req, struct reply *r)
{
    struct whole *w = r->empty_ctx;

    document_reply(req, &w->spec, &w->reply);
    return true;
}

/* Can a delta be told? Whether an entry has left the dates of a filter is not known if these are
 * times at which revisions came in. */
static bool has_delta(const struct view *v)
{
    if (v->alike != NULL) /* an entry that has left may have been shown instead of another one */
        return v->filter == NULL;
    return v->order == VIEW_NEWEST || v->filter == NULL ||
           (v->filter->after_at == INT64_MIN && v->filter->before_at == INT64_MAX);
}

/* RFC 3229 with "feed": a client whose entity tag tells what it has gets only what came since.
 * Caches that do not know this must not keep the answer. */
static void take_delta(struct request *req, struct document_spec *spec, struct reply *r)
{
    struct str wanted = http_request_field(req->http, "a-im");
    struct whole *whole;
    int64_t base = 0;

    while (!str_is_null(wanted) && base == 0) {
        struct str one = str_split(&wanted, ',');

        if (str_ieq(str_trim(str_split(&one, ';')), STR("feed")) && !is_refused(one))
            base = document_base(req, spec);
    }
    if (base == 0 ||
        base >= store_seq_of(req->ask.api->store, spec->view.feed_ids, spec->view.n_feeds) ||
        !format_has(spec->view.format, FORMAT_IS_XML) || !has_delta(&spec->view))
        return;
    whole = ARENA_NEW(req->ask.arena, struct whole);
    *whole = (struct whole){.spec = *spec, .reply = *r};
    r->on_empty = on_no_delta;
    r->empty_ctx = whole;
    spec->extent = EXTENT_DELTA;
    spec->view.after_seq = base;
    document_name(&req->ask, spec);
    r->status = 226;
    r->cache = r->private_cache = "no-store, im";
    r->fields = str_concat(req->ask.arena, STR("IM: feed\r\n"), r->fields);
}

/* The id of the document; null: that of its feed. Documents with other entries have other ids. */
static struct str id_of(struct arena *a, const struct pull *q)
{
    const struct filter *f = q->what.lasting;
    struct str seed = q->id_seed;

    if (f != NULL)
        seed = str_printf(a, "%.*s\n\n%.*s", STR_ARG(seed), STR_ARG(f->text));
    if (q->view.alike != NULL)
        seed = str_printf(a, "%.*s\n\nunique %s", STR_ARG(seed), q->view.alike->name);
    return f != NULL || q->view.alike != NULL || q->merged ? pull_merged_id(a, seed) : STR_NULL;
}

/* The link to what follows: the next page to whoever asked for one. */
static struct str next_link(struct arena *a, const struct pull *q, struct str self)
{
    if (q->page > 0)
        return selflink_set(a, self, "page", str_printf(a, "%zu", (size_t)q->page + 1));
    return selflink_set(a, self, "skip", str_printf(a, "%zu", q->view.skip + q->view.len));
}

void pull_describe(struct ask *ask, void *own, const struct gathered *items, size_t n,
                   struct document_spec *out)
{
    struct pull *q = own;
    int64_t *link_ids;

    feeds_asked_narrow(ask, &q->asked, items, n, &q->what);
    q->view.filter = q->what.filter;
    *out = (struct document_spec){.view = q->view,
                                  .merged = q->merged,
                                  .page_no = q->page,
                                  .level0_s = ask->cfg->levels.period_s[0],
                                  .level1_s = ask->cfg->levels.period_s[1],
                                  .level2_s = ask->cfg->levels.period_s[2],
                                  .page_size = ask->cfg->archive_size,
                                  .origin = ask->origin,
                                  .title = q->title};
    link_ids = query_feeds(ask->arena, items, n, out);
    if (!q->link_is_feed) { /* the URL in the links is that of a list */
        link_ids = ARENA_ARRAY(ask->arena, int64_t, q->n_link_urls + 1);
    } else {
        out->hub = query_hub(ask);
        out->cloud = query_cloud(ask);
    }
    out->self = selflink_make(ask->arena, ask->origin, ask->target,
                              q->type_given ? NULL : format_name(q->view.format), q->link_urls,
                              link_ids, q->n_link_urls);
    if (format_has(q->view.format, FORMAT_TELLS_NEXT) && q->view.len > 0)
        out->next = next_link(ask->arena, q, out->self);
    out->id = id_of(ask->arena, q);
}

/* Does the answer, which is the client's, depend on nothing but the request, the settings, and the
 * feeds that it names? (It does not if an age counts from now.) If other nodes can change what a
 * set has, this one must ask what they have acknowledged. */
static bool can_be_recalled(struct request *req, const struct pull *q, const struct gathered *items,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!items[i].ready && !items[i].is_member)
            return false;
    return req->taker == NULL && q->link_is_feed && str_is_null(q->view.mirror) && !q->what.has_age &&
           (!q->has_sets || store_is_current(req->ask.api->store));
}

static void on_gathered(struct request *req, struct gathered *items, size_t n, void *ctx)
{
    struct pull *q = ctx;
    struct document_spec spec;
    struct reply *r = ARENA_NEW(req->ask.arena, struct reply);
    struct str fields, left_out;
    int64_t version;

    pull_describe(&req->ask, q, items, n, &spec);
    if (spec.view.n_feeds == 0 && n > q->n_members) {
        struct problem p;

        gather_problem(req, items, n - q->n_members, &p);
        reply_problem(req, &p);
        return;
    }
    store_touch(req->ask.api->store, spec.view.feed_ids, spec.view.n_feeds);
    *r = (struct reply)REPLY_INIT;
    r->cache = is_private(&req->ask, q) ? FRESH_PRIVATE : FRESH;
    r->varies_encoding = true;
    r->is_undated = q->has_sets || q->what.has_age || !str_is_null(q->view.mirror);
    /* before the tag: if it changes in between, what is remembered is never used */
    version = store_version(req->ask.api->store, spec.view.feed_ids, spec.view.n_feeds);
    document_tag(&req->ask, &spec, r);
    fields = query_link_field(&req->ask, spec.self, q->link_is_feed,
                              alternates(&req->ask, q, spec.self));
    if (format_has(q->view.format, FORMAT_IS_PAGE))
        fields = str_concat(req->ask.arena, STR(PAGE_FIELDS), fields);
    left_out = left_out_field(req, items, n);
    fields = str_concat(req->ask.arena, left_out, fields);
    r->tags_content = r->tags_content && str_is_null(left_out); /* a copy has the field, too */
    if (can_be_recalled(req, q, items, n))
        recall_keep(req, &(struct recall_facts){.spec = &spec,
                                                .reply = r,
                                                .fields = fields,
                                                .names = q->names,
                                                .has_sets = q->has_sets,
                                                .edition = q->edition,
                                                .version = version});
    if (reply_unmodified(req, r))
        return;
    r->fields = fields;
    take_delta(req, &spec, r);
    document_reply(req, &spec, r);
}

void pull_serve(struct request *req, struct pull *q, const struct feeds_asked *asked)
{
    q->n_members = asked->n_members;
    q->names = store_names(req->ask.api->store);
    feeds_asked_gather(req, asked, on_gathered, q);
}
