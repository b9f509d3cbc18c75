/* server/options.h - the options of `feedmill serve`, all from server/options.def.
 *
 * Precedence: flag, environment, config file, default. Read once by main; a reload reads the file
 * again. Plain data, immutable after options_load().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct option_list {
    struct str *items;
    size_t n;
};

#define OPT_FIELD_TEXT(name) struct str name
#define OPT_FIELD_LIST(name) struct option_list name
#define OPT_FIELD_INT(name) int64_t name
#define OPT_FIELD_BOOL(name) bool name
#define OPT_FIELD_MS(name) int64_t name
#define OPT_FIELD_S(name) int64_t name
#define OPT_FIELD_SIZE(name) int64_t name

struct options {
    struct arena arena; /* holds every text */
#define OPT(name, type, def, min, max, flags, to, metavar, help) OPT_FIELD_##type(name);
#include "server/options.def"
#undef OPT
};

/* Read command line (argv after the command), environment and config file over the defaults.
 * RC_INPUT: an unknown option or a value out of range; *err names it and what is allowed.
 * *help_out: --help was among the flags (nothing else was checked then). Free with options_free().
 */
enum rc options_load(int argc, char **argv, struct options **out, bool *help_out,
                     struct err *err) NODISCARD;
void options_free(struct options **op);

/* The table for people: --help's lines; docs/config.md. */
void options_print_help(FILE *to);
void options_print_markdown(FILE *to);

/* Which options differ between two loads but only count at a start; NULL when none. For SIGHUP. */
const char *options_changed_fixed(const struct options *old, const struct options *new_);
