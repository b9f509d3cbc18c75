/* server/completion.c - what bash, zsh and fish read to complete a command line.
 *
 * A flag or an argument whose name says that it is a file or a folder is completed by names of
 * files, an argument that is one of several words by those words. A flag whose value is one of a
 * few is completed by them, and what `set` and `sub set` may change by its names. */
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

const char completion_shells[] = "bash|zsh|fish";

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

/* Write the words of "a|b" with a space before each, and `after` after it. */
static void put_words(FILE *to, const char *words, const char *after)
{
    for (struct str rest = str_from(words); !str_is_null(rest);) {
        struct str word = str_split(&rest, '|');

        fprintf(to, " %.*s%s", STR_ARG(word), after);
    }
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

/* What the command changes, as "key=value" from its second argument on; or, of `sub set`, from its third.
 * NULL: nothing. */
static const char *settings_of(const struct cli_command *c)
{
    return strcmp(c->name, "set") == 0   ? cli_feed_settings
           : strcmp(c->name, "sub") == 0 ? cli_sub_settings
                                         : NULL;
}

static bool is_sub(const struct cli_command *c)
{
    return strcmp(c->name, "sub") == 0;
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
    if (settings_of(c) != NULL) {
        fputs(is_sub(c) ? "        [[ ${COMP_WORDS[2]} == set ]] && ((COMP_CWORD > 3)) && settings='"
                        : "        ((COMP_CWORD > 2)) && settings='",
              to);
        put_words(to, settings_of(c), "=");
        fputs("'\n", to);
    }
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
    fputs("    --man) values='", to);
    put_words(to, manual_pages, "");
    fputs("' ;;\n    --completion) values='", to);
    put_words(to, completion_shells, "");
    fputs("' ;;\n    esac\n", to);
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
    fputs("' flags= taking= paths= words= operands= values= settings=\n"
          "    COMPREPLY=()\n"
          "    # --flag=value comes as three words\n"
          "    local is_value=\n"
          "    [[ $current == = || $before == = ]] && is_value=yes\n"
          "    [[ $current == = ]] && current=\n"
          "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\")\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    help) words=$commands flags='--man --completion --json --help' taking='--man --completion' ;;\n",
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
          "    elif [[ -n $settings && -z $is_value ]]; then\n"
          "        compopt -o nospace 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$settings\" -- \"$current\")\n"
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
    fputs(")' ", to);
    if (settings_of(c) != NULL) {
        fprintf(to, "'*:setting:{%scompadd -S \"\" --", is_sub(c) ? "[[ $words[2] == set ]] && " : "");
        put_words(to, settings_of(c), "=");
        fputs("}'\n        ;;\n", to);
    } else {
        fputs("'*: :'\n        ;;\n", to);
    }
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
          "    help)\n        _arguments '--man[Print a page of the manual]:PAGE:(",
          to);
    put_words(to, manual_pages, "");
    fputs(")' '--completion[Print what a shell reads to complete commands]:SHELL:(", to);
    put_words(to, completion_shells, "");
    fputs(")' \\\n            '--json[Print JSON]' '1:command:{_describe command commands}'\n        ;;\n", to);
    zsh_serve(to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        zsh_command(to, c);
    fputs("esac\n", to);
}

/* ---- fish ------------------------------------------------------------------------------------ */

/* Write the first sentence of a text within single quotes. */
static void fish_text(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; !is_end(text); text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('\'', to);
}

/* Whose flags and words are being written. */
struct fish_list {
    FILE *to;
    const struct cli_command *c;
};

static void fish_flag_of(FILE *to, const char *command, const char *flag, const char *arg,
                         const char *help)
{
    size_t row = closed_row(flag);

    fprintf(to, "complete -c feedmill -n '__feedmill_in %s' -l %s -d ", command, flag + 2);
    fish_text(to, help);
    if (arg != NULL && row != SIZE_MAX) {
        fputs(" -x -a '", to);
        put_values(to, row);
        fputs("'", to);
    } else if (arg != NULL) {
        fputs(is_path(arg) ? " -r -F" : " -x", to);
    }
    fputc('\n', to);
}

static void fish_flag(void *ctx, const struct cli_flag *f)
{
    const struct fish_list *l = ctx;

    fish_flag_of(l->to, l->c->name, f->name, f->arg, f->help);
}

static void fish_word(void *ctx, struct str word)
{
    const struct fish_list *l = ctx;

    fprintf(l->to, "complete -c feedmill -n '__feedmill_at %s 2' -a %.*s\n", l->c->name,
            STR_ARG(word));
}

static void fish_action(void *ctx, const char *name, const char *args UNUSED, const char *help)
{
    const struct fish_list *l = ctx;

    fprintf(l->to, "complete -c feedmill -n '__feedmill_at %s 2' -a %s -d ", l->c->name, name);
    fish_text(l->to, help);
    fputc('\n', l->to);
}

static void fish_command(FILE *to, const struct cli_command *c)
{
    struct fish_list l = {to, c};
    const struct cli_listener listener = {&l, fish_flag, fish_action};

    fprintf(to, "complete -c feedmill -n __feedmill_first -a %s -d ", c->name);
    fish_text(to, c->help);
    fputc('\n', to);
    cli_describe(c, &listener);
    each_word(c->args, fish_word, &l);
    if (takes_files(c->args))
        fprintf(to, "complete -c feedmill -n '__feedmill_in %s' -F\n", c->name);
    if (settings_of(c) != NULL) {
        fprintf(to, "complete -c feedmill -n '__feedmill_sets %s %d' -a '", c->name, is_sub(c) ? 4 : 3);
        put_words(to, settings_of(c), "=");
        fputs("'\n", to);
    }
}

static void fish_serve(FILE *to)
{
    struct option_info o;

    for (size_t i = 0; options_row(i, &o); i++)
        fish_flag_of(to, "serve", o.flag, o.arg, o.help);
}

static void write_fish(FILE *to)
{
    fputs("# completion of feedmill for fish, made by \"feedmill help --completion fish\"\n"
          "function __feedmill_first\n    test (count (commandline -opc)) -eq 1\nend\n"
          "function __feedmill_in\n    set -l words (commandline -opc)\n"
          "    test (count $words) -gt 1; and test $words[2] = $argv[1]\nend\n"
          "function __feedmill_at\n"
          "    __feedmill_in $argv[1]; and test (count (commandline -opc)) -eq $argv[2]\nend\n"
          "function __feedmill_sets\n    set -l words (commandline -opc)\n"
          "    __feedmill_in $argv[1]; and test (count $words) -ge $argv[2]; and contains set $words[2..3]\nend\n"
          "complete -c feedmill -f\n"
          "complete -c feedmill -n __feedmill_first -a serve -d 'run the daemon'\n"
          "complete -c feedmill -n __feedmill_first -a help -d 'explain a command'\n"
          "complete -c feedmill -n '__feedmill_in help' -l man -x -d 'Print a page of the manual' -a '",
          to);
    put_words(to, manual_pages, "");
    fputs("'\ncomplete -c feedmill -n '__feedmill_in help' -l completion -x -d "
          "'Print what a shell reads to complete commands' -a '",
          to);
    put_words(to, completion_shells, "");
    fputs("'\ncomplete -c feedmill -n '__feedmill_at help 2' -a 'serve", to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        fprintf(to, " %s", c->name);
    fputs("'\n", to);
    fish_serve(to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        fish_command(to, c);
}

bool completion_write(const char *shell, FILE *to)
{
    if (strcmp(shell, "bash") == 0)
        write_bash(to);
    else if (strcmp(shell, "zsh") == 0)
        write_zsh(to);
    else if (strcmp(shell, "fish") == 0)
        write_fish(to);
    else
        return false;
    return true;
}
