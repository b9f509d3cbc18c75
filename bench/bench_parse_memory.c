/* bench/bench_parse_memory.c - peak memory of parsing one large document.
 *
 * bench_parse_memory feedmill|sax rss|atom MEGABYTES ENTRY_LEN prints two numbers: the bytes of the
 * document, and the growth of the resident memory of this process at its peak while it was parsed.
 * The document was in memory before, so it is not counted. Linux only. */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/digest.h"
#include "base/mem.h"
#include "documents.h"
#include "feed/read/parse.h"
#include "sax.h"

/* Returns a line of /proc/self/status in bytes. */
static size_t status(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    size_t kib = 0, len = strlen(name);

    ASSERT(f != NULL);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            kib = strtoul(line + len + 1, NULL, 10);
    fclose(f);
    return kib * 1024;
}

/* Reset the peak to the present resident memory (proc(5), clear_refs). */
static void forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);

    ASSERT(fd >= 0 && write(fd, "5", 1) == 1);
    close(fd);
}

static void parse(struct str document)
{
    struct arena a = ARENA_INIT;
    struct parse_input in = {.body = document, .url = STR("http://example.org/feed")};
    struct feed_doc *doc = feed_parse(&a, &in);

    ASSERT(doc->n_entries > 0 && !doc->bozo);
    arena_release(&a);
}

int main(int argc, char **argv)
{
    struct buf made = BUF_INIT(BUF_ANY);
    struct str document;
    size_t before, len, entry_len;
    unsigned n;

    if (argc != 5) {
        fprintf(stderr, "usage: bench_parse_memory feedmill|sax rss|atom MEGABYTES ENTRY_LEN\n");
        return 2;
    }
    digest_init();
    sax_init();
    entry_len = strtoul(argv[4], NULL, 10);
    n = (unsigned)(strtoul(argv[3], NULL, 10) * 1000000 / entry_len);
    (argv[2][0] == 'r' ? documents_rss : documents_atom)(&made, 1, n, n, entry_len);
    len = made.len;
    document.ptr = memcpy(mem_alloc(len), made.ptr, len);
    document.len = len;
    buf_release(&made);
    malloc_trim(0);
    forget_peak();
    before = status("VmRSS");
    if (argv[1][0] == 'f')
        parse(document);
    else
        (void)sax_read(document);
    printf("%zu\t%zu\n", len, status("VmHWM") - before);
    return 0;
}
