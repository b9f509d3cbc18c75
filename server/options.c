/* server/options.c - reads the options from their four sources by one table. */
#include "server/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/switch.h"
#include "server/config_file.h"
#include "server/suggest.h"

enum type { T_TEXT, T_LIST, T_INT, T_BOOL, T_MS, T_S, T_SIZE };
enum { RELOAD = 1, SECRET = 2 };
enum source { FROM_DEFAULT, FROM_FILE, FROM_ENV, FROM_FLAG };

static const struct row {
    const char *name;
    enum type type;
    const char *def;
    int64_t min, max;
    unsigned flags;
    const char *metavar, *help;
    size_t offset;
} rows[] = {
#define OPT(name, type, def, min, max, flags, to, metavar, help)                                   \
    {#name, T_##type, def, min, max, flags, metavar, help, offsetof(struct options, name)},
#include "server/options.def"
#undef OPT
};
#define N_ROWS ARRAY_LEN(rows)
#define ENV_PREFIX "FEEDMILL_"

/* A value that was set, the newest first. */
struct option_given {
    size_t row;
    struct str text;
    enum source from;
    int line; /* of the config file */
    struct option_given *next;
};

struct option_load {
    struct options *o;
    int line; /* of the config file, while it is read */
    enum source from[N_ROWS]; /* where the present value came from */
    struct err *err;
};

static const struct {
    const char *suffix;
    int64_t ms;
} time_units[] = {{"ms", 1},          {"s", 1000},         {"m", 60 * 1000},
                  {"h", 3600 * 1000}, {"d", 86400 * 1000}, {"w", 7 * 86400 * 1000}};

/* Read a time: a whole number with one unit, as "90s". "1.5h" and "1h30m" are not allowed. */
static bool read_time(const char *text, int64_t unit_ms, int64_t *out)
{
    char *end;
    int64_t n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (end == text || errno != 0)
        return false;
    if (*end == '\0') {
        *out = n;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(time_units); i++)
        if (strcmp(end, time_units[i].suffix) == 0)
            return !__builtin_mul_overflow(n, time_units[i].ms, &n) && n % unit_ms == 0 &&
                   ((*out = n / unit_ms), true);
    return false;
}

/* Read a size: "64K", "64KB" and "64KiB" are the same, 1024 bytes each, in any case. */
static bool read_size(const char *text, int64_t *out)
{
    static const char letters[] = "KMG";
    const char *letter;
    char *end;
    int64_t n, unit = 1;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (end == text || errno != 0)
        return false;
    letter = *end == '\0' ? NULL : strchr(letters, toupper((unsigned char)*end));
    if (letter != NULL) {
        unit <<= 10 * (letter - letters + 1);
        end++;
        if (strcasecmp(end, "B") == 0 || strcasecmp(end, "iB") == 0)
            end += strlen(end);
    }
    return *end == '\0' && !__builtin_mul_overflow(n, unit, out);
}

static const char *expected(enum type type)
{
    switch (type) {
    case T_MS:
    case T_S:
        return "a time such as 500ms, 30s, 5m, 2h or 1d";
    case T_SIZE:
        return "a number of bytes such as 65536, 64K or 16M";
    case T_BOOL:
        return "yes or no";
    default:
        return "a whole number";
    }
}

static void note_given(struct option_load *l, size_t i, struct str text, enum source from)
{
    struct option_given *g = ARENA_ARRAY(&l->o->arena, struct option_given, 1);

    *g = (struct option_given){i, text, from, l->line, l->o->given};
    l->o->given = g;
    l->from[i] = from;
}

static void add_item(struct arena *a, struct option_list *list, struct str item)
{
    struct str *items = ARENA_ARRAY(a, struct str, list->n + 1);

    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof *items);
    items[list->n] = item;
    list->items = items;
    list->n++;
}

/* Read a number or a switch. */
static enum rc set_number(const struct row *r, void *at, const char *text, struct err *err)
{
    int64_t n = 0;
    bool ok = true;

