/* api/views/event_questions.c - see event_questions.h. */
#include "api/views/event_questions.h"

#include "api/views/document.h"
#include "api/views/seen.h"
#include "base/buf.h"
#include "base/mem.h"
#include "model/filter.h"

static struct str key_of(struct arena *a, const struct log_query *query)
{
    const struct view *v = &query->view;
    AUTO(buf_release) struct buf key = BUF_INIT(BUF_ANY);

    buf_putc(&key, v->all_feeds ? 'a' : '-');
    if (v->all_feeds) /* whose protected feeds it sees */
        buf_printf(&key, "%d %lld %d\n", (int)query->caller.role, (long long)query->caller.owner, query->caller.is_alone);
    buf_append(&key, (const char *)&v->n_feeds, sizeof v->n_feeds);
    buf_append(&key, (const char *)v->feed_ids, v->n_feeds * sizeof *v->feed_ids);
    if (v->filter != NULL)
        buf_str(&key, v->filter->text);
    buf_printf(&key, "\n%.*s %d %zu ", STR_ARG(query->edition), (int)v->content, v->chars);
    buf_printf(&key, "%.*s\n", STR_ARG(v->mirror));
    buf_str(&key, v->fields);
    return str_dup(a, buf_view(&key));
}

struct question *question_take(struct map *questions, const struct log_query *query)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct question *q = map_get(questions, key_of(&scratch, query));

    if (q == NULL) {
        q = NEW(struct question);
        document_copy_view(&q->arena, &query->view, &q->view);
        q->caller = query->caller;
        q->edition = str_dup(&q->arena, query->edition);
        q->key = key_of(&q->arena, query);
        map_put(questions, q->key, q);
    }
    q->n_holders++;
    return q;
}

void question_drop(struct map *questions, struct question *q)
{
    if (--q->n_holders > 0)
        return;
    map_del(questions, q->key);
    arena_release(&q->arena);
    mem_free(q);
}

bool question_names(const struct question *q, int64_t feed_id)
{
    return view_ids_have(q->view.feed_ids, q->view.n_feeds, feed_id);
}

bool question_wants(const struct question *q, const struct event *e)
{
    if (!q->view.all_feeds)
        return question_names(q, e->feed_id);
    return seen_by(&e->seen, &q->caller);
}

bool question_reads_alone(const struct question *q)
{
    return q->view.filter != NULL || !view_shows_all(&q->view) ||
           !str_is_null(q->view.mirror) || !str_is_null(q->edition);
}
