/* server/manual.c - the pages of the manual, in the macros of man(7).
 *
 * What stands here in words is what no table knows. */
#include "server/manual.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/str.h"
#include "server/cli.h"
#include "server/options.h"

#define DAY                                                                                        \
    "" /* the pages are made with the program, so a date would only tell when it was built */

/* Write text so that nothing in it is a request or an escape of roff. */
static void put(FILE *to, const char *text)
{
    if (*text == '.')
        fputs("\\&", to);
    for (; *text != '\0'; text++)
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\'')
            fputs("\\(aq", to);
        else if (*text == '^')
            fputs("\\(ha", to);
        else if (*text == '~')
            fputs("\\(ti", to);
        else
            fputc(*text, to);
}

static void put_line(FILE *to, const char *text)
{
    put(to, text);
    fputc('\n', to);
}

/* A request whose argument is one text: ".SS add". */
static void put_request(FILE *to, const char *request, const char *text)
{
    fprintf(to, ".%s \"", request);
    for (; *text != '\0'; text++)
        if (*text == '"')
            fputs("\\(dq", to);
        else
            put(to, (const char[]){*text, '\0'});
    fputs("\"\n", to);
}

/* A term in bold, what follows it in italics, and what it means. */
static void put_term(FILE *to, const char *term, const char *arg)
{
    fputs(".TP\n\\fB", to);
    put(to, term);
    fputs("\\fR", to);
    if (arg != NULL && arg[0] != '\0') {
        fputs(" \\fI", to);
        put(to, arg);
        fputs("\\fR", to);
    }
    fputc('\n', to);
}

/* The day on which the page is made; of a package that can be made again to the byte, that of its
 * source (SOURCE_DATE_EPOCH). */
static void put_day(FILE *to)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    int64_t at;
    struct civil day;

    if (given == NULL || !str_to_i64(str_from(given), &at))
        at = clock_now_s();
    day = clock_civil(at);
    fprintf(to, "%04d-%02d-%02d", (int)day.year, day.month, day.day);
}

static void put_head(FILE *to, const char *name, const char *section, const char *what)
{
    fprintf(to, ".\\\" made by \"feedmill help --man %s.%s\"\n.TH ", name, section);
    put(to, name);
    fprintf(to, " %s \"", section);
    put_day(to);
    fputs("\" \"Feedmill " FEEDMILL_VERSION "\" \"Feedmill\"\n.SH NAME\n", to);
    put(to, name);
    fputs(" \\- ", to);
    put_line(to, what);
}

/* ---- feedmill(1) ----------------------------------------------------------------------------- */

static void put_flag(void *to, const struct cli_flag *f)
{
    put_term(to, f->name, f->arg);
    put_line(to, f->help);
}

static void put_action(void *to, const char *name, const char *args, const char *help)
{
    put_term(to, name, args);
    put_line(to, help);
}

static void put_command(FILE *to, const struct cli_command *c)
{
    const struct cli_listener listener = {to, put_flag, put_action};

    put_request(to, "SS", c->name);
    fputs("\\fBfeedmill ", to);
    put(to, c->name);
    fputs("\\fR ", to);
    put_line(to, c->args);
    fputs(".PP\n", to);
    put_line(to, c->help);
    cli_describe(c, &listener);
    fputs(".PP\nExample:\n.PP\n.nf\n.RS\n", to);
    put_line(to, c->example);
    fputs(".RE\n.fi\n", to);
}

static void write_commands(FILE *to)
{
    put_head(to, "feedmill", "1", "fetches, stores, merges and delivers web feeds");
    fputs(
        ".SH SYNOPSIS\n.B feedmill\n.I command\n[\\fIflag\\fR ...] [\\fIargument\\fR ...]\n"
        ".SH DESCRIPTION\n"
        "Feedmill is feed middleware: a daemon that fetches, parses and stores web feeds (RSS, "
        "Atom,\n"
        "JSON Feed), so that other programs do not have to. They ask it for any merge of feeds by\n"
        "HTTP, or have every new entry sent to them.\n"
        ".PP\n"
        "The command\n.B serve\nis the daemon; see\n.BR feedmill\\-serve (1).\n"
        "The others ask a daemon that runs, or work on files.\n"
        "A feed is named by its address or by the number that\n.B ls\nshows.\n"
        ".SH COMMANDS\n",
        to);
    for (const struct cli_command *c = cli_commands; c->name != NULL; c++)
        put_command(to, c);
    fputs(".SH EXIT STATUS\n.TP\n.B 0\nIt is done.\n.TP\n.B 1\nIt failed.\n.TP\n.B 2\n"
          "The command was used wrongly.\n"
          ".SH ENVIRONMENT\n"
          ".TP\n.B FEEDMILL_SERVER\nThe daemon that is asked; default: http://127.0.0.1:8080.\n"
          ".TP\n.B FEEDMILL_TOKEN\nThe token for it.\n"
          ".TP\n.B NO_COLOR\nIf it is set, tables have no colours.\n"
          ".SH SEE ALSO\n.BR feedmill\\-serve (1),\n.BR feedmill.conf (5)\n",
          to);
}