    if (r->type == T_BOOL) {
        ok = switch_read(str_from(text), at);
    } else if (r->type == T_INT) {
        ok = str_to_i64(str_from(text), &n);
    } else {
        ok = r->type == T_SIZE ? read_size(text, &n) : read_time(text, r->type == T_S ? 1000 : 1, &n);
    }
    if (!ok)
        return err_set(err, RC_INPUT, "\"%s\" is not %s", text, expected(r->type));
    if (r->type == T_BOOL)
        return RC_OK;
    if (n < r->min || n > r->max)
        return err_set(err, RC_INPUT, "%s is out of range; allowed are %" PRId64 " to %" PRId64 "%s", text,
                       r->min, r->max,
                       r->type == T_MS  ? " ms"
                       : r->type == T_S ? " s"
                                        : "");
    *(int64_t *)at = n;
    return RC_OK;
}

static enum rc set_value(struct option_load *l, size_t i, const char *typed, enum source from)
{
    const struct row *r = &rows[i];
    void *at = (char *)l->o + r->offset;
    struct str text = typed[0] == '\0' ? STR_NULL : str_dup(&l->o->arena, str_from(typed));
    struct option_list *list = at;
    bool is_stronger = from > l->from[i];
    struct option_info info;

    if (from < l->from[i])
        return RC_OK;
    note_given(l, i, text, from);
    if (r->type == T_TEXT) {
        *(struct str *)at = text;
    } else if (r->type == T_LIST) {
        if (is_stronger) /* it replaces the list; the same source adds to it */
            list->n = 0;
        if (text.len > 0)
            add_item(&l->o->arena, list, text);
    } else if (set_number(r, at, typed, l->err) != RC_OK) {
        options_row(i, &info);
        return options_blame(l->o, info.name, text, l->err);
    }
    return RC_OK;
}

static void set_defaults(struct option_load *l)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        enum rc rc = set_value(l, i, rows[i].def, FROM_DEFAULT);
        ASSERT(rc == RC_OK);
    }
}

/* The index of the row with this name; '-' and '_' are the same. N_ROWS: there is none. */
static size_t find_row(const char *name, size_t len)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t k = 0;
        while (k < len && rows[i].name[k] != '\0' &&
               (rows[i].name[k] == name[k] || (rows[i].name[k] == '_' && name[k] == '-')))
            k++;
        if (k == len && rows[i].name[k] == '\0')
            return i;
    }
    return N_ROWS;
}

/* The error for an unknown option. `typed`: its name, as it was written; `dashes`: what is in front
 * of a name there, "--" on the command line and nothing in a file. */
static enum rc refuse_unknown(struct option_load *l, const char *typed, const char *dashes,
                              struct err *err)
{
    struct arena *a = &l->o->arena;
    struct suggestion s = {.typed = arena_printf(a, "--%s", typed + strspn(typed, "-"))};
    struct option_info info;

    for (size_t i = 0; options_row(i, &info); i++)
        if (dashes[0] != '\0' || strcmp(info.name, "config") != 0) /* a file names no other one */
            suggest_consider(&s, arena_printf(a, "%s", info.flag));
    if (s.best != NULL)
        return err_set(err, RC_INPUT, "unknown option %.100s; did you mean %s%s?", typed, dashes,
                       s.best + 2);
    return err_set(err, RC_INPUT, "unknown option %.100s (feedmill help serve lists the options)",
                   typed);
}

static enum rc on_line(void *ctx, int n, const char *name, const char *value, struct err *err)
{
    struct option_load *l = ctx;
    size_t i = find_row(name, strlen(name));

    l->line = n;
    if (i < N_ROWS && strcmp(rows[i].name, "config") == 0)
        err_set(err, RC_INPUT,
                "option config: a config file cannot name another one; --config or FEEDMILL_CONFIG does");
    else if (i == N_ROWS)
        refuse_unknown(l, name, "", err);
    else
        return set_value(l, i, value, FROM_FILE);
    return err_prefix(err, "config file %.*s: line %d", STR_ARG(l->o->config), n);
}

