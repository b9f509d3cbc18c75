/* server/config_file.h - a file of lines 'name = value'.
 *
 * Blanks around name and value are ignored. A comment begins with '#' or ';' at the start of a
 * line, or with " ;" or " #" after a value. The file may have at most CONFIG_FILE_MAX bytes; its lines may
 * have any length. Main thread.
 */
#pragma once

#include "base/err.h"

#define CONFIG_FILE_MAX (1024 * 1024)

/* Called for each line; `n` is its number, from 1 on. The strings are borrowed for the call. If it returns anything but RC_OK, it
 * has set *err, with the line in it, and the reading ends. */
typedef enum rc config_line_fn(void *ctx, int n, const char *name, const char *value, struct err *err);

/* Read a file. RC_INPUT: the file cannot be read, or a line is not 'name = value'; *err says which
 * line, and why. Other errors are those of `fn`. */
enum rc config_file_read(const char *path, config_line_fn *fn, void *ctx,
                         struct err *err) NODISCARD;
