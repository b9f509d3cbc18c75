/* storage/sqlite/shape.h - what tables and indexes a file has, without regard to how and in which
 * order they were written down: a file that was migrated has the shape of a new one. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct db;

/* A statement that gives a row for each part of the shape: the kind of object ("table", "index"), its
 * name, and the part as text. */
#define SHAPE_ROWS                                                                                 \
    "SELECT m.type AS kind, m.name AS name, 'column ' || t.name || ' ' || t.type ||"               \
    " iif(t.\"notnull\", ' NOT NULL', '') || iif(t.pk > 0, ', part ' || t.pk || ' of its key', '')"  \
    " || coalesce(', default ' || t.dflt_value, '') AS part"                                       \
    " FROM sqlite_schema m JOIN pragma_table_info(m.name) t WHERE m.type = 'table'"                \
    " UNION ALL SELECT m.type, m.name, f.\"from\" || ' refers to ' || f.\"table\" || ', ' ||"       \
    " f.on_delete FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f"                     \
    " WHERE m.type = 'table'"                                                                      \
    " UNION ALL SELECT m.type, m.name, 'of ' || m.tbl_name || ': ' || coalesce(x.name, '?') ||"    \
    " iif(x.\"desc\", ' DESC', '') || ', part ' || x.seqno || iif(m.sql LIKE '% WHERE %',"          \
    " ', of some rows', '') FROM sqlite_schema m JOIN pragma_index_xinfo(m.name) x ON x.key"       \
    " WHERE m.type = 'index'"

/* A statement that gives what a file lacks of the shape ?1, as text: an object, or a part of one.
 * What it has beside that is nobody's business. */
#define SHAPE_LACKS                                                                                \
    "SELECT DISTINCT l.kind || ' ' || l.name || iif(m.name IS NULL, ': it is missing', ': it lacks ' || l.part)" \
    " FROM (SELECT json_extract(value, '$[0]') AS kind, json_extract(value, '$[1]') AS name,"      \
    " json_extract(value, '$[2]') AS part FROM json_each(?1)"                                      \
    " EXCEPT SELECT kind, name, part FROM (" SHAPE_ROWS ")) l"                                     \
    " LEFT JOIN sqlite_schema m ON m.type = l.kind AND m.name = l.name"

/* The shape of a new file, for SHAPE_LACKS. Arena. */
enum rc shape_of_new(struct arena *a, struct str *out, struct err *err) NODISCARD;
