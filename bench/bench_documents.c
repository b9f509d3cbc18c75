/* bench/bench_documents.c - prints a made-up feed: bench_documents rss|atom ENTRIES ENTRY_LEN. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"

int main(int argc, char **argv)
{
    struct buf out = BUF_INIT(BUF_ANY);
    unsigned n;

    if (argc != 4 || (strcmp(argv[1], "rss") != 0 && strcmp(argv[1], "atom") != 0)) {
        fprintf(stderr, "usage: bench_documents rss|atom ENTRIES ENTRY_LEN\n");
        return 2;
    }
    n = (unsigned)strtoul(argv[2], NULL, 10);
    (argv[1][0] == 'r' ? documents_rss : documents_atom)(&out, 1, n, n, strtoul(argv[3], NULL, 10));
    fwrite(out.ptr, 1, out.len, stdout);
    buf_release(&out);
    return 0;
}
