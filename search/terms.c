/* search/terms.c - see terms.h. */
#include "search/terms.h"

void search_terms(const struct revision *rev, struct arena *scratch, struct buf *out)
{
    struct arena_mark mark = arena_mark(scratch);
    struct str_list terms = terms_of_revision(scratch, rev);

    for (size_t i = 0; i < terms.n; i++) {
        buf_str(out, terms.list[i]);
        buf_putc(out, ' ');
    }
    arena_rewind(scratch, mark);
}
