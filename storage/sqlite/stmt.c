/* storage/sqlite/stmt.c - prepared statements, and the errors of SQLite. */
#include "storage/sqlite/stmt.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "storage/sqlite/db_priv.h"

/* Did the writing connection find no room on the disk? SQLite itself takes only ENOSPC for that.
 * `why`: errno after the failure. */
static bool has_no_room(struct db *db, int why)
{
    int code = sqlite3_extended_errcode(OWN(db)->sq);

    return OWN(db)->writer != NULL &&
           ((code & 0xff) == SQLITE_FULL ||
            (code == SQLITE_IOERR_WRITE && (why == EFBIG || why == EDQUOT)));
}

/* Damage is logged here, because the errors of all statements come here, and the operator must
 * know.
 */
enum rc db_fail(struct db *db, struct err *err)
{
    int why = errno, code = sqlite3_errcode(OWN(db)->sq) & 0xff;

    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        stats_inc(STAT_store_damaged_total);
        log_error("storage", "database_damaged", "error=%s effect=request_failed",
                  log_quote(str_from(sqlite3_errmsg(OWN(db)->sq))));
    }
    if (has_no_room(db, why))
        stats_lasts(STAT_store_full_seconds, true);
    return err_set(err, RC_IO, "database: %s", sqlite3_errmsg(OWN(db)->sq));
}

enum rc db_script(struct db *db, const char *sql, struct err *err)
{
    return sqlite3_exec(OWN(db)->sq, sql, NULL, NULL, NULL) == SQLITE_OK ? RC_OK : db_fail(db, err);
}

enum rc db_number(struct db *db, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *st = NULL;
    enum rc rc = RC_OK;

    if (sqlite3_prepare_v2(OWN(db)->sq, sql, -1, &st, NULL) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_ROW)
        rc = db_fail(db, err);
    else
        *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc;
}

static sqlite3_stmt *prepared(struct db *db, const char *sql, struct err *err)
{
    size_t i = ((uintptr_t)sql >> 3) * 0x9E3779B1u % N_SLOTS;

    while (OWN(db)->slots[i].sql != NULL && OWN(db)->slots[i].sql != sql)
        i = (i + 1) % N_SLOTS;
    if (OWN(db)->slots[i].sql == sql)
        return OWN(db)->slots[i].st;
    ASSERT(OWN(db)->n_statements <
           N_SLOTS / 2); /* statements are constants, so there are only so many */
    if (sqlite3_prepare_v3(OWN(db)->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &OWN(db)->slots[i].st,
                           NULL) != SQLITE_OK) {
        db_fail(db, err);
        return NULL;
    }
    OWN(db)->slots[i].sql = sql;
    OWN(db)->n_statements++;
    return OWN(db)->slots[i].st;
}

