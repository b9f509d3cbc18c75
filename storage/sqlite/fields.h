/* storage/sqlite/fields.h - a table's columns as one list: for SELECT, for reading the row, for
 * UPDATE and for the values it binds.
 *
 * The list is a macro FIELDS(X) of rows X(KIND, column, member). `member` is what the column
 * becomes in the struct that `row` points to, in the function that uses the list; for ..._SECRET,
 * the struct that `secret` points to. A column is named nowhere else, so there is only one order of
 * columns. storage/tables.h says what the kinds are. Only files of this folder that run statements
 * include this header.
 */
#pragma once

#include "storage/sqlite/stmt.h"

/* "f.title, " and "title = ?, ": put something after the last one. */
#define FIELD_SELECT_E(kind, column, member) "e." #column ", "
#define FIELD_SELECT_F(kind, column, member) "f." #column ", "
#define FIELD_SELECT_U(kind, column, member) ", u." #column
#define FIELD_SELECT(kind, column, member) #column ", "
#define FIELD_SET(kind, column, member) #column " = ?, "
#define FIELD_VALUE(kind, column, member) "?, "

/* The letter and the value for stmt_run(). */
#define FIELD_LETTER(kind, column, member) FIELD_LETTER_##kind
#define FIELD_LETTER_INT "i"
#define FIELD_LETTER_SEQ "i"
#define FIELD_LETTER_EVENT_TIME "i"
#define FIELD_LETTER_VERSION "i"
#define FIELD_LETTER_TIME "t"
#define FIELD_LETTER_TEXT "s"
#define FIELD_LETTER_EMPTY "e"
#define FIELD_LETTER_OCTETS "s"
#define FIELD_LETTER_DIGEST "h"
#define FIELD_BIND(kind, column, member) FIELD_BIND_##kind(row->member),
#define FIELD_BIND_SECRET(kind, column, member) FIELD_BIND_##kind(secret->member),
#define FIELD_BIND_INT(member) (int64_t)(member)
#define FIELD_BIND_SEQ(member) (member)
#define FIELD_BIND_EVENT_TIME(member) (member)
#define FIELD_BIND_VERSION(member) (member)
#define FIELD_BIND_TIME(member) (member)
#define FIELD_BIND_TEXT(member) (member)
#define FIELD_BIND_EMPTY(member) (member)
#define FIELD_BIND_OCTETS(member) (member)
#define FIELD_BIND_DIGEST(member) (member)

/* Reads column `i` of statement `st`, and counts on; strings go into arena `a`. */
#define FIELD_READ(kind, column, member) FIELD_READ_##kind(row->member);
#define FIELD_READ_SECRET(kind, column, member) FIELD_READ_##kind(secret->member);
#define FIELD_READ_INT(member) (member) = (__typeof__(member))col_int(st, i++)
#define FIELD_READ_SEQ(member) (member) = col_int(st, i++)
#define FIELD_READ_EVENT_TIME(member) (member) = col_int(st, i++)
#define FIELD_READ_VERSION(member) (member) = col_int(st, i++)
#define FIELD_READ_TIME(member) (member) = col_time(st, i++)
#define FIELD_READ_TEXT(member) (member) = col_str(st, i++, a)
#define FIELD_READ_EMPTY(member) (member) = col_null_if_empty(col_str(st, i++, a))
#define FIELD_READ_OCTETS(member) (member) = col_str(st, i++, a)
#define FIELD_READ_DIGEST(member) col_hash(st, i++, (member))

static inline struct str col_null_if_empty(struct str s)
{
    return s.len == 0 ? STR_NULL : s;
}
