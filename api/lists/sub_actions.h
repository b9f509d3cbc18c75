/* api/lists/sub_actions.h - POST /sub with `action`: what can be done to a subscription. */
#pragma once

#include "api/http/params.h"
#include "api/http/task.h"

/* Carry out the action that the parameters of a task name, on its reader thread; `params` live in
 * the task's arena. The task gets other `data`, `done` and `dispose`. */
enum task_step sub_act(struct task *t, struct reader *r, const struct params *params);

/* Read a parameter as a position: a seq, exclusive, or known_loss_position(). *given is false when
 * it is missing. Runs on reader threads. */
bool sub_position_read(struct task *t, struct reader *r, const struct params *params,
                       enum param_id id, bool *given, int64_t *seq, struct problem *p) NODISCARD;
