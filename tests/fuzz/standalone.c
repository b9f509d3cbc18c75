/* tests/fuzz/standalone.c - runs a fuzz target once on each file named, and on each below a folder
 * named, where libFuzzer is absent. A file NAME.txt is a list: each line is an input too. */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int n_files, n_failed;

static void run_lines(const uint8_t *data, size_t len)
{
    while (len > 0) {
        const uint8_t *end = memchr(data, '\n', len);
        size_t n = end == NULL ? len : (size_t)(end - data);

        (void)LLVMFuzzerTestOneInput(data, n);
        n += end != NULL;
        data += n;
        len -= n;
    }
}

static void run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t name_len = strlen(path);
    uint8_t *data = NULL;
    long len = -1;

    n_files++;
    if (f != NULL && fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0) {
        rewind(f);
        data = malloc((size_t)len + 1);
    }
    if (data == NULL || fread(data, 1, (size_t)len, f) != (size_t)len) {
        perror(path);
        n_failed++;
    } else {
        (void)LLVMFuzzerTestOneInput(data, (size_t)len);
        if (name_len > 4 && strcmp(path + name_len - 4, ".txt") == 0)
            run_lines(data, (size_t)len);
    }
    free(data);
    if (f != NULL)
        fclose(f);
}

static int visit(const char *path, const struct stat *st UNUSED, int kind, struct FTW *at UNUSED)
{
    if (kind == FTW_F)
        run_file(path);
    else if (kind != FTW_D)
        n_failed++;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], visit, 16, FTW_PHYS) != 0) {
            perror(argv[i]);
            n_failed++;
        }
    printf("%d files, %d unreadable\n", n_files, n_failed);
    return n_failed > 0 || n_files == 0;
}
