/* storage/wants.c - see wants.h. */
#include "storage/wants.h"

#include "base/mem.h"

void wants_reset(struct wants *w)
{
    w->n_feeds = w->n_entries = 0;
}

void wants_release(struct wants *w)
{
    mem_free(w->feeds);
    mem_free(w->entries);
    *w = (struct wants){.feeds = NULL};
}

void wants_add_feed(struct wants *w, const struct want_feed *f)
{
    w->feeds = mem_grow(w->feeds, &w->cap_feeds, w->n_feeds + 1, sizeof *w->feeds);
    w->feeds[w->n_feeds++] = *f;
}

void wants_add_batch(struct wants *w, int64_t feed_id, const struct entry_batch *batch)
{
    w->entries = mem_grow(w->entries, &w->cap_entries, w->n_entries + batch->n, sizeof *w->entries);
    for (size_t i = 0; i < batch->n; i++)
        w->entries[w->n_entries++] = (struct want_entry){feed_id, batch->changes[i].uid};
}

/* What a request for the feed itself looks at. `batch` NULL: it brought no document. */
static void want_check(struct wants *w, const struct feed_check *c, const struct entry_batch *batch)
{
    wants_add_feed(w, &(struct want_feed){c->feed_id, &c->loaded, batch != NULL, true});
    if (batch != NULL)
        wants_add_batch(w, c->feed_id, batch);
}

/* What the outcome of another source looks at. */
static void want_outcome(struct wants *w, int64_t feed_id, const struct loaded_feed *loaded,
                         const struct entry_batch *batch)
{
    wants_add_feed(w, &(struct want_feed){feed_id, loaded, false, false});
    wants_add_batch(w, feed_id, batch);
}

/* The rows of feeds, without their heads. */
static void want_rows(struct wants *w, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wants_add_feed(w, &(struct want_feed){.id = ids[i]});
}

bool op_uses_rows(const struct op *op)
{
    return op_brings_news(op) || op->kind == OP_TOUCH || op->kind == OP_PING;
}

void op_wants(const struct op *op, struct wants *w)
{
    const struct poll_outcome *poll = &op->as.poll;
    const struct stream_outcome *stream = &op->as.stream;
    const struct archive_outcome *archive = &op->as.archive;
    const struct delivery_outcome *delivery = &op->as.delivery;

    switch (op->kind) {
    case OP_POLL_OUTCOME:
        want_check(w, &poll->check, poll->has_document ? &poll->entries : NULL);
        break;
    case OP_STREAM_OUTCOME:
        want_check(w, &stream->check, stream->has_document ? &stream->entries : NULL);
        break;
    case OP_ARCHIVE_OUTCOME:
        want_outcome(w, archive->feed_id, &archive->loaded, &archive->entries);
        break;
    case OP_DELIVERY_OUTCOME:
        want_outcome(w, delivery->feed_id, &delivery->loaded, &delivery->entries);
        break;
    case OP_CONTENT_OUTCOME:
        wants_add_feed(w, &(struct want_feed){.id = op->as.content.feed_id});
        break;
    case OP_TOUCH:
        want_rows(w, op->as.touch.ids, op->as.touch.n);
        break;
    case OP_PING:
        want_rows(w, op->as.ping.ids, op->as.ping.n);
        break;
    default:
        break;
    }
}

/* Does the check give the feed another URL, or end it? */
static bool is_turn(const struct feed_check *c, const struct feed *feed)
{
    bool moves = c->url.len > 0 && !str_eq(c->url, feed->url);
    bool changes_page = !str_is_null(c->page_url) && !str_eq(c->page_url, feed->page_url);

    return moves || changes_page || c->n_aliases > 0 ||
           (c->state == FEED_GONE && feed->state != FEED_GONE);
}

/* Does the feed have a past that is still to be read, or does the document lead to one? */
static bool is_about_past(const struct held_feed *f, const struct doc_past *past)
{
    return !f->is_past_known || f->has_past || f->row.feed.partial ||
           (past != NULL && (past->n_deletions > 0 || !str_is_null(past->older)));
}

static bool is_computed_check(struct rows *r, const struct feed_check *c,
                              const struct doc_past *past)
{
    const struct held_feed *f = rows_feed(r, c->feed_id);

    if (f == NULL || f->is_missing)
        return true; /* it fails before it changes anything */
    return !is_turn(c, &f->row.feed) && !is_about_past(f, past);
}

bool op_is_computed(const struct op *op, struct rows *r)
{
    const struct poll_outcome *poll = &op->as.poll;

    switch (op->kind) {
    case OP_POLL_OUTCOME:
        return is_computed_check(r, &poll->check, poll->has_document ? &poll->past : NULL);
    case OP_STREAM_OUTCOME:
        return is_computed_check(r, &op->as.stream.check, NULL);
    case OP_DELIVERY_OUTCOME:
    case OP_TOUCH:
    case OP_PING:
        return true;
    default:
        return false;
    }
}
