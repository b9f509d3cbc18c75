/* api/views/query.c - see query.h. */
#include "api/views/query.h"

#include "api/views/selflink.h"
#include "model/paths.h"

#define FIELD_MAX 8192 /* some clients fail when a field is longer */

int64_t *query_feeds(struct arena *a, const struct gathered *items, size_t n,
                     struct document_spec *spec)
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

struct str query_cloud(struct ask *ask)
{
    return ask->cfg->cloud ? str_concat(ask->arena, ask->origin, STR(PATH_PLEASE_NOTIFY))
                           : STR_NULL;
}

struct str query_hub(struct ask *ask)
{
    return ask->cfg->hub ? str_concat(ask->arena, ask->origin, STR(PATH_HUB)) : STR_NULL;
}

static struct str access_key(void *ctx, int64_t feed_id)
{
    const struct ask *ask = ctx;

    return store_access_key(ask->api->store, feed_id, ask->arena);
}

bool query_link_fits(struct ask *ask, struct str self, size_t n)
{
    return n * selflink_fill(ask->arena, self, access_key, ask).len <= FIELD_MAX;
}

struct str query_link_field(struct ask *ask, struct str self, bool is_topic, struct str more)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str hub = is_topic ? query_hub(ask) : STR_NULL;

    self = selflink_fill(ask->arena, self, access_key, ask);
    more = selflink_fill(ask->arena, more, access_key, ask);
    if (self.len > FIELD_MAX)
        return STR_NULL;
    buf_puts(&out, "Link: ");
    if (!str_is_null(hub))
        buf_printf(&out, "<%.*s>; rel=\"hub\", ", STR_ARG(selflink_target(ask->arena, hub)));
    buf_putc(&out, '<');
    buf_str(&out, selflink_target(ask->arena, self)); /* long, so not by buf_printf() */
    buf_puts(&out, ">; rel=\"self\"");
    if (more.len > 0) {
        buf_puts(&out, ", ");
        buf_str(&out, more);
    }
    buf_puts(&out, "\r\n");
    return str_dup(ask->arena, buf_view(&out));
}