/* ---- feedmill-serve(1) ----------------------------------------------------------------------- */

static void put_default(FILE *to, const struct option_info *o)
{
    if (o->def[0] == '\0')
        return;
    fputs("Default: ", to);
    put(to, o->def);
    fputs(".\n", to);
}

static void write_daemon(FILE *to)
{
    struct option_info o;

    put_head(to, "feedmill-serve", "1", "the daemon of Feedmill");
    fputs(
        ".SH SYNOPSIS\n.B feedmill serve\n[\\fIoption\\fR ...]\n.br\n"
        ".B feedmill serve \\-\\-check\n[\\fIoption\\fR ...]\n"
        ".SH DESCRIPTION\n"
        "It fetches feeds, keeps what they say in its database, answers requests and delivers new\n"
        "entries, until it gets a signal that ends it.\n"
        "Each option can also be set by a variable of the environment, or by a line of a file; "
        "see\n"
        ".BR feedmill.conf (5).\n"
        "A flag wins over the environment, and the environment wins over the file.\n"
        "The flag of a switch can be given as\n.BI \\-\\-name\\fR,\n.BI \\-\\-name =yes\nor\n.BI \\-\\-name =no\\fR,\nand as\n"
        ".BI \\-\\-no\\- name\\fR.\n"
        "With\n.B \\-\\-check\nas the first flag it only says whether it would start with these options.\n"
        ".SH OPTIONS\n",
        to);
    for (size_t i = 0; options_row(i, &o); i++) {
        put_term(to, o.flag, o.arg);
        put_line(to, o.help);
        put_default(to, &o);
        fputs("Variable: ", to);
        put(to, o.variable);
        fputs(".\n", to);
    }
    fputs(
        ".SH SIGNALS\n"
        ".TP\n.BR SIGTERM , \" SIGINT\"\nEnd gently: requests are answered, and what was taken is "
        "stored.\n"
        ".TP\n.B SIGHUP\nRead the config file again, and open the access log anew.\n"
        ".TP\n.B SIGUSR2\nExecute the program that is now at the same path, in the same process, "
        "and hand its sockets over.\nNo request fails.\n"
        ".SH ENVIRONMENT\n"
        "The variables of a service manager are heeded, as\n.BR sd_listen_fds (3),\n"
        ".BR sd_notify (3)\nand\n.BR sd_watchdog_enabled (3)\ndescribe them:\n"
        ".BR LISTEN_FDS ,\n.BR NOTIFY_SOCKET\nand\n.BR WATCHDOG_USEC .\n"
        ".SH SEE ALSO\n.BR feedmill (1),\n.BR feedmill.conf (5)\n",
        to);
}

/* ---- feedmill.conf(5) ------------------------------------------------------------------------ */

static void write_config(FILE *to)
{
    struct option_info o;

    put_head(to, "feedmill.conf", "5", "options of the daemon of Feedmill");
    fputs(".SH DESCRIPTION\n"
          "The file that the option\n.B \\-\\-config\nof\n.BR feedmill\\-serve (1)\nnames.\n"
          "Each line is\n.IR name\\ =\\ value .\n"
          "Lines that begin with # or ; are comments, as is the rest of a line after \" ;\" or \" #\".\n"
          "To set a list, repeat the line.\n"
          "Times are written as 500ms, 30s, 5m, 2h or 1d, sizes as 65536, 64K, 16M or 1G\n(also KB and KiB; 1K is 1024 bytes), "
          "switches as yes or no\n(also on, off, true, false, 1 and 0).\n"
          "A line that is wrong is named with its number, and the daemon does not start.\n"
          ".PP\n"
          "SIGHUP has the daemon read the file again. What is marked\n.I start\n"
          "keeps its value until the next start. A file in which something is wrong changes "
          "nothing.\n"
          ".PP\n"
          "\\(lqfeedmill serve \\-\\-help\\-config\\(rq prints such a file with all names.\n"
          ".SH OPTIONS\n",
          to);
    for (size_t i = 0; options_row(i, &o); i++) {
        if (strcmp(o.name, "config") == 0)
            continue;
        put_term(to, o.name, o.arg != NULL ? o.arg : "yes|no");
        put_line(to, o.help);
        put_default(to, &o);
        if (!o.is_reload)
            fputs("Read at the\n.IR start .\n", to);
    }
    fputs(".SH FILES\n.TP\n.I /etc/feedmill.conf\nThe file of Debian\\(aqs package.\n"
          ".SH SEE ALSO\n.BR feedmill (1),\n.BR feedmill\\-serve (1)\n",
          to);
}

/* ---- pages ----------------------------------------------------------------------------------- */

const char manual_pages[] = "feedmill.1|feedmill-serve.1|feedmill.conf.5";

bool manual_write(const char *page, FILE *to)
{
    static const struct {
        const char *name;
        void (*write)(FILE *to);
    } pages[] = {{"feedmill.1", write_commands},
                 {"feedmill-serve.1", write_daemon},
                 {"feedmill.conf.5", write_config}};

    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (strcmp(page, pages[i].name) == 0) {
            pages[i].write(to);
            return true;
        }
    return false;
}
