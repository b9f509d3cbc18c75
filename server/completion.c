/* server/completion.c - what bash and zsh read to complete a command line.
 *
 * A flag or an argument whose name says that it is a file or a folder is completed by names of
 * files, an argument that is one of several words by those words. A flag whose value is one of a
 * few is completed by them. */
#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/str.h"
#include "model/access.h"
#include "model/format.h"
#include "server/cli.h"
#include "server/manual.h"
#include "server/options.h"

const char completion_shells[] = "bash|zsh";

/* Does this name of a value mean something in the file system? */
static bool is_path(const char *arg)
{
    static const char *const names[] = {"FILE", "DIR", "DB"};

    for (size_t i = 0; arg != NULL && i < ARRAY_LEN(names); i++)
        if (strstr(arg, names[i]) != NULL)
            return true;
    return false;
}

static const char *role(size_t i)
{
    return i <= ROLE_ADMIN ? role_name((enum access_role)i) : NULL;
}

static const char *level(size_t i)
{
    return i <= LOG_LEVEL_DEBUG ? log_level_name((enum log_level)i) : NULL;
}

static const char *line_format(size_t i)
{
    static const char *const names[] = {"text", "json"};

    return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const char *beginning(size_t i)
{
    static const char *const names[] = {"start", "end"};

    return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const char *sink(size_t i)
{
#define SINK(id, name, carrier, offered, ...) (offered) ? name : "",
    static const char *const names[] = {
#include "model/sinks.def"
    };
#undef SINK

    return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const char *format(size_t i)
{
#define FORMAT(id, name, type, accepts, suffix, writer, traits)                                    \
    ((traits)&FORMAT_IS_OFFERED) ? name : "",
    static const char *const names[] = {
#include "model/formats.def"
    };
#undef FORMAT

    return i < ARRAY_LEN(names) ? names[i] : NULL;
}

/* The values of these flags, of which one is left out. "" is none, NULL is the end. */
static const struct {
    const char *flag;
    const char *(*value)(size_t i);
    const char *but;
} closed[] = {{"--anonymous", role, "admin"}, {"--role", role, "none"},
              {"--log-level", level, ""},     {"--log-format", line_format, ""},
              {"--sink", sink, ""},           {"--type", format, ""},
              {"--since", beginning, ""}};

static void put_values(FILE *to, size_t row)
{
    const char *value, *before = "";

    for (size_t i = 0; (value = closed[row].value(i)) != NULL; i++)
        if (value[0] != '\0' && strcmp(value, closed[row].but) != 0) {
            fprintf(to, "%s%s", before, value);
            before = " ";
        }
}

/* SIZE_MAX: its values are not a few. */
static size_t closed_row(const char *flag)
{
    for (size_t i = 0; i < ARRAY_LEN(closed); i++)
        if (strcmp(closed[i].flag, flag) == 0)
            return i;
    return SIZE_MAX;
}

/* Are the arguments of this usage files? */
static bool takes_files(const char *args)
{
    return strncmp(args, "FILE", 4) == 0 || strstr(args, "[FILE") != NULL;
}

/* Call fn with each word that may be the first argument, by the usage of the command: "add ... | ls
 * | rm ID" has three. */
static void each_word(const char *args, void (*fn)(void *ctx, struct str word), void *ctx)
{
    struct str rest = str_from(args);

    while (!str_is_null(rest)) {
        struct str word = str_trim(str_split(&rest, '|'));
        size_t n = 0;

        if (word.len > 0 && word.ptr[0] == '[')
            word = str_slice(word, 1, word.len);
        while (n < word.len && (islower((unsigned char)word.ptr[n]) || word.ptr[n] == '-'))
            n++;
        if (n > 0 && word.ptr[0] != '-' && (n == word.len || word.ptr[n] == ' '))
            fn(ctx, str_slice(word, 0, n));
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

/* Which of the lists of a command is being written. */
struct bash_list {
    FILE *to;
    enum { BASH_FLAGS, BASH_TAKING, BASH_PATHS, BASH_WORDS } which;
};

static void bash_flag(void *ctx, const struct cli_flag *f)
{
    const struct bash_list *l = ctx;

    if (l->which == BASH_FLAGS || (l->which == BASH_TAKING && f->arg != NULL && !is_path(f->arg)) ||
        (l->which == BASH_PATHS && is_path(f->arg)))
        fprintf(l->to, " %s", f->name);
}

static void bash_word(void *ctx, struct str word)
{
    const struct bash_list *l = ctx;

    fprintf(l->to, " %.*s", STR_ARG(word));
}

static void bash_action(void *ctx, const char *name, const char *args UNUSED,
                        const char *help UNUSED)
{
    const struct bash_list *l = ctx;

    if (l->which == BASH_WORDS)
        bash_word(ctx, str_from(name));
}

static void bash_command(FILE *to, const struct cli_command *c)
{
    static const char *const names[] = {"flags", "taking", "paths", "words"};

    fprintf(to, "    %s)\n", c->name);
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        struct bash_list l = {to, i};
        const struct cli_listener listener = {&l, bash_flag, bash_action};

        fprintf(to, "        %s='", names[i]);
        cli_describe(c, &listener);
        if (l.which == BASH_FLAGS)
            fputs(" --help", to);
        if (l.which == BASH_WORDS)
            each_word(c->args, bash_word, &l);
        fputs("'\n", to);
    }
    if (takes_files(c->args))
        fputs("        operands=paths\n", to);
    fputs("        ;;\n", to);
}

static void bash_serve(FILE *to)
{
    struct option_info o;

    fputs("    serve)\n        flags='--help", to);
    for (size_t i = 0; options_row(i, &o); i++)
        fprintf(to, " %s%s", o.flag, o.arg == NULL && strcmp(o.def, "yes") == 0 ? "=no" : "");
    fputs("'\n        taking='", to);
    for (size_t i = 0; options_row(i, &o); i++)
        if (o.arg != NULL && !is_path(o.arg))
            fprintf(to, " %s", o.flag);
    fputs("'\n        paths='", to);
    for (size_t i = 0; options_row(i, &o); i++)
        if (is_path(o.arg))
            fprintf(to, " %s", o.flag);
    fputs("'\n        ;;\n", to);
}

/* The values of the flag that stands before the cursor. */
static void bash_values(FILE *to)
{
    fputs("    case $before in\n", to);
    for (size_t i = 0; i < ARRAY_LEN(closed); i++) {
        fprintf(to, "    %s) values='", closed[i].flag);
        put_values(to, i);
        fputs("' ;;\n", to);
    }
    fputs("    esac\n", to);
}

static void write_bash(FILE *to)
{
    fputs("# completion of feedmill for bash, made by \"feedmill help --completion bash\"\n"
          "_feedmill()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local commands='serve help",
          to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        fprintf(to, " %s", c->name);
    fputs("' flags= taking= paths= words= operands= values=\n"
          "    COMPREPLY=()\n"
          "    # --flag=value comes as three words\n"
          "    [[ $current == = ]] && current=\n"
          "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\")\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    help) words=$commands ;;\n",
          to);
    bash_serve(to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        bash_command(to, c);
    fputs("    esac\n", to);
    bash_values(to);
    fputs("    case \" $taking \" in *\" $before \"*)\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
          "        return ;;\n"
          "    esac\n"
          "    case \" $paths \" in *\" $before \"*) operands=paths words= flags= ;; esac\n"
          "    if [[ $current == -* && -n $flags ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
          "    elif [[ $operands == paths ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
          "    elif ((COMP_CWORD == 2)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "    fi\n"
          "}\n"
          "complete -F _feedmill feedmill\n",
          to);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Does a sentence end here? "e.g. 10.0.0.0/8" does not end one. */
static bool is_end(const char *text)
{
    return text[0] == '\0' ||
           (text[0] == '.' &&
            (text[1] == '\0' || (text[1] == ' ' && isupper((unsigned char)text[2]))));
}

/* Write the first sentence of a text within single quotes, for _arguments and _describe. */
static void zsh_text(FILE *to, const char *text)
{
    for (; !is_end(text); text++)
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:\\", *text) != NULL)
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
}

/* What follows a flag: its value, with what completes it. */
static void zsh_value(FILE *to, const char *flag, const char *arg)
{
    size_t row = closed_row(flag);

    if (arg == NULL)
        return;
    fputc(':', to);
    for (const char *p = arg; *p != '\0'; p++)
        if (isalnum((unsigned char)*p))
            fputc(*p, to);
    if (row == SIZE_MAX) {
        fputs(is_path(arg) ? ":_files" : ": ", to);
        return;
    }
    fputs(":(", to);
    put_values(to, row);
    fputc(')', to);
}

static void zsh_flag(void *ctx, const struct cli_flag *f)
{
    FILE *to = ctx;

    fprintf(to, "            '%s%s[", f->max > 0 ? "*" : "", f->name);
    zsh_text(to, f->help);
    fputc(']', to);
    zsh_value(to, f->name, f->arg);
    fputs("' \\\n", to);
}

static void zsh_word(void *ctx, struct str word)
{
    fprintf(ctx, " %.*s", STR_ARG(word));
}

static void zsh_action(void *ctx UNUSED, const char *name UNUSED, const char *args UNUSED,
                       const char *help UNUSED)
{
}

static void no_flag(void *ctx UNUSED, const struct cli_flag *f UNUSED)
{
}

static void zsh_action_name(void *ctx, const char *name, const char *args UNUSED,
                            const char *help UNUSED)
{
    fprintf(ctx, " %s", name);
}

static void zsh_command(FILE *to, const struct cli_command *c)
{
    const struct cli_listener flags = {to, zsh_flag, zsh_action};
    const struct cli_listener actions = {to, no_flag, zsh_action_name};

    fprintf(to, "    %s)\n        _arguments \\\n", c->name);
    cli_describe(c, &flags);
    if (takes_files(c->args)) {
        fputs("            '*:file:_files'\n        ;;\n", to);
        return;
    }
    fputs("            '1: :(", to);
    each_word(c->args, zsh_word, to);
    cli_describe(c, &actions);
    fputs(")' '*: :'\n        ;;\n", to);
}

static void zsh_serve(FILE *to)
{
    struct option_info o;

    fputs("    serve)\n        _arguments \\\n", to);
    for (size_t i = 0; options_row(i, &o); i++) {
        fprintf(to, "            '%s%s%s[", o.is_list ? "*" : "", o.flag,
                o.arg == NULL ? "=-" : "");
        zsh_text(to, o.help);
        fputc(']', to);
        if (o.arg == NULL)
            fputs("::switch:(yes no)", to);
        zsh_value(to, o.flag, o.arg);
        fputs("' \\\n", to);
    }
    fputs("            '--help[Print this]'\n        ;;\n", to);
}

static void write_zsh(FILE *to)
{
    fputs(
        "#compdef feedmill\n"
        "# completion of feedmill for zsh, made by \"feedmill help --completion zsh\"\n"
        "local -a commands\ncommands=(\n    'serve:run the daemon'\n    'help:explain a command'\n",
        to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++) {
        fprintf(to, "    '%s:", c->name);
        zsh_text(to, c->help);
        fputs("'\n", to);
    }
    fputs(")\n"
          "if ((CURRENT == 2)); then\n"
          "    _describe command commands\n"
          "    return\n"
          "fi\n"
          "shift words\n"
          "((CURRENT -= 1))\n"
          "case $words[1] in\n"
          "    help) _describe command commands ;;\n",
          to);
    zsh_serve(to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        zsh_command(to, c);
    fputs("esac\n", to);
}

bool completion_write(const char *shell, FILE *to)
{
    if (strcmp(shell, "bash") == 0)
        write_bash(to);
    else if (strcmp(shell, "zsh") == 0)
        write_zsh(to);
    else
        return false;
    return true;
}
