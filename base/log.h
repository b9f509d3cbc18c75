/* base/log.h - lines on standard error: time, level, module, event, key=value. They are logfmt, or
 * JSON objects with the same members (log_set_format()).
 *
 * error = someone must act; warn = something does not work fully, and the line says what happens
 * instead; info = life cycle; debug = anything. A function logs or returns an error, never both.
 * Foreign text goes through log_quote(). A line that repeats (same module and event) more than 20
 * times in 10 s is counted instead of printed, and the count is printed after. Secrets are never
 * formatted. Any thread.
 */
#pragma once

#include "base/compiler.h"
#include "base/str.h"

enum log_level {
    LOG_LEVEL_NONE = -1,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

/* Lines above this level are dropped; the default is info. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
const char *log_level_name(enum log_level level);

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
void log_set_format(enum log_format format);
enum log_format log_get_format(void);

/* If standard error leads to the journal of systemd ($JOURNAL_STREAM), lines begin with their
 * priority from now on, as "<3>" (sd-daemon(3)). */
void log_find_journal(void);

/* Until this is called again, lines of this thread have this member `request`; null: none. The text
 * is cut at LOG_REQUEST_MAX bytes, and copied. */
#define LOG_REQUEST_MAX 64
void log_set_request(struct str id);

/* Write a line of logfmt, without its line feed, as a JSON object. What does not fit into `size`
 * bytes is left out, member by member. Returns the length. Pure. */
size_t log_write_json(char *out, size_t size, struct str logfmt);

void log_line(enum log_level level, const char *module, const char *event, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* `s` as a quoted, escaped value of at most 200 bytes. The result lives in a ring of 8 per thread:
 * use it in the same statement. */
const char *log_quote(struct str s);

/* The same into `out`, as much as fits into `size` bytes (at least 3, and the end of the text).
 * Returns the length. */
size_t log_quote_into(char *out, size_t size, struct str s);

#define log_error(module, event, ...) log_line(LOG_LEVEL_ERROR, module, event, __VA_ARGS__)
#define log_warn(module, event, ...) log_line(LOG_LEVEL_WARN, module, event, __VA_ARGS__)
#define log_info(module, event, ...) log_line(LOG_LEVEL_INFO, module, event, __VA_ARGS__)
#define log_debug(module, event, ...)                                                              \
    do {                                                                                           \
        if (log_get_level() >= LOG_LEVEL_DEBUG)                                                    \
            log_line(LOG_LEVEL_DEBUG, module, event, __VA_ARGS__);                                 \
    } while (0)
