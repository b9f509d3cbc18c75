/* server/cli_exec.h - what tail does with each revision beside printing it: a command gets it, and a
 * file keeps the position. The main thread. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* Run `command` by sh -c with this text on its standard input, again and again until it ends with 0.
 * Between two tries there is a pause that grows. The first failure of a text is told. */
void cli_exec(const char *name, const char *command, struct str text);

/* Read the position that a file keeps. *out is null when there is no such file. False: it cannot be
 * read, or has none; it has said so. */
bool cli_position_read(const char *name, struct arena *a, const char *path, struct str *out) NODISCARD;

/* Keep a position: after a crash the file has this one or the one before. False: it cannot be
 * written; it has said so. */
bool cli_position_write(const char *name, const char *path, struct str position) NODISCARD;
