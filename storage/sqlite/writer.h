/* storage/sqlite/writer.h - the storer's connection: claims the file, carries out operations, keeps
 * the write-ahead log short, and notices when a file is lost. */
#pragma once

#include "storage/engine.h"

/* As engine.open_writer. */
enum rc writer_open(const char *address, bool check, bool is_shared, struct db **out,
                    struct err *err) NODISCARD;

/* What db_close() does with the connection of a writer: before it is closed, and after. */
struct sqlite_writer;
void writer_end(struct db *db);
void writer_free(struct sqlite_writer **wp);
