/* storage/pg/load_tokens.c - tokens of callers. */
#include "storage/pg/load_priv.h"

#include "storage/rows_tokens.h"

#define PG_ROW struct token
static const struct pg_column token_columns[] = {TOKEN(PG_COLUMN)};
#undef PG_ROW

/* One that another node deletes must not be written again with its last use. */
static const char sql_tokens[] =
    "SELECT " TOKEN(PG_WORD) "1::bigint FROM tokens WHERE id = ANY($1) ORDER BY id FOR UPDATE";

static const char sql_n_tokens[] = "SELECT count(*) FROM tokens";

void pg_queue_callers(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    if (load->counts_tokens)
        pg_queue(l, sql_n_tokens, NULL, "i", &load->n_token_rows);
    pg_load_ids(l, p, sql_tokens, load->callers, load->n_callers, TOKEN(PG_LETTER) "i",
                &load->caller_rows);
}

void pg_take_callers(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->caller_rows;

    if (load->counts_tokens)
        r->n_tokens = pg_get_int(&load->n_token_rows, 0, 0);
    for (size_t i = 0; i < load->n_callers; i++)
        if (rows_token(r, load->callers[i]) == NULL)
            rows_add_token(r, load->callers[i]);
    for (size_t i = 0; i < a->n; i++) {
        struct token row = {.id = 0};
        struct held_token *token;

        pg_get_columns(a, i, 0, PG_COLUMNS(token_columns), &r->arena, &row);
        token = rows_token(r, row.id);
        token->row = row;
        token->held.exists = token->held.is_stored = true;
    }
}
