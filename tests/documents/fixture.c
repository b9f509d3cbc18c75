#include "tests/documents/fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "feed/text/json.h"

#define GOLDEN STR(".want.json")

static struct str *paths; /* nftw() has no context */
static size_t n_paths, paths_cap;

static int note_path(const char *path, const struct stat *st UNUSED, int kind,
                     struct FTW *at UNUSED)
{
    if (kind == FTW_D)
        return 0;
    if (kind != FTW_F)
        return -1;
    paths = mem_grow(paths, &paths_cap, n_paths + 1, sizeof *paths);
    paths[n_paths++] = str_from(mem_strdup(path));
    return 0;
}

static int by_path(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Memory of just that size; null when there is no such file. */
static struct str read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct str s;
    long n;

    if (f == NULL)
        return STR_NULL;
    if (fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) < 0) {
        fclose(f);
        return STR_NULL;
    }
    rewind(f);
    s.ptr = mem_alloc(n > 0 ? (size_t)n : 1);
    s.len = fread((char *)(uintptr_t)s.ptr, 1, (size_t)n, f);
    fclose(f);
    return s;
}

/* False for other files, and for the few whose whole object is the golden result (test_parse.c). */
static bool kind_of(struct str name, enum fixture_kind *out)
{
    static const struct {
        const char *folder;
        enum fixture_kind kind;
    } kinds[] = {{"feeds/", FIXTURE_FEED},
                 {"html/", FIXTURE_PAGE},
                 {"opml/", FIXTURE_LIST},
                 {"changes/", FIXTURE_CHANGES}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_starts(name, str_from(kinds[i].folder)) &&
            (i > 0 || str_find(str_slice(name, 6, name.len), STR("/")) > 0)) {
            *out = kinds[i].kind;
            return true;
        }
    return false;
}

static void read_golden(struct arena *a, struct fixture *f, struct str path)
{
    static const char *const members[] = {"url", "content_type", "content_location",
                                          "content_language"};
    struct str *const into[] = {&f->input.url, &f->input.content_type, &f->input.content_location,
                                &f->input.content_language};
    struct err err = ERR_INIT;
    struct str text = read_file(str_z(a, path));
    const struct value *given;

    if (str_is_null(text))
        return;
    if (json_read(a, text, &f->golden, &err) != RC_OK) {
        fprintf(stderr, "%.*s: %s\n", STR_ARG(path), err.text);
        exit(1);
    }
    mem_free((char *)(uintptr_t)text.ptr);
    given = value_getz(f->golden, "input");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (!str_is_null(value_get_text(given, str_from(members[i]))))
            *into[i] = value_get_text(given, str_from(members[i]));
}

size_t fixtures_read(struct arena *a, const char *root, struct fixture **out)
{
    size_t n = 0, root_len = strlen(root) + 1;
    struct fixture *list;

    if (nftw(root, note_path, 16, FTW_PHYS) != 0) {
        perror(root);
        exit(1);
    }
    qsort(paths, n_paths, sizeof *paths, by_path);
    list = *out = ARENA_ARRAY(a, struct fixture, n_paths + 1);
    for (size_t i = 0; i < n_paths; i++) {
        struct str path = str_dup(a, paths[i]), name = str_slice(path, root_len, path.len);
        struct fixture *f = &list[n];
        size_t cut = name.len;

        mem_free((char *)(uintptr_t)paths[i].ptr);
        if (str_ends(name, GOLDEN) || !kind_of(name, &f->kind))
            continue;
        while (cut > 0 && name.ptr[cut - 1] != '.')
            cut--;
        f->name = str_slice(name, 0, cut - 1);
        f->body = read_file(str_z(a, path));
        f->input.url = STR("http://example.org/feeds/main.xml");
        read_golden(a, f, str_printf(a, "%.*s.want.json", (int)(root_len + cut - 1), path.ptr));
        f->input.body = f->body;
        n++;
    }
    mem_free(paths);
    paths = NULL;
    n_paths = paths_cap = 0;
    return n;
}

void fixtures_free(struct fixture *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free((char *)(uintptr_t)list[i].body.ptr);
}
