/* api/views/event_questions.h - what event streams ask for. Streams of one loop that ask the same share it.
 * One loop only; each call takes the loop's map of questions. */
#pragma once

#include "api/views/event_log.h"
#include "api/views/log_query.h"
#include "base/map.h"

struct question {
    size_t n_holders;
    struct arena arena; /* of the strings, and of the view's feeds and filter */
    struct view view;   /* the range is that of each reading */
    struct caller caller; /* who sees what is protected, if it names no feeds; without its source and rate */
    struct str edition; /* of the views that it names, for ids; null: it names none */
    struct str key;     /* in the map: all that it asks for */
};

/* The question of a query. Each take needs a drop. */
struct question *question_take(struct map *questions, const struct log_query *query);
void question_drop(struct map *questions, struct question *q);

/* Does it name this feed? */
bool question_names(const struct question *q, int64_t feed_id);

/* Is the event of one of its feeds? */
bool question_wants(const struct question *q, const struct event *e);

/* Is what its streams get not in the batches that all share? Its revisions are judged, or written in another way. */
bool question_reads_alone(const struct question *q);
