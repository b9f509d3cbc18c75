/* base/log.c - one write(2) per line; a small table of recent events does the throttling. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_MAX_LEN 2048
#define WINDOW_MS 10000
#define WINDOW_LINES 20
#define KINDS 64

static _Atomic int level_max = LOG_LEVEL_INFO;
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

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load_explicit(&level_max, memory_order_relaxed);
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
        n = vsnprintf(line + len, sizeof line - len - 32, fmt, ap);
        va_end(ap);
        len += n < 0 ? 0 : (size_t)n < sizeof line - len - 32 ? (size_t)n : sizeof line - len - 33;
    }
    if (dropped > 0)
        len += (size_t)snprintf(line + len, sizeof line - len - 1, " not_shown=%u", dropped);
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* there is nowhere to report this */
}

const char *log_quote(struct str s)
{
    static _Thread_local char ring[8][256];
    static _Thread_local unsigned next;
    char *out = ring[next++ % 8];
    size_t o = 0;

    out[o++] = '"';
    for (size_t i = 0; i < s.len && i < 200 && o < 240; i++) {
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
    return out;
}
