/* storage/term_text.c - see term_text.h. */
#include "storage/term_text.h"

#include "storage/index.h"

static void put(struct buf *out, const struct term_syntax *s, const struct term_query *q)
{
    bool is_leaf = q->op == TERM_ONE || q->op == TERM_PREFIX;

    if (is_leaf) {
        buf_printf(out, "%s%.*s%s%s", s->quote, STR_ARG(q->term), s->quote,
                   q->op == TERM_PREFIX ? s->prefix : "");
        return;
    }
    buf_putc(out, '(');
    for (size_t i = 0; i < q->n; i++) {
        if (i > 0)
            buf_puts(out, q->op == TERM_AND ? s->and_word : s->or_word);
        put(out, s, q->parts[i]);
    }
    buf_putc(out, ')');
}

void term_text(struct buf *out, const struct term_syntax *s, const struct term_query *q)
{
    buf_putc(out, '(');
    put(out, s, q);
    buf_printf(out, ")%s%s%s%s", s->or_word, s->quote, TERM_ANY, s->quote);
}
