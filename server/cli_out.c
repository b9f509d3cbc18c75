/* server/cli_out.c - see cli_out.h. */
#include "server/cli_out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/visible.h"
#include "feed/text/date.h"
#include "feed/text/json.h"
#include "server/cli.h"

#define WIDTH_USUAL 80
#define EXTRA_MOST 6 /* of a column */
#define TEXT_LEAST 12 /* characters of a text that is cut, if a column can be left out instead */
#define GAP 2         /* between columns */

struct row {
    struct str *cells;
    struct str note; /* null: none */
};

struct cli_table {
    struct arena *a;
    const struct cli_column *columns;
    size_t n, n_rows, cap;
    struct row *rows;
    bool is_terminal;
};

/* ---- the terminal ---- */

bool cli_is_terminal(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

/* Does the terminal take text alone? */
static bool is_dumb(void)
{
    const char *term = getenv("TERM");

    return term != NULL && strcmp(term, "dumb") == 0;
}

/* https://no-color.org: an empty NO_COLOR counts as not set. */
static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return cli_is_terminal() && (no == NULL || no[0] == '\0') && !is_dumb();
}

static size_t width_at(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t n;

    if (columns != NULL && str_to_i64(str_from(columns), &n) && n > 0)
        return (size_t)n;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH_USUAL;
}

static size_t terminal_width(void)
{
    return width_at(STDOUT_FILENO);
}

/* ---- widths ---- */

static size_t width_of_char(uint32_t cp)
{
    int n = wcwidth((wchar_t)cp);

    return n < 0 ? 1 : (size_t)n;
}

static size_t width_of(struct str s)
{
    size_t width = 0;
    uint32_t cp;

    while (s.len > 0) {
        size_t n = visible_next(s, &cp);

        width += width_of_char(cp);
        s = str_slice(s, n, s.len);
    }
    return width;
}

/* The beginning of a text that is at most this wide, with an ellipsis if something is left out. */
static struct str cut(struct arena *a, struct str s, size_t max)
{
    struct str rest = s;
    size_t width = 0;
    uint32_t cp;

    if (width_of(s) <= max)
        return s;
    if (max == 0)
        return STR("");
    while (rest.len > 0) {
        size_t n = visible_next(rest, &cp);

        if (width + width_of_char(cp) + 1 > max)
            break;
        width += width_of_char(cp);
        rest = str_slice(rest, n, rest.len);
    }
    return str_concat(a, str_slice(s, 0, s.len - rest.len), STR("\xE2\x80\xA6"));
}

/* ---- times ---- */

static const char *distance(struct arena *a, int64_t s)
{
    static const struct {
        int64_t from, unit;
        const char *name;
    } units[] = {{2 * 365 * 86400, 365 * 86400, "years"}, {2 * 86400, 86400, "days"},
                 {2 * 3600, 3600, "h"},                   {2 * 60, 60, "min"},
                 {0, 1, "s"}};

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (s >= units[i].from)
            return arena_printf(a, "%" PRId64 " %s", s / units[i].unit, units[i].name);
    return "now";
}

const char *cli_time(struct arena *a, struct str text)
{
    int64_t at, away;

    if (text.len == 0 || str_eqz(text, "-"))
        return "-";
    if (!cli_is_terminal() || !date_parse(text, &at))
        return str_z(a, text);
    away = at - clock_now_s();
    return away > 1    ? arena_printf(a, "in %s", distance(a, away))
           : away < -1 ? arena_printf(a, "%s ago", distance(a, -away))
                       : "now";
}

/* ---- tables ---- */

struct cli_table *cli_table_new(struct arena *a, const struct cli_column *columns, size_t n)
{
    struct cli_table *t = ARENA_NEW(a, struct cli_table);

    *t = (struct cli_table){.a = a, .columns = columns, .n = n, .is_terminal = cli_is_terminal()};
    return t;
}

