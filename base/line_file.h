/* base/line_file.h - a file to which lines are appended from any thread, without waiting for it.
 *
 * Lines are copied into a buffer; a thread of its own writes them. When the disk, or the reader of
 * a pipe, is slow and the buffer full, lines are dropped and counted. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/str.h"

struct line_file;

/* Make one that has no file yet: what is put is lost. `written` and `dropped` are counters of
 * lines.
 */
struct line_file *line_file_new(enum stat_id written, enum stat_id dropped);

/* From now on write to this file, which is made (mode 0640) or appended to; "-" is standard output,
 * "" nothing. What was put before goes where it went before. With the same path it is opened anew,
 * so a file that was renamed is let go. RC_IO: it cannot be opened, and nothing changes. One thread
 * at a time. */
enum rc line_file_open(struct line_file *f, struct str path, struct err *err) NODISCARD;

/* Has it a file? Any thread. */
bool line_file_is_open(const struct line_file *f);

/* Append a line, which ends with a line feed. It never waits. Any thread. */
void line_file_put(struct line_file *f, struct str line);

/* Write what was put, for two seconds at most, and free. NULL is allowed. */
void line_file_free(struct line_file **fp);
