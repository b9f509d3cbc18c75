/* api/lists/sub_part.h - a part of the list of subscriptions (GET /sub with `brief`): searched, sorted and cut, for people who
 * look through many of them. */
#pragma once

#include "api/http/task.h"
#include "base/buf.h"

struct sub_part;

/* Read what is asked for. *out: NULL if no parameter asks for a part. Arena. False: *p was set. */
bool sub_part_read(const struct params *ps, struct arena *a, struct sub_part **out, struct problem *p) NODISCARD;

/* A step of long work. At its end the answer, as JSON, is in *out, or the task's rc says what failed. `part` was read with
 * the arena of the request, and is that of the task by now. */
enum task_step sub_part_step(struct task *t, struct reader *r, struct sub_part *part, struct buf *out);

/* A copy in the task's arena. */
struct sub_part *sub_part_copy(struct task *t, const struct sub_part *part);

/* Give back what it holds outside the arena. NULL is fine. */
void sub_part_release(struct sub_part *part);
