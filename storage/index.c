/* storage/index.c - see index.h. */
#include "storage/index.h"

#include "base/mem.h"
#include "storage/index_clearing.h"
#include "storage/op.h"
#include "storage/store_priv.h"

enum rc reader_index_place(struct reader *r, struct index_place *out, struct err *err)
{
    return r->db->reads->index_place(r->db, out, err);
}

enum rc reader_index_is_stale(struct reader *r, int64_t cut, bool *out, struct err *err)
{
    struct index_place place;
    enum rc rc = r->db->reads->index_place(r->db, &place, err);

    *out = rc == RC_OK && (place.cut == INDEX_CLEARING || (place.seq > 0 && place.cut != cut));
    if (rc != RC_OK || *out || r->db->reads->index_is_waste == NULL)
        return rc;
    return r->db->reads->index_is_waste(r->db, &place, out, err);
}

enum rc reader_revisions(struct reader *r, const int64_t *seqs, size_t n, struct arena *a,
                         struct revision **out, size_t *n_out, struct err *err)
{
    return r->db->reads->revisions_by_seq(r->db, seqs, n, false, a, out, n_out, err);
}

enum rc store_index(struct store *s, const struct index_group *g, store_done_fn *done, void *ctx)
{
    struct op *op = NEW(struct op);
    struct index_row *rows = ARENA_ARRAY(&op->arena, struct index_row, g->n + 1);
    enum rc rc;

    op->kind = OP_INDEX;
    op->done = done;
    op->ctx = ctx;
    for (size_t i = 0; i < g->n; i++)
        rows[i] = (struct index_row){g->rows[i].seq, str_dup(&op->arena, g->rows[i].terms)};
    op->as.index = *g;
    op->as.index.rows = rows;
    rc = storer_push(s->storer, op, 0);
    if (rc != RC_OK)
        op_free(op);
    return rc;
}

bool store_is_busy(struct store *s)
{
    return storer_is_busy(s->storer);
}
