/* server/options.h - the options of `feedmill serve`, all from server/options.def.
 *
 * A flag wins over the environment, the environment over the config file, and the file over the
 * default. The options do not change after options_load(); a reload (SIGHUP) loads new ones. Main
 * thread.
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
    struct arena arena; /* has all texts */
    struct option_given *given; /* what was set, and where: see options_blame() */
#define OPT(name, type, def, min, max, flags, to, metavar, help) OPT_FIELD_##type(name);
#include "server/options.def"
#undef OPT
};

/* Read the options from the command line (argv without the command), the environment and the config
 * file. RC_INPUT: an option is unknown, or its value is not allowed; *err names it and says what is
 * allowed. *help_out: --help is among the flags; then nothing else was checked. Free the options
 * with options_free(). */
enum rc options_load(int argc, char **argv, struct options **out, bool *help_out,
                     struct err *err) NODISCARD;
void options_free(struct options **op);

/* The value of this option, as "ping-server", is wrong, and *err says what is wrong with it. Put in
 * front where it was set (a line of the config file, a variable), and the option. `value`: the item of
 * a list. Returns err->rc. */
enum rc options_blame(const struct options *o, const char *name, struct str value, struct err *err);

/* The next variable of the environment, from *at on, that is not an option but nearly one:
 * "FEEDMILL_KEEP_ENTRIS". Others with our prefix may be anybody's. *meant: the variable of the option.
 * False: there are no more. The texts are in the arena. */
bool options_next_misspelt(size_t *at, struct arena *a, char **variable, char **meant);

/* Write all options, as the lines of --help, and as docs/config.md. */
void options_print_help(FILE *to);
void options_print_markdown(FILE *to);

/* Write a config file with all options. Those of `o` that differ from the defaults are set, the
 * others are comments; so are secrets. */
void options_print_config(const struct options *o, FILE *to);

/* A row of the table in words, for those who write it in other forms. */
struct option_info {
    char name[48];     /* as in a config file: "ping-server" */
    char flag[48];     /* "--ping-server" */
    char variable[48]; /* "FEEDMILL_PING_SERVER" */
    const char *arg;   /* what its value is called; NULL: it is a switch, yes or no */
    const char *def, *help;
    bool is_list, is_reload;
};

/* Get row `i`, from 0 on. False: there are fewer. */
bool options_row(size_t i, struct option_info *out);

/* After a reload: the name of an option that has changed but cannot change without a restart. NULL:
 * there is none. Good until the next call. */
const char *options_changed_fixed(const struct options *old, const struct options *new_);