/* The row of "no-adaptive", a switch that is turned off. N_ROWS: it is none. */
static size_t find_negated(const char *name)
{
    size_t i = strncmp(name, "no-", 3) == 0 ? find_row(name + 3, strlen(name + 3)) : N_ROWS;

    return i < N_ROWS && rows[i].type == T_BOOL ? i : N_ROWS;
}

/* The value of a switch may be the next word: no word that is not a flag can be anything else. */
static bool is_switch_value(const char *word)
{
    bool on;

    return switch_read(str_from(word), &on);
}

static enum rc read_flags(struct option_load *l, int argc, char **argv, bool *help)
{
    enum rc rc;

    for (int k = 0; k < argc; k++) {
        const char *arg = argv[k], *eq, *value;
        bool is_off;
        size_t i;
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            *help = true;
            return RC_OK;
        }
        if (strncmp(arg, "--", 2) != 0)
            return err_set(l->err, RC_INPUT,
                           "\"%s\" is not an option (feedmill help serve lists them)", arg);
        eq = strchr(arg, '=');
        i = find_row(arg + 2, eq != NULL ? (size_t)(eq - arg) - 2 : strlen(arg + 2));
        is_off = i == N_ROWS && (i = find_negated(arg + 2)) < N_ROWS;
        if (i == N_ROWS)
            return refuse_unknown(
                l,
                str_z(&l->o->arena,
                      str_slice(str_from(arg), 0, eq != NULL ? (size_t)(eq - arg) : SIZE_MAX)),
                "--", l->err);
        if (eq != NULL)
            value = eq + 1;
        else if (is_off)
            value = "no";
        else if (rows[i].type == T_BOOL)
            value = k + 1 < argc && is_switch_value(argv[k + 1]) ? argv[++k] : "yes";
        else if (k + 1 < argc)
            value = argv[++k];
        else
            return err_set(l->err, RC_INPUT, "option %s needs a value: %s", arg, rows[i].metavar);
        if ((rc = set_value(l, i, value, FROM_FLAG)) != RC_OK)
            return rc;
    }
    return RC_OK;
}

static enum rc read_environment(struct option_load *l)
{
    struct option_info info;
    enum rc rc = RC_OK;

    for (size_t i = 0; options_row(i, &info) && rc == RC_OK; i++) {
        char *value = getenv(info.variable), *save = NULL;

        if (value == NULL)
            continue;
        if (!info.is_list) {
            rc = set_value(l, i, value, FROM_ENV);
            continue;
        }
        value =
            str_z(&l->o->arena, str_from(value)); /* white space separates the items of a list */
        for (char *p = strtok_r(value, " \t\n", &save); p != NULL && rc == RC_OK;
             p = strtok_r(NULL, " \t\n", &save))
            rc = set_value(l, i, p, FROM_ENV);
    }
    return rc;
}

enum rc options_load(int argc, char **argv, struct options **out, bool *help_out, struct err *err)
{
    struct option_load l = {.o = NEW(struct options), .err = err};
    enum rc rc = RC_OK;

    *help_out = false;
    set_defaults(&l);
    if ((rc = read_flags(&l, argc, argv, help_out)) == RC_OK && !*help_out &&
        (rc = read_environment(&l)) == RC_OK && !str_is_null(l.o->config))
        rc = config_file_read(str_z(&l.o->arena, l.o->config), on_line, &l, err);
    if (rc != RC_OK) {
        options_free(&l.o);
        return rc;
    }
    *out = l.o;
    return RC_OK;
}

void options_free(struct options **op)
{
    if (*op == NULL)
        return;
    arena_release(&(*op)->arena);
    mem_free(*op);
    *op = NULL;
}

enum rc options_blame(const struct options *o, const char *name, struct str value, struct err *err)
{
    size_t i = find_row(name, strlen(name));
    const struct option_given *g = o->given;
    struct option_info info;