/* What a cell shows: on one line, without a tab. */
static struct str shown(struct arena *a, enum cli_cell kind, struct str text)
{
    int64_t s;

    if (kind == CELL_SPAN && cli_is_terminal() && str_to_i64(text, &s))
        return str_from(distance(a, s));
    if (kind == CELL_TIME)
        return str_from(cli_time(a, text));
    return text.len == 0 ? STR("-") : cli_plain(a, text);
}

void cli_table_add(struct cli_table *t, const struct str *cells)
{
    struct row *row;

    if (t->n_rows == t->cap) {
        size_t cap = t->cap == 0 ? 64 : 2 * t->cap;
        struct row *grown = ARENA_ARRAY(t->a, struct row, cap);

        if (t->n_rows > 0)
            memcpy(grown, t->rows, t->n_rows * sizeof *grown);
        t->rows = grown;
        t->cap = cap;
    }
    row = &t->rows[t->n_rows++];
    row->cells = ARENA_ARRAY(t->a, struct str, t->n);
    for (size_t i = 0; i < t->n; i++)
        row->cells[i] = shown(t->a, t->columns[i].kind, cells[i]);
}

void cli_table_add_value(struct cli_table *t, const struct value *row)
{
    struct str *cells = ARENA_ARRAY(t->a, struct str, t->n);

    for (size_t i = 0; i < t->n; i++)
        cells[i] = str_from(cli_text(t->a, row, t->columns[i].key));
    cli_table_add(t, cells);
}

void cli_table_note(struct cli_table *t, const char *what, struct str text)
{
    if (t->n_rows > 0 && text.len > 0)
        t->rows[t->n_rows - 1].note =
            str_printf(t->a, "%s%.*s", what, STR_ARG(cli_plain(t->a, text)));
}

/* The width of a row whose texts have at most `most` characters. A column of width 0 is left out. */
static size_t all_of(const struct cli_table *t, const size_t *widths, size_t most)
{
    size_t all = 0;

    for (size_t i = 0; i < t->n; i++)
        if (widths[i] > 0)
            all += (t->columns[i].kind == CELL_TEXT && widths[i] > most ? most : widths[i]) +
                   (all > 0 ? GAP : 0);
    return all;
}

static void measure(const struct cli_table *t, size_t *widths)
{
    for (size_t i = 0; i < t->n; i++) {
        widths[i] = strlen(t->columns[i].head);
        for (size_t r = 0; r < t->n_rows; r++) {
            size_t w = width_of(t->rows[r].cells[i]);

            widths[i] = w > widths[i] ? w : widths[i];
        }
    }
}

/* Make the columns as wide as their cells. If that is too wide, leave out what is extra, and cut the
 * widest texts. */
static void fit(const struct cli_table *t, size_t *widths, size_t room)
{
    size_t most = room;

    measure(t, widths);
    for (int extra = EXTRA_MOST; extra > 0; extra--)
        for (size_t i = t->n; i-- > 0 && all_of(t, widths, TEXT_LEAST) > room;)
            if (t->columns[i].extra == extra)
                widths[i] = 0;
    while (most > 1 && all_of(t, widths, most) > room)
        most--;
    for (size_t i = 0; i < t->n; i++)
        if (t->columns[i].kind == CELL_TEXT && widths[i] > most)
            widths[i] = most;
}

static const char *colour_of(struct str state)
{
    static const struct {
        const char *words, *colour;
    } meanings[] = {{"ok|active|new|delivered|admin", "\033[32m"},
                    {"failing|gone|suspended|failed|deleted", "\033[31m"},
                    {"paused|changed|left|pending|draining", "\033[33m"}};

    for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
        for (struct str rest = str_from(meanings[i].words); !str_is_null(rest);)
            if (str_eq(str_split(&rest, '|'), state))
                return meanings[i].colour;
    return NULL;
}

static void pad(size_t n)
{
    while (n-- > 0)
        putchar(' ');
}

