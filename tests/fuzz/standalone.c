/* tests/fuzz/standalone.c - runs a fuzz target once on each file named, where libFuzzer is absent.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data;
    long len;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (len = ftell(f)) < 0) {
        perror(path);
        if (f != NULL)
            fclose(f);
        return 1;
    }
    rewind(f);
    data = malloc((size_t)len + 1);
    if (data == NULL || fread(data, 1, (size_t)len, f) != (size_t)len) {
        perror(path);
        free(data);
        fclose(f);
        return 1;
    }
    fclose(f);
    (void)LLVMFuzzerTestOneInput(data, (size_t)len);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= run_file(argv[i]);
    return failed;
}
