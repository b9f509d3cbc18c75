/* storage/apply_tokens.c - makes and ends tokens of callers, and notes their last use. */
#include <inttypes.h>

#include "storage/op.h"
#include "storage/rows_tokens.h"

enum rc apply_token_add(struct txn *t, struct op *op)
{
    struct held_token *token;
    int64_t id;

    if (t->rows.n_tokens >= TOKENS_MAX)
        return err_set(&op->err, RC_LIMIT, "There are %d tokens; more are not kept.", TOKENS_MAX);
    id = rows_draw(&t->rows, NEW_TOKEN);
    token = rows_token(&t->rows, id);
    if (token == NULL) /* one that was undone had drawn the same id */
        token = rows_add_token(&t->rows, id);
    rows_create(&t->rows, ROW_TOKEN, token);
    t->rows.n_tokens++;
    token->row = op->as.token;
    token->row.id = id;
    op->result.id = id;
    return RC_OK;
}

/* The token, if there is such a one. */
static enum rc find(struct txn *t, struct op *op, struct held_token **out)
{
    *out = rows_token(&t->rows, op->as.token.id);
    if (*out == NULL || !(*out)->held.exists)
        return err_set(&op->err, RC_NOT_FOUND, "There is no token %" PRId64 ".", op->as.token.id);
    return RC_OK;
}

enum rc apply_token_used(struct txn *t, struct op *op)
{
    struct held_token *token;
    enum rc rc = find(t, op, &token);

    if (rc != RC_OK)
        return rc;
    if (token->row.used_at != TIME_UNKNOWN && token->row.used_at >= op->as.token.used_at)
        return RC_OK; /* another node was later */
    rows_touch(&t->rows, ROW_TOKEN, token);
    token->row.used_at = op->as.token.used_at;
    return RC_OK;
}

enum rc apply_token_drop(struct txn *t, struct op *op)
{
    struct held_token *token;
    enum rc rc = find(t, op, &token);

    if (rc != RC_OK)
        return rc;
    rows_drop(&t->rows, ROW_TOKEN, token);
    t->rows.n_tokens--;
    return RC_OK;
}