/* `colour` NULL: none. */
static void print_coloured(struct str text, const char *colour)
{
    if (colour != NULL)
        fputs(colour, stdout);
    fwrite(text.ptr, 1, text.len, stdout);
    if (colour != NULL)
        fputs("\033[0m", stdout);
}

/* Print one cell. *left: how much of the line is left; what does not fit even now is cut. */
static void print_cell(const struct cli_table *t, size_t i, struct str text, size_t width,
                       const char *colour, size_t *left)
{
    struct str fits = cut(t->a, text, width < *left ? width : *left);
    size_t wide = width_of(fits), rest = width > wide ? width - wide : 0;
    bool is_right = t->columns[i].kind == CELL_NUMBER || t->columns[i].kind == CELL_SPAN;

    if (is_right)
        pad(rest);
    print_coloured(fits, colour);
    if (!is_right && *left > width + GAP)
        pad(rest);
    *left -= width < *left ? width : *left;
}

/* `colours` NULL: none. */
static void print_row(const struct cli_table *t, const struct str *cells, const size_t *widths,
                      size_t left, const char *const *colours)
{
    bool is_first = true;

    for (size_t i = 0; i < t->n && left > 0; i++) {
        if (widths[i] == 0)
            continue;
        if (!is_first && left <= GAP)
            break;
        if (!is_first) {
            pad(GAP);
            left -= GAP;
        }
        is_first = false;
        print_cell(t, i, cells[i], widths[i], colours != NULL ? colours[i] : NULL, &left);
    }
    putchar('\n');
}

static void print_for_eyes(const struct cli_table *t)
{
    size_t *widths = ARENA_ARRAY(t->a, size_t, t->n), room = terminal_width();
    const char **colours = has_colours() ? ARENA_ARRAY(t->a, const char *, t->n) : NULL;
    struct str *heads = ARENA_ARRAY(t->a, struct str, t->n);

    if (t->n_rows == 0)
        return;
    fit(t, widths, room);
    for (size_t i = 0; i < t->n; i++) {
        heads[i] = str_from(t->columns[i].head);
        if (colours != NULL)
            colours[i] = "\033[1m";
    }
    print_row(t, heads, widths, room, colours);
    for (size_t r = 0; r < t->n_rows; r++) {
        const struct row *row = &t->rows[r];

        for (size_t i = 0; i < t->n && colours != NULL; i++)
            colours[i] = t->columns[i].kind == CELL_STATE ? colour_of(row->cells[i]) : NULL;
        print_row(t, row->cells, widths, room, colours);
        if (!str_is_null(row->note))
            printf("      %.*s\n", STR_ARG(cut(t->a, row->note, room > 20 ? room - 6 : 14)));
    }
}

static void print_with_tabs(const struct str *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fwrite(cells[i].ptr, 1, cells[i].len, stdout);
        putchar(i + 1 < n ? '\t' : '\n');
    }
}

static void print_for_programs(const struct cli_table *t)
{
    for (size_t r = 0; r < t->n_rows; r++)
        print_with_tabs(t->rows[r].cells, t->n);
}

void cli_table_print(const struct cli_table *t)
{
    if (t->is_terminal)
        print_for_eyes(t);
    else
        print_for_programs(t);
}

/* ---- lines ---- */

/* Print one piece. *left: how much of the line is left. */
static void print_piece(struct arena *a, const struct cli_piece *p, size_t *left)
{
    struct str text = shown(a, p->kind, p->text), fits = cut(a, text, *left);

    print_coloured(fits, p->kind == CELL_STATE && has_colours() ? colour_of(text) : NULL);
    *left -= width_of(fits);
}

void cli_print_pieces(struct arena *a, size_t indent, const struct cli_piece *pieces, size_t n)
{
    size_t room = terminal_width(), left = room > indent ? room - indent : 0;

    pad(room - left);
    for (size_t i = 0; i < n; i++) {
        size_t before = left, gap;

        print_piece(a, &pieces[i], &left);
        gap = 1 + (before - left < pieces[i].width ? pieces[i].width - (before - left) : 0);
        if (i + 1 == n || gap >= left)
            break;
        pad(gap);
        left -= gap;
    }
    putchar('\n');
}

