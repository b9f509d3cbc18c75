/* api/views/log_query.c - see log_query.h. */
#include "api/views/log_query.h"

#include "api/views/feeds_asked.h"
#include "api/views/filtering.h"
#include "api/views/shown.h"

bool log_query_feeds(struct ask *ask, struct log_query *query, struct problem *p)
{
    struct feeds_asked asked;
    struct filtering what;
    struct gathered *items;
    int64_t *ids;
    size_t n, n_ids = 0;

    query->shown = sub_book_shown(ask->api->subs);
    if (!feeds_asked_read(ask, PARAM_only_urls, false, &asked, p) || !filtering_read(ask, &what, p))
        return false;
    items = feeds_asked_items(ask, &asked, &n);
    ids = ARENA_ARRAY(ask->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!gather_find(ask->api, &items[i]) && !items[i].is_of_view && !items[i].is_member) {
            problem_parameter(p, ask->arena, param_name(PARAM_only_urls), items[i].want.shown, NULL,
                              "No feed is known by this URL; GET /feed or POST /sub makes it "
                              "known.");
            p->kind = PROBLEM_NOT_FOUND;
            return false;
        }
        if (items[i].id != 0) /* else it is of a view, and nobody has asked for it yet */
            ids[n_ids++] = items[i].id;
    }
    feeds_asked_narrow(ask, &asked, items, n, &what);
    query->view = (struct view){.order = VIEW_LOG, .before_seq = INT64_MAX, .with_deleted = true};
    query->view.all_feeds = n == 0 && !asked.has_sets;
    query->view.filter = what.filter;
    query->view.format = FORMAT_JSON; /* of the entries */
    if (!shown_read(ask, &query->view, p))
        return false;
    query->has_sets = asked.has_sets;
    query->edition = asked.edition;
    query->lasting = asked.has_sets ? filter_text(feeds_asked_lasting(ask, &asked, items, n, what.lasting)) : STR_NULL;
    query->caller = ask->caller;
    query->caller.source = STR_NULL;
    query->caller.rate = query->caller.session = 0;
    query->view.feed_ids = ids;
    query->view.n_feeds = view_ids_sort(ids, n_ids);
    return true;
}

bool log_query_from(struct request *req, const char *name, struct str text, struct log_query *query,
                    struct problem *p)
{
    struct cursor_log log = {store_log_id(req->ask.api->store),
                             store_last_seq(req->ask.api->store), query->edition};

    return cursor_spec_read(req->ask.arena, name, text, CURSOR_TAKES_PLAIN | CURSOR_TAKES_SEQ, &log,
                            &query->from, p);
}

bool log_query_bound(struct view *view, int64_t after)
{
    if (view->filter == NULL || view->filter->terms != NULL ||
        view->before_seq - after <= LOG_WINDOW)
        return false;
    view->before_seq = after + LOG_WINDOW + 1;
    return true;
}
