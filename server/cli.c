/* server/cli.c - the table of commands and what they share. */
#include "server/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

const struct cli_command cli_commands[] = {
    {"add", "[--freq N] [--no-sanitize] [--title NAME] [--folder A/B] URL...",
     "subscribe to feeds or pages (polled and listed)", cli_add},
    {"ls", "[--all]", "feeds with state, last and next fetch and why, last error", cli_ls},
    {"show", "FEED", "all that is known of one feed, by URL or id", cli_show},
    {"get", "[--type atom|rss|json|jsonfeed] [--len N] URL...", "print a feed or a merge of feeds",
     cli_get},
    {"import", "FILE.opml", "subscribe to every feed of a list and of those it includes",
     cli_import},
    {"export", "", "print the subscribed feeds as OPML", cli_export},
    {"sub", "[add [--from start] ENDPOINT URL... | rm ID [URL...] | resume ID]",
     "list, make, end or resume subscriptions", cli_sub},
    {"tail", "[--since SEQ] [URL...]", "print new entries as they come", cli_tail},
    {"archive", "--out DIR [--base URL] URL...",
     "write the documents of /simple as files for any web server; again: what is new", cli_archive},
    {"parse", "[--url URL] [--header 'Name: value'] [--out DIR] [FILE...]",
     "parse documents without a daemon, print JSON", cli_parse},
    {"discover", "[--url URL] [--out DIR] [FILE...]", "feeds that HTML pages announce, as JSON",
     cli_discover},
    {"opml", "[--out DIR] [FILE...]", "feeds of OPML lists, as JSON", cli_opml},
    {NULL, NULL, NULL, NULL},
};

int cli_fail(const char *name, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "feedmill %s: ", name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return 1;
}

int cli_usage(const char *name)
{
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        if (strcmp(c->name, name) == 0)
            fprintf(stderr, "usage: feedmill %s %s\n  %s\n", c->name, c->args, c->help);
    return 2;
}

static const struct cli_flag *find_flag(const struct cli_flag *flags, size_t n, const char *arg,
                                        size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(flags[i].name) == len && memcmp(flags[i].name, arg, len) == 0)
            return &flags[i];
    return NULL;
}

bool cli_take_flags(int *argc, char **argv, const struct cli_flag *flags, size_t n)
{
    int out = 1;
    bool operands_only = false;

    for (int k = 1; k < *argc; k++) {
        const char *arg = argv[k], *eq = strchr(arg, '=');
        const struct cli_flag *f;
        struct str value;
        if (operands_only || strncmp(arg, "--", 2) != 0) {
            argv[out++] = argv[k];
            continue;
        }
        if (arg[2] == '\0') {
            operands_only = true;
            continue;
        }
        f = find_flag(flags, n, arg, eq != NULL ? (size_t)(eq - arg) : strlen(arg));
        if (f == NULL) {
            cli_fail(argv[0], "unknown flag %s", arg);
            cli_usage(argv[0]);
            return false;
        }
        if (f->max == 1 && f->list == NULL) { /* a switch */
            *f->value = STR("yes");
            continue;
        }
        if (eq == NULL && k + 1 == *argc) {
            cli_fail(argv[0], "%s needs a value", arg);
            return false;
        }
        value = str_from(eq != NULL ? eq + 1 : argv[++k]);
        if (f->list == NULL) {
            *f->value = value;
        } else if (*f->n < f->max) {
            f->list[(*f->n)++] = value;
        } else {
            cli_fail(argv[0], "%s is given more than %zu times", f->name, f->max);
            return false;
        }
    }
    *argc = out;
    return true;
}

struct str cli_plain(struct arena *a, struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        unsigned char next = i + 1 < text.len ? (unsigned char)text.ptr[i + 1] : 0;
        bool c1 = c == 0xC2 && next >= 0x80 && next < 0xA0; /* U+0080 to U+009F: ESC and a letter */

        buf_putc(&out, c1 || c < 0x20 || c == 0x7F ? ' ' : (char)c);
        if (c1)
            i++;
    }
    return str_dup(a, buf_view(&out));
}

void cli_print_plain(struct str text)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str plain = cli_plain(&a, text);

    fwrite(plain.ptr, 1, plain.len, stdout);
}

char *cli_read_file(const char *name, const char *path, size_t max, size_t *len_out)
{
    AUTO(buf_release) struct buf b = BUF_INIT(max);
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char piece[65536];
    size_t n;
    bool bad;

    if (f == NULL) {
        cli_fail(name, "%s: %s", path, strerror(errno));
        return NULL;
    }
    while ((n = fread(piece, 1, sizeof piece, f)) > 0 && buf_ok(&b))
        buf_append(&b, piece, n);
    bad = ferror(f);
    if (f != stdin)
        fclose(f);
    if (bad || !buf_ok(&b)) {
        cli_fail(name, "%s: %s", path, bad ? strerror(errno) : "the file is too large");
        return NULL;
    }
    return buf_detach(&b, len_out);
}
