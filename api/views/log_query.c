/* api/views/log_query.c - see log_query.h. */
#include "api/views/log_query.h"

#include "api/views/filtering.h"
#include "api/views/gather.h"

bool log_query_feeds(struct request *req, struct log_query *query, struct problem *p)
{
    struct filtering what;
    struct wanted_url *urls;
    int64_t *ids;
    size_t n;

    if (!params_urls(&req->ask.params, req->ask.arena, PARAM_only_urls, &urls, &n, p) ||
        !filtering_read(&req->ask, &what, p))
        return false;
    ids = ARENA_ARRAY(req->ask.arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct gathered item = {.want = urls[i]};

        if (!gather_find(req->ask.api, &item)) {
            problem_parameter(p, req->ask.arena, param_name(PARAM_only_urls), urls[i].shown, NULL,
                              "No feed is known by this URL; GET /feed or POST /sub makes it "
                              "known.");
            p->kind = PROBLEM_NOT_FOUND;
            return false;
        }
        ids[i] = item.id;
    }
    query->view = (struct view){.order = VIEW_LOG, .before_seq = INT64_MAX, .with_deleted = true};
    query->view.all_feeds = n == 0;
    query->view.filter = what.filter;
    query->public_only = n == 0 && req->ask.caller.role != ROLE_ADMIN; /* who may see all feeds */
    query->view.feed_ids = ids;
    query->view.n_feeds = view_ids_sort(ids, n);
    return true;
}

bool log_query_from(struct request *req, const char *name, struct str text, struct log_query *query,
                    struct problem *p)
{
    struct cursor_log log = {store_log_id(req->ask.api->store),
                             store_last_seq(req->ask.api->store)};

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
