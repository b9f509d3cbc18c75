/* server/help_json.c - the help for programs: commands, actions and flags as JSON. */
#include <string.h>

#include "base/buf.h"
#include "feed/text/json.h"
#include "model/value.h"
#include "server/cli.h"
#include "server/manual.h"
#include "server/options.h"

struct telling {
    struct arena *a;
    struct value *flags, *actions;
};

/* The text is copied: a command may have made it for the time in which it is told. */
static void set_textz(struct arena *a, struct value *v, const char *key, const char *text)
{
    value_set(a, v, str_from(key), text == NULL ? value_null(a) : value_text(a, str_dup(a, str_from(text))));
}

static struct value *term(struct arena *a, const char *name, const char *key, const char *arg, const char *help)
{
    struct value *v = value_dict(a);

    set_textz(a, v, "name", name);
    set_textz(a, v, key, arg);
    set_textz(a, v, "help", help);
    return v;
}

static void on_flag(void *ctx, const struct cli_flag *f)
{
    struct telling *t = ctx;

    value_push(t->a, t->flags, term(t->a, f->name, "arg", f->arg, f->help));
}

static void on_action(void *ctx, const char *name, const char *args, const char *help)
{
    struct telling *t = ctx;

    value_push(t->a, t->actions, term(t->a, name, "args", args, help));
}

static struct value *shape(struct telling *t, const char *name, const char *args, const char *help,
                           const char *example)
{
    struct value *v = term(t->a, name, "args", args, help);

    set_textz(t->a, v, "example", example);
    value_setz(t->a, v, "flags", t->flags);
    value_setz(t->a, v, "actions", t->actions);
    return v;
}

static struct value *shape_command(struct arena *a, const struct cli_command *c)
{
    struct telling t = {a, value_list(a), value_list(a)};
    const struct cli_listener listener = {&t, on_flag, on_action};

    cli_describe(c, &listener);
    return shape(&t, c->name, c->args, c->help, c->example);
}

static struct value *shape_serve(struct arena *a)
{
    struct telling t = {a, value_list(a), value_list(a)};
    struct option_info o;

    for (size_t i = 0; options_row(i, &o); i++)
        value_push(a, t.flags, term(a, o.flag, "arg", o.arg, o.help));
    return shape(&t, "serve", "[OPTION]...", "run the daemon", SERVE_EXAMPLE);
}

static struct value *shape_all(struct arena *a)
{
    struct value *v = value_dict(a), *list = value_list(a);

    set_textz(a, v, "version", FEEDMILL_VERSION);
    value_push(a, list, shape_serve(a));
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        value_push(a, list, shape_command(a, c));
    value_setz(a, v, "commands", list);
    return v;
}

bool help_json_write(const char *name, FILE *to)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const struct cli_command *c = cli_commands;
    struct value *v = NULL;

    while (name != NULL && c->name != NULL && strcmp(c->name, name) != 0)
        c++;
    if (name == NULL)
        v = shape_all(&a);
    else if (strcmp(name, "serve") == 0)
        v = shape_serve(&a);
    else if (c->name != NULL)
        v = shape_command(&a, c);
    if (v == NULL)
        return false;
    json_write(&out, v);
    buf_putc(&out, '\n');
    fwrite(buf_view(&out).ptr, 1, out.len, to);
    return true;
}

bool help_json_wanted(int argc, char **argv)
{
    bool helps = false, json = false;

    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++) {
        helps = helps || strcmp(argv[k], "-h") == 0 || strcmp(argv[k], "--help") == 0;
        json = json || strcmp(argv[k], "--json") == 0;
    }
    return helps && json;
}
