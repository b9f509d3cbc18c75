/* server/config_file.c - reads the file as a whole, and then goes through its lines. */
#include "server/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"

static enum rc read_whole(const char *path, struct buf *out, struct err *err)
{
    FILE *file = fopen(path, "re");
    char piece[4096];
    size_t n;
    int failed;

    if (file == NULL)
        return err_set(err, RC_INPUT, "config file %s cannot be read: %s", path, strerror(errno));
    while (buf_ok(out) && (n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_append(out, piece, n);
    failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed != 0)
        return err_set(err, RC_INPUT, "config file %s cannot be read: %s", path, strerror(failed));
    if (!buf_ok(out))
        return err_set(err, RC_INPUT, "config file %s is longer than %d bytes", path,
                       CONFIG_FILE_MAX);
    return RC_OK;
}

static struct str without_comment(struct str value)
{
    static const char blanks[] = " \t", marks[] = ";#";

    value = str_trim(value);
    for (size_t i = 1; i < value.len; i++)
        if (strchr(marks, value.ptr[i]) != NULL && strchr(blanks, value.ptr[i - 1]) != NULL)
            return str_trim(str_slice(value, 0, i));
    return value;
}

enum rc config_file_read(const char *path, config_line_fn *fn, void *ctx, struct err *err)
{
    AUTO(buf_release) struct buf text = BUF_INIT(CONFIG_FILE_MAX);
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str rest, line;
    enum rc rc = read_whole(path, &text, err);

    rest = buf_view(&text);
    if (str_starts(rest, STR("\xEF\xBB\xBF"))) /* a byte order mark */
        rest = str_slice(rest, 3, rest.len);
    for (int n = 1; rc == RC_OK && rest.len > 0; n++) {
        size_t at = 0;

        line = str_trim(str_split(&rest, '\n'));
        if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';')
            continue;
        if (line.ptr[0] == '[')
            return err_set(
                err, RC_INPUT,
                "config file %s: line %d: sections are not supported, only lines 'name = "
                "value'",
                path, n);
        while (at < line.len && line.ptr[at] != '=' && line.ptr[at] != ':')
            at++;
        if (at == 0 || at == line.len || str_chr(line, '\0') >= 0)
            return err_set(err, RC_INPUT, "config file %s: line %d is not 'name = value'", path, n);
        rc = fn(ctx, n, str_z(&a, str_trim(str_slice(line, 0, at))),
                str_z(&a, without_comment(str_slice(line, at + 1, line.len))), err);
    }
    return rc;
}
