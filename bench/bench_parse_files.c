/* bench/bench_parse_files.c - an engine of bench/parse: parses sets of files again and again.
 *
 * bench_parse_files classify LIST: print for each file whether libxml2 finds it well-formed
 * bench_parse_files ENGINE LIST: answer requests on standard input, see peers/README.md
 *
 * LIST is a file of lines SET TAB PATH. Engines: feedmill, feedmill-raw (HTML as it was written),
 * sax (libxml2's push parser with handlers that do nothing). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/mem.h"
#include "feed/read/parse.h"
#include "rounds.h"
#include "sax.h"

struct file {
    struct str set, path, body;
};

struct files {
    struct file *list;
    size_t n, cap;
    struct arena a;
};

/* Parse the document. True: an entry was found. */
typedef bool engine_fn(struct str body);

static bool parse(struct str body, bool raw_html)
{
    struct arena a = ARENA_INIT;
    struct parse_input in = {
        .body = body, .url = STR("http://example.org/feed"), .raw_html = raw_html};
    bool found = feed_parse(&a, &in)->n_entries > 0;

    arena_release(&a);
    return found;
}

static bool feedmill(struct str body)
{
    return parse(body, false);
}

static bool feedmill_raw(struct str body)
{
    return parse(body, true);
}

static bool sax(struct str body)
{
    (void)sax_read(body);
    return true; /* it does not know entries */
}

static const struct engine {
    const char *name;
    engine_fn *run;
} engines[] = {{"feedmill", feedmill}, {"feedmill-raw", feedmill_raw}, {"sax", sax}};

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

static struct str read_file(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    struct str s;
    long n;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) < 0)
        fail(path);
    rewind(f);
    s.len = (size_t)n;
    s.ptr = arena_alloc(a, s.len + 1);
    if (fread((char *)(uintptr_t)s.ptr, 1, s.len, f) != s.len)
        fail(path);
    fclose(f);
    return s;
}

static void read_list(struct files *fs, const char *path)
{
    struct str rest = read_file(&fs->a, path), line;

    while (rest.len > 0) {
        struct file f;

        line = str_split(&rest, '\n');
        f.set = str_split(&line, '\t');
        if (line.len == 0)
            continue;
        f.path = line;
        f.body = read_file(&fs->a, str_z(&fs->a, line));
        fs->list = mem_grow(fs->list, &fs->cap, fs->n + 1, sizeof f);
        fs->list[fs->n++] = f;
    }
}

/* Parse all files of a set once. Returns how many had no entry. */
static size_t pass(const struct files *fs, struct str set, engine_fn *run)
{
    size_t n = 0;

    for (size_t i = 0; i < fs->n; i++)
        if (str_eq(fs->list[i].set, set))
            n += !run(fs->list[i].body);
    return n;
}

static void answer(const struct files *fs, struct str request, engine_fn *run)
{
    struct str what = str_split(&request, ' '), set = str_split(&request, ' ');
    double seconds = strtod(what.ptr, NULL), from, used = 0;
    unsigned passes = 0;

    if (str_eqz(what, "empty")) {
        printf("%zu\n", pass(fs, set, run));
        return;
    }
    from = rounds_cpu();
    do {
        (void)pass(fs, set, run);
        passes++;
        used = rounds_cpu() - from;
    } while (used < seconds);
    printf("%u %.9f\n", passes, used);
}

int main(int argc, char **argv)
{
    struct files fs = {.a = ARENA_INIT};
    char line[256];

    if (argc != 3) {
        fprintf(stderr, "usage: bench_parse_files classify|ENGINE LIST\n");
        return 2;
    }
    digest_init();
    sax_init();
    read_list(&fs, argv[2]);
    if (strcmp(argv[1], "classify") == 0) {
        for (size_t i = 0; i < fs.n; i++)
            printf("%s\t%.*s\n", sax_read(fs.list[i].body) ? "well" : "ill",
                   STR_ARG(fs.list[i].path));
        return 0;
    }
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        if (strcmp(argv[1], engines[i].name) != 0)
            continue;
        printf("ready\n");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin) != NULL) {
            answer(&fs, str_trim(str_from(line)), engines[i].run);
            fflush(stdout);
        }
        return 0;
    }
    fprintf(stderr, "bench_parse_files: there is no engine %s\n", argv[1]);
    return 2;
}