static int bind_text(sqlite3_stmt *st, int i, struct str s)
{
    return sqlite3_bind_text64(st, i, s.len == 0 ? "" : s.ptr, s.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_one(sqlite3_stmt *st, int i, char kind, va_list *ap)
{
    int64_t n;
    struct str s;
    const unsigned char *h;

    switch (kind) {
    case 'i':
        return sqlite3_bind_int64(st, i, va_arg(*ap, int64_t));
    case 't':
        n = va_arg(*ap, int64_t);
        return n == TIME_UNKNOWN ? sqlite3_bind_null(st, i) : sqlite3_bind_int64(st, i, n);
    case 's':
        s = va_arg(*ap, struct str);
        return str_is_null(s) ? sqlite3_bind_null(st, i) : bind_text(st, i, s);
    case 'e':
        return bind_text(st, i, va_arg(*ap, struct str));
    case 'b':
        s = va_arg(*ap, struct str);
        return str_is_null(s) ? sqlite3_bind_null(st, i)
                              : sqlite3_bind_blob64(st, i, s.ptr, s.len, SQLITE_STATIC);
    default:
        ASSERT(kind == 'h');
        h = va_arg(*ap, const unsigned char *);
        return h == NULL ? sqlite3_bind_null(st, i)
                         : sqlite3_bind_blob(st, i, h, 16, SQLITE_STATIC);
    }
}

static sqlite3_stmt *start(struct db *db, struct err *err, const char *sql, const char *kinds,
                           va_list *ap)
{
    sqlite3_stmt *st = prepared(db, sql, err);

    if (st == NULL)
        return NULL;
    ASSERT(!sqlite3_stmt_busy(st));
    ASSERT(sqlite3_bind_parameter_count(st) == (int)strlen(kinds));
    for (int i = 0; kinds[i] != '\0'; i++) {
        if (bind_one(st, i + 1, kinds[i], ap) != SQLITE_OK) {
            db_fail(db, err);
            return NULL;
        }
    }
    return st;
}

sqlite3_stmt *stmt_start(struct db *db, struct err *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *st;
    va_list ap;

    va_start(ap, kinds);
    st = start(db, err, sql, kinds, &ap);
    va_end(ap);
    return st;
}

void stmt_end(sqlite3_stmt *st)
{
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
}

int stmt_next(struct db *db, sqlite3_stmt *st, struct err *err)
{
    int got = sqlite3_step(st);

    if (got == SQLITE_ROW)
        return 1;
    if (got != SQLITE_DONE)
        db_fail(db, err);
    stmt_end(st);
    return got == SQLITE_DONE ? 0 : -1;
}

enum rc stmt_run(struct db *db, struct err *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *st;
    va_list ap;
    int got;

    va_start(ap, kinds);
    st = start(db, err, sql, kinds, &ap);
    va_end(ap);
    if (st == NULL)
        return RC_IO;
    while ((got = stmt_next(db, st, err)) > 0)
        ;
    return got == 0 ? RC_OK : RC_IO;
}

/* Read the first row. *found: there is one; then the caller ends the statement by stmt_end(). */
static enum rc first_row(struct db *db, sqlite3_stmt *st, bool *found, struct err *err)
{
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    *found = got > 0;
    return got < 0 ? RC_IO : RC_OK;
}

enum rc stmt_number(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err)
{
    bool found;
    enum rc rc = first_row(db, st, &found, err);

    *out = found ? col_int(st, 0) : 0;
    if (found)
        stmt_end(st);
    return rc;
}

enum rc stmt_time(struct db *db, sqlite3_stmt *st, int64_t *out, struct err *err)
{
    bool found;
    enum rc rc = first_row(db, st, &found, err);

    *out = found ? col_time(st, 0) : TIME_UNKNOWN;
    if (found)
        stmt_end(st);
    return rc;
}

enum rc stmt_text(struct db *db, sqlite3_stmt *st, struct arena *a, struct str *out,
                  struct err *err)
{
    bool found;
    enum rc rc = first_row(db, st, &found, err);

    *out = found ? col_str(st, 0, a) : STR_NULL;
    if (found)
        stmt_end(st);
    return rc;
}

enum rc stmt_any(struct db *db, sqlite3_stmt *st, bool *out, struct err *err)
{
    enum rc rc = first_row(db, st, out, err);

    if (*out)
        stmt_end(st);
    return rc;
}

int64_t stmt_changes(struct db *db)
{
    return sqlite3_changes64(OWN(db)->sq);
}

int64_t stmt_rowid(struct db *db)
{
    return sqlite3_last_insert_rowid(OWN(db)->sq);
}

struct str col_str(sqlite3_stmt *st, int i, struct arena *a)
{
    const unsigned char *p = sqlite3_column_text(st, i);
    size_t n = (size_t)sqlite3_column_bytes(st, i);

    return p == NULL ? STR_NULL : str_of(arena_copy(a, p, n), n);
}

struct str col_bytes(sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(st, i);

    return p == NULL ? STR_NULL : str_of(p, (size_t)sqlite3_column_bytes(st, i));
}

int64_t col_time(sqlite3_stmt *st, int i)
{
    return sqlite3_column_type(st, i) == SQLITE_NULL ? TIME_UNKNOWN : sqlite3_column_int64(st, i);
}

void col_hash(sqlite3_stmt *st, int i, unsigned char out[16])
{
    const void *p = sqlite3_column_blob(st, i);

    if (p != NULL && sqlite3_column_bytes(st, i) == 16)
        memcpy(out, p, 16);
    else
        memset(out, 0, 16);
}
