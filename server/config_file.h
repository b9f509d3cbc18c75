/* server/config_file.h - a file of lines 'name = value'.
 *
 * Blanks around name and value do not count; '#' or ';' at the start of a line, and " ;" after a
 * value, begin a comment. Lines may be of any length, the file of CONFIG_FILE_MAX bytes.
 */
#pragma once

#include "base/err.h"

#define CONFIG_FILE_MAX (1024 * 1024)

/* A line; both strings end with a NUL. Anything but RC_OK, with *err set, ends the reading. */
typedef enum rc config_line_fn(void *ctx, const char *name, const char *value, struct err *err);

/* RC_INPUT: the file cannot be read, or a line is not one of these; *err says which line and why.
 */
enum rc config_file_read(const char *path, config_line_fn *fn, void *ctx,
                         struct err *err) NODISCARD;
