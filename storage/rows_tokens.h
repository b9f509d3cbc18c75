/* storage/rows_tokens.h - tokens of callers, in the memory of a transaction (storage/rows.h). Only
 * the storer's thread uses it. */
#pragma once

#include "model/access.h"
#include "storage/rows.h"

/* A row of `tokens`. */
struct held_token {
    struct held held;
    struct token row;
};

/* The token with this id. NULL: it was not loaded. */
static inline struct held_token *rows_token(struct rows *r, int64_t id)
{
    return rows_find(r, ROW_TOKEN, id, STR_NULL);
}

/* For what is loaded: add a row that the caller fills. */
static inline struct held_token *rows_add_token(struct rows *r, int64_t id)
{
    return rows_add(r, ROW_TOKEN, id, STR_NULL);
}
