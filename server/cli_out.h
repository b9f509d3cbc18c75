/* server/cli_out.h - what commands print: tables for eyes or for programs, and JSON.
 *
 * On a terminal: columns that are aligned and cut to its width, colours by meaning, relative times.
 * Into a pipe or a file: no head, a line for each row with tabs between its cells, everything in full,
 * times as RFC 3339. Texts of feeds lose what is not seen (base/visible.h). The main thread. */
#pragma once

#include "base/arena.h"
#include "model/value.h"

enum cli_cell {
    CELL_TEXT,   /* cut if there is no room */
    CELL_NUMBER, /* on the right */
    CELL_SPAN,   /* seconds, on the right; on a terminal in the unit that fits */
    CELL_NAME,   /* a short word, never cut */
    CELL_STATE,  /* the same, coloured by what it means */
    CELL_TIME,   /* RFC 3339; null: never */
};

struct cli_column {
    const char *head;
    enum cli_cell kind;
    const char *key; /* of the value in a row; NULL: cells are given as texts */
    int extra;       /* a narrow terminal goes without it: the highest first, of equal ones the last; 0: never */
};

struct cli_table;
struct cli_table *cli_table_new(struct arena *a, const struct cli_column *columns, size_t n);

/* Add a row: one text for each column; null: "-". Texts are copied where they change. */
void cli_table_add(struct cli_table *t, const struct str *cells);

/* Add a row of the members that the columns name. */
void cli_table_add_value(struct cli_table *t, const struct value *row);

/* Add a line under the last row, for a terminal only: a program has it in a column. */
void cli_table_note(struct cli_table *t, const char *what, struct str text);

void cli_table_print(const struct cli_table *t);

/* A part of a line for eyes that is not a row of a table. */
struct cli_piece {
    enum cli_cell kind;
    struct str text; /* null: "-" */
    size_t width;    /* at least so wide, unless it is the last one */
};

/* Print a line for a terminal, cut to its width. `indent`: spaces in front. */
void cli_print_pieces(struct arena *a, size_t indent, const struct cli_piece *pieces, size_t n);

/* Print a line for a program: cells with tabs between them. An empty text: "-". */
void cli_print_cells(struct arena *a, const struct str *cells, size_t n);

/* Print what was done to one thing: "subscription 3: ended URL"; for a program the number, the word and the address. */
void cli_print_deed(struct arena *a, const char *kind, int64_t id, const char *done, struct str url);

/* Is standard output a terminal? */
bool cli_is_terminal(void);

/* A time for this output: relative on a terminal. `text`: RFC 3339; null or "-": "-". Arena. */
const char *cli_time(struct arena *a, struct str text);

/* Print a value as one line of JSON, with escapes for characters that are not seen. */
void cli_print_json(const struct value *v);
void cli_print_json_text(struct str text); /* the same of a part of the text */

/* Print a document of this media type, as it is but for characters that are not seen, which it gets as
 * escapes of JSON or of markup. */
void cli_print_document(struct str text, struct str media_type);

/* Add the members that are missing ("a|b|c"), as null. */
void cli_complete(struct arena *a, struct value *dict, const char *names);

/* Print a list of objects as JSON, each with at least these members. */
void cli_print_list(struct arena *a, const struct value *list, const char *names);

/* A line on standard error that the next one replaces, while something goes on; only if that is a
 * terminal. cli_progress_end() takes it away. */
void cli_progress(const char *fmt, ...) PRINTF_LIKE(1, 2);
void cli_progress_end(void);