void cli_print_cells(struct arena *a, const struct str *cells, size_t n)
{
    struct str *plain = ARENA_ARRAY(a, struct str, n);

    for (size_t i = 0; i < n; i++)
        plain[i] = shown(a, CELL_TEXT, cells[i]);
    print_with_tabs(plain, n);
}

void cli_print_deed(struct arena *a, const char *kind, int64_t id, const char *done, struct str url)
{
    const struct str cells[] = {str_printf(a, "%" PRId64, id), str_from(done), url};

    if (cli_is_terminal())
        printf("%s %" PRId64 ": %s %.*s\n", kind, id, done, STR_ARG(cli_plain(a, url)));
    else
        cli_print_cells(a, cells, ARRAY_LEN(cells));
}

/* ---- JSON and documents ---- */

typedef void escape_fn(struct buf *out, uint32_t cp);

static void escape_json(struct buf *out, uint32_t cp)
{
    if (cp < 0x10000)
        buf_printf(out, "\\u%04x", cp);
    else
        buf_printf(out, "\\u%04x\\u%04x", 0xD800 + ((cp - 0x10000) >> 10),
                   0xDC00 + ((cp - 0x10000) & 0x3FF));
}

static void escape_markup(struct buf *out, uint32_t cp)
{
    buf_printf(out, "&#x%x;", cp);
}

/* Such a character stands in a string, or in the text of an element. */
static void print_escaped(struct str text, escape_fn *escape)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    while (text.len > 0) {
        uint32_t cp;
        size_t n = visible_next(text, &cp);

        if (visible_is(cp) || cp == '\t' || cp == '\n' || cp == '\r')
            buf_append(&out, text.ptr, n);
        else
            escape(&out, cp);
        text = str_slice(text, n, text.len);
    }
    fwrite(out.ptr, 1, out.len, stdout); /* cli_finish() checks for errors */
}

void cli_print_json(const struct value *v)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);

    json_write(&text, v);
    buf_putc(&text, '\n');
    print_escaped(buf_view(&text), escape_json);
}

void cli_print_json_text(struct str text)
{
    print_escaped(text, escape_json);
}

void cli_print_document(struct str text, struct str media_type)
{
    print_escaped(text, str_find(media_type, STR("json")) >= 0 ? escape_json : escape_markup);
    if (!str_ends(text, STR("\n")))
        putchar('\n');
}

void cli_complete(struct arena *a, struct value *dict, const char *names)
{
    for (struct str rest = str_from(names); !str_is_null(rest);) {
        struct str name = str_split(&rest, '|');

        if (value_get(dict, name) == NULL)
            value_set(a, dict, name, value_null(a));
    }
}

void cli_print_list(struct arena *a, const struct value *list, const char *names)
{
    struct value *out = value_list(a);

    for (size_t i = 0; i < value_len(list); i++) {
        cli_complete(a, value_at(list, i), names);
        value_push(a, out, value_at(list, i));
    }
    cli_print_json(out);
}

/* ---- progress ---- */

static _Atomic bool has_progress; /* a line stands there */

void cli_progress(const char *fmt, ...)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str line;
    va_list ap;

    if (isatty(STDERR_FILENO) != 1 || is_dumb())
        return;
    va_start(ap, fmt);
    line = cli_plain(&a, str_from(arena_vprintf(&a, NULL, fmt, ap)));
    va_end(ap);
    line = cut(&a, line, width_at(STDERR_FILENO) - 1); /* in the last column the cursor may go on */
    fprintf(stderr, "\r\033[K%.*s", STR_ARG(line));
    fflush(stderr);
    has_progress = true;
}

void cli_progress_end(void)
{
    if (has_progress)
        fputs("\r\033[K", stderr);
    has_progress = false;
}
