/* base/log.c - one write(2) per line; a small table of recent events does the throttling. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_MAX_LEN 2048
#define LINE_END 128 /* room for what follows the text of the line */
#define WINDOW_MS 10000
#define WINDOW_LINES 20
#define KINDS 64

static _Atomic int level_max = LOG_LEVEL_INFO;
static _Atomic int format_now = LOG_FORMAT_TEXT;
static atomic_bool is_journal;
static _Thread_local char request[LOG_REQUEST_MAX + 1];
static const char *const level_names[] = {"error", "warn", "info", "debug"};

struct line_kind {
    const char *module, *event;
    int64_t since_ms;
    unsigned seen, dropped;
};
static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by kinds_lock; by hash of the two texts. */
static struct line_kind kinds[KINDS];

void log_set_level(enum log_level level)
{
    atomic_store(&level_max, (int)level);
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load_explicit(&level_max, memory_order_relaxed);
}

void log_set_format(enum log_format format)
{
    atomic_store(&format_now, (int)format);
}

enum log_format log_get_format(void)
{
    return (enum log_format)atomic_load_explicit(&format_now, memory_order_relaxed);
}

void log_find_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat is;

    if (stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
        fstat(STDERR_FILENO, &is) == 0)
        atomic_store(&is_journal, is.st_dev == device && is.st_ino == inode);
}

void log_set_request(struct str id)
{
    size_t len = id.len < LOG_REQUEST_MAX ? id.len : LOG_REQUEST_MAX;

    if (len > 0)
        memcpy(request, id.ptr, len);
    request[len] = '\0';
}

static unsigned text_hash(const char *s, unsigned h)
{
    while (*s != '\0')
        h = h * 31 + (unsigned char)*s++;
    return h;
}

/* May this line be printed? Sets *dropped_out to the number of lines of its kind that were not
 * printed since the last one. */
static bool may_print(const char *module, const char *event, unsigned *dropped_out)
{
    struct line_kind *s = &kinds[text_hash(event, text_hash(module, 7)) % KINDS];
    int64_t now = clock_mono_ms();
    bool ok;

    *dropped_out = 0;
    pthread_mutex_lock(&kinds_lock);
    if (s->module == NULL || strcmp(s->module, module) != 0 || strcmp(s->event, event) != 0 ||
        now - s->since_ms > WINDOW_MS) {
        if (s->module != NULL && strcmp(s->module, module) == 0 && strcmp(s->event, event) == 0)
            *dropped_out = s->dropped;
        *s = (struct line_kind){module, event, now, 0, 0};
    }
    ok = ++s->seen <= WINDOW_LINES;
    if (!ok)
        s->dropped++;
    pthread_mutex_unlock(&kinds_lock);
    return ok;
}

/* Write a line, and a line feed, in one call. */
static void put_line(enum log_level level, const char *line, size_t len)
{
    static const int priorities[] = {3, 4, 6, 7}; /* of syslog(3), by level */
    char out[2 * LINE_MAX_LEN];
    size_t at = 0;

    if (atomic_load(&is_journal))
        at = (size_t)snprintf(out, sizeof out, "<%d>", priorities[level]);
    if (log_get_format() == LOG_FORMAT_JSON) {
        at += log_write_json(out + at, sizeof out - at - 1, str_of(line, len));
    } else {
        memcpy(out + at, line, len);
        at += len;
    }
    out[at++] = '\n';
    if (write(STDERR_FILENO, out, at) < 0)
        return; /* there is nowhere to report this */
}

void log_line(enum log_level level, const char *module, const char *event, const char *fmt, ...)
{
    char line[LINE_MAX_LEN], when[CLOCK_TEXT];
    unsigned dropped = 0;
    va_list ap;
    size_t len;
    int n;

    if (level > log_get_level() ||
        (level != LOG_LEVEL_DEBUG && !may_print(module, event, &dropped)))
        return;
    clock_rfc3339_us(clock_now_us(), when);
    n = snprintf(line, sizeof line, "time=%s level=%s module=%s event=%s", when, level_names[level],
                 module, event);
    len = (size_t)n;
    if (fmt[0] != '\0') {
        line[len++] = ' ';
        va_start(ap, fmt);
        n = vsnprintf(line + len, sizeof line - len - LINE_END, fmt, ap);
        va_end(ap);
        len += n < 0                                      ? 0
               : (size_t)n < sizeof line - len - LINE_END ? (size_t)n
                                                          : sizeof line - len - LINE_END - 1;
    }
    if (request[0] != '\0')
        len += (size_t)snprintf(line + len, sizeof line - len - 1, " request=%s", request);
    if (dropped > 0)
        len += (size_t)snprintf(line + len, sizeof line - len - 1, " not_shown=%u", dropped);
    put_line(level, line, len);
}

size_t log_quote_into(char *out, size_t size, struct str s)
{
    size_t o = 0;

    out[o++] = '"';
    for (size_t i = 0; i < s.len && o + 6 < size; i++) { /* "\xNN", quote, end */
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\') {
            out[o++] = '\\';
            out[o++] = (char)c;
        } else if (c < 0x20 || c == 0x7F) {
            o += (size_t)snprintf(out + o, 5, "\\x%02x", c);
        } else {
            out[o++] = (char)c;
        }
    }
    out[o++] = '"';
    out[o] = '\0';
    return o;
}

const char *log_quote(struct str s)
{
    static _Thread_local char ring[8][256];
    static _Thread_local unsigned next;
    char *out = ring[next++ % 8];

    log_quote_into(out, sizeof ring[0], str_slice(s, 0, 200));
    return out;
}
