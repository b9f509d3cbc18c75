/* base/log.h - logfmt lines on standard error: time, level, module, event, key=value.
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

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines above this level are dropped; the default is info. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_line(enum log_level level, const char *module, const char *event, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* `s` as a quoted, escaped value of at most 200 bytes. The result lives in a ring of 8 per thread:
 * use it in the same statement. */
const char *log_quote(struct str s);

#define log_error(module, event, ...) log_line(LOG_LEVEL_ERROR, module, event, __VA_ARGS__)
#define log_warn(module, event, ...) log_line(LOG_LEVEL_WARN, module, event, __VA_ARGS__)
#define log_info(module, event, ...) log_line(LOG_LEVEL_INFO, module, event, __VA_ARGS__)
#define log_debug(module, event, ...)                                                              \
    do {                                                                                           \
        if (log_get_level() >= LOG_LEVEL_DEBUG)                                                    \
            log_line(LOG_LEVEL_DEBUG, module, event, __VA_ARGS__);                                 \
    } while (0)