    err_prefix(err, "option %s", name);
    while (g != NULL && (g->row != i || !str_eq(g->text, value)))
        g = g->next;
    if (g != NULL && g->from == FROM_FILE)
        err_prefix(err, "config file %.*s: line %d", STR_ARG(o->config), g->line);
    if (g != NULL && g->from == FROM_ENV && options_row(i, &info))
        err_prefix(err, "%s in the environment", info.variable);
    return err == NULL ? RC_INPUT : err->rc;
}

/* What an option is called that has nearly this variable; NULL: none has. A name that is only the
 * beginning of another one is not misspelt. */
static char *near_variable(struct arena *a, const char *variable)
{
    struct suggestion s = {.typed = variable + strlen(ENV_PREFIX)};
    struct option_info info;

    for (size_t i = 0; options_row(i, &info); i++) {
        if (strcmp(info.variable, variable) == 0)
            return NULL;
        suggest_consider(&s, arena_printf(a, "%s", info.variable + strlen(ENV_PREFIX)));
    }
    if (s.best == NULL || strncmp(s.best, s.typed, strlen(s.typed)) == 0)
        return NULL;
    return arena_printf(a, ENV_PREFIX "%s", s.best);
}

bool options_next_misspelt(size_t *at, struct arena *a, char **variable, char **meant)
{
    for (; environ[*at] != NULL; ++*at) {
        struct str name = str_from(environ[*at]);

        if (!str_starts(name, STR(ENV_PREFIX)))
            continue;
        *variable = str_z(a, str_split(&name, '='));
        *meant = near_variable(a, *variable);
        if (*meant != NULL)
            return ++*at, true;
    }
    return false;
}

bool options_row(size_t i, struct option_info *out)
{
    const struct row *r = &rows[i < N_ROWS ? i : 0];
    size_t k = 0;

    *out = (struct option_info){.arg = r->type == T_BOOL ? NULL : r->metavar,
                                .def = r->def,
                                .help = r->help,
                                .is_list = r->type == T_LIST,
                                .is_reload = r->flags & RELOAD};
    for (; r->name[k] != '\0'; k++) {
        ASSERT(k + 16 < sizeof out->name);
        out->name[k] = r->name[k] == '_' ? '-' : r->name[k];
        out->variable[k] = (char)toupper((unsigned char)r->name[k]);
    }
    snprintf(out->flag, sizeof out->flag, "--%.*s", (int)k, out->name);
    memmove(out->variable + strlen(ENV_PREFIX), out->variable, k + 1);
    memcpy(out->variable, ENV_PREFIX, strlen(ENV_PREFIX));
    return i < N_ROWS;
}

/* Write the flag with its value, as "--ping-server URL". */
static void flag_text(const struct option_info *o, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", o->flag, o->arg == NULL ? "" : " ", o->arg == NULL ? "" : o->arg);
}

void options_print_help(FILE *to)
{
    struct option_info o;
    char flag[128];

    for (size_t i = 0; options_row(i, &o); i++) {
        flag_text(&o, flag, sizeof flag);
        fprintf(to, "  %-28s %s", flag, o.help);
        if (o.def[0] != '\0')
            fprintf(to, " Default: %s.", o.def);
        fputc('\n', to);
    }
}

void options_print_markdown(FILE *to)
{
    struct option_info o;
    char flag[128];

    fputs("# Configuration\n\n"
          "An option can be set by a flag, in the environment, or in the config file that "
          "`--config` names. A flag\nwins over the environment, and the environment wins over the "
          "file.\n\nTo set a list, repeat the flag or the line of the file; in the environment, "
          "separate the items by white\nspace. A switch takes yes or no (also on, off, true, false, 1, 0); as a flag `--NAME` "
          "alone is yes, and `--no-NAME` no. A time is written as\n500ms, 30s, 5m, 2h or 1d, a size as 65536, 64K, 16M or 1G (also "
          "KB, KiB): 1024 bytes are 1K. In the file `#` and `;` begin a comment, at the start of a "
          "line or after a blank. A variable whose name is nearly\nthat of an option gets a warning "
          "in the log. SIGHUP reads the file again. Options marked *start* "
          "keep their value until the next start.\n`feedmill serve --help-config [OPTION]...` "
          "prints a config file with all options, in which those of the command line are set.\n"
          "`feedmill serve --check [OPTION]...` says whether the daemon would start with these "
          "options, this environment and\nthis config file: exit code 0, or what is wrong and 2 (with `--json` a document, `ok` and `problem`). It "
          "looks at the files and folders\nthat they name, but opens no database and no port, so it may run beside a daemon.\n\n"
          "`SSL_CERT_FILE` in the environment names a file (PEM) with the authorities that are "
          "trusted, in place of those\nof the system.\n\n"
          "| flag | environment | default | from | meaning |\n| --- | --- | --- | --- | --- |\n",
          to);
    for (size_t i = 0; options_row(i, &o); i++) {
        flag_text(&o, flag, sizeof flag);
        fprintf(to, "| `%s` | `%s` | %s%s%s | %s | %s |\n", flag, o.variable, o.def[0] ? "`" : "",
                o.def, o.def[0] ? "`" : "", o.is_reload ? "reload" : "start", o.help);
    }
}

/* Write text as comments of at most 78 columns. */
static void print_comment(FILE *to, const char *text)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, " ");

        if (column > 0 && column + 1 + n > 78) {
            fputc('\n', to);
            column = 0;
        }
        fprintf(to, "%s%.*s", column == 0 ? "# " : " ", (int)n, text);
        column += n + (column == 0 ? 2 : 1);
        text += n + (text[n] == ' ');
    }
    fputc('\n', to);
}

static void print_value(const struct row *r, const void *at, const char *name, FILE *to)
{
    const struct option_list *list = at;

    switch (r->type) {
    case T_TEXT:
        fprintf(to, "%s = %.*s\n", name, STR_ARG(*(const struct str *)at));
        break;
    case T_LIST:
        for (size_t i = 0; i < list->n; i++)
            fprintf(to, "%s = %.*s\n", name, STR_ARG(list->items[i]));
        break;
    case T_BOOL:
        fprintf(to, "%s = %s\n", name, *(const bool *)at ? "yes" : "no");
        break;
    default: /* a number is in the unit of its type, which needs no letter */
        fprintf(to, "%s = %" PRId64 "\n", name, *(const int64_t *)at);
    }
}

static bool same_value(const struct row *r, const struct options *x, const struct options *y)
{
    const void *p = (const char *)x + r->offset, *q = (const char *)y + r->offset;

    switch (r->type) {
    case T_TEXT:
        return str_eq(*(const struct str *)p, *(const struct str *)q);
    case T_LIST: {
        const struct option_list *l = p, *m = q;
        bool same = l->n == m->n;
        for (size_t i = 0; same && i < l->n; i++)
            same = str_eq(l->items[i], m->items[i]);
        return same;
    }
    case T_BOOL:
        return *(const bool *)p == *(const bool *)q;
    default:
        return *(const int64_t *)p == *(const int64_t *)q;
    }
}

void options_print_config(const struct options *o, FILE *to)
{
    struct option_load defaults = {.o = NEW(struct options)};
    struct option_info info;

    set_defaults(&defaults);
    fputs("# Options of Feedmill, see feedmill.conf(5). A line is 'name = value'. What is behind a #\n"
          "# is the default. Flags and the environment (FEEDMILL_NAME) win over this file.\n",
          to);
    for (size_t i = 0; options_row(i, &info); i++) {
        if (strcmp(info.name, "config") == 0)
            continue;
        fputc('\n', to);
        print_comment(to, info.help);
        if (rows[i].flags & SECRET || same_value(&rows[i], defaults.o, o))
            fprintf(to, "#%s =%s%s\n", info.name, info.def[0] != '\0' ? " " : "", info.def);
        else
            print_value(&rows[i], (const char *)o + rows[i].offset, info.name, to);
    }
    options_free(&defaults.o);
}

const char *options_changed_fixed(const struct options *old, const struct options *new_)
{
    static struct option_info info;

    for (size_t i = 0; options_row(i, &info); i++)
        if (!info.is_reload && !same_value(&rows[i], old, new_))
            return info.name;
    return NULL;
}
