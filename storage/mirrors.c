/* storage/mirrors.c - see mirrors.h. */
#include "storage/mirrors.h"

#include "base/clock.h"
#include "base/mem.h"
#include "storage/op.h"
#include "storage/store_priv.h"

enum rc reader_mirrors(struct reader *r, const struct str *keys, size_t n, struct arena *a,
                       struct mirrored **out, size_t *n_out, struct err *err)
{
    *n_out = 0;
    return n == 0 ? RC_OK : r->db->reads->mirrors_of(r->db, keys, n, a, out, n_out, err);
}

enum rc reader_mirror_list(struct reader *r, enum mirror_list list, int64_t until, size_t skip,
                           size_t max, struct arena *a, struct mirrored **out, size_t *n_out,
                           struct err *err)
{
    return r->db->reads->mirrors_first(r->db, list, until, skip, max, a, out, n_out, err);
}

enum rc reader_mirror_file(struct reader *r, struct str sha256, struct arena *a,
                           struct mirrored *out, struct err *err)
{
    return r->db->reads->mirrors_file(r->db, sha256, a, out, err);
}

enum rc reader_mirror_place(struct reader *r, int64_t *seq, int64_t *bytes, struct err *err)
{
    return r->db->reads->mirrors_place(r->db, seq, bytes, err);
}

enum rc reader_mirror_entries(struct reader *r, int64_t after, int64_t to, struct arena *a,
                              struct mirror_entry **out, size_t *n_out, struct err *err)
{
    return r->db->reads->mirrors_entries(r->db, after, to, a, out, n_out, err);
}

enum rc reader_mirror_wish(struct reader *r, struct str key, struct arena *a, struct mirror_wish *out,
                           struct err *err)
{
    return r->db->reads->mirrors_wish(r->db, key, a, out, err);
}

enum rc reader_mirror_looks(struct reader *r, struct str after, size_t max, struct arena *a,
                            struct mirror_look **out, size_t *n_out, struct err *err)
{
    return r->db->reads->mirrors_looks(r->db, after, max, a, out, n_out, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Who waits for the operation. */
struct waiting {
    struct store *store;
    store_done_fn *done;
    void *ctx;
    bool shows; /* documents may look different after it */
};

static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct waiting *w = ctx;

    if (w->shows)
        atomic_fetch_add(&w->store->mirror_edition, 1);
    if (w->done != NULL)
        w->done(w->ctx, rc, res, err);
}

static struct mirrored keep(struct arena *a, const struct mirrored *m)
{
    struct mirrored copy = *m;

    copy.key = str_dup(a, m->key);
    copy.url = str_dup(a, m->url);
    copy.sha256 = str_dup(a, m->sha256);
    copy.type = str_dup(a, m->type);
    copy.error = str_dup(a, m->error);
    return copy;
}

static struct str *keep_keys(struct arena *a, const struct str *keys, size_t n)
{
    struct str *copy = ARENA_ARRAY(a, struct str, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = str_dup(a, keys[i]);
    return copy;
}

static void keep_change(struct arena *a, const struct mirror_change *from, struct mirror_change *to)
{
    struct mirrored *added = ARENA_ARRAY(a, struct mirrored, from->n_added + 1);
    struct mirrored *outcome = ARENA_NEW(a, struct mirrored);
    struct mirror_use *used = ARENA_ARRAY(a, struct mirror_use, from->n_used + 1);
    struct mirror_name *names = ARENA_ARRAY(a, struct mirror_name, from->n_names + 1);

    *to = *from;
    for (size_t i = 0; i < from->n_names; i++)
        names[i] = (struct mirror_name){from->names[i].entry_id, str_dup(a, from->names[i].key)};
    to->names = names;
    to->unwanted = keep_keys(a, from->unwanted, from->n_unwanted);
    to->unnamed = keep_keys(a, from->unnamed, from->n_unnamed);
    for (size_t i = 0; i < from->n_added; i++)
        added[i] = keep(a, &from->added[i]);
    to->added = added;
    if (from->outcome != NULL) {
        *outcome = keep(a, from->outcome);
        to->outcome = outcome;
    }
    to->dropped = str_dup(a, from->dropped);
    to->lost = str_dup(a, from->lost);
    for (size_t i = 0; i < from->n_used; i++)
        used[i] = (struct mirror_use){str_dup(a, from->used[i].sha256), from->used[i].at_us};
    to->used = used;
}

enum rc store_mirror(struct store *s, const struct mirror_change *change, store_done_fn *done,
                     void *ctx)
{
    struct op *op = NEW(struct op);
    struct waiting *w = ARENA_NEW(&op->arena, struct waiting);
    enum rc rc;

    *w = (struct waiting){
        s, done, ctx, change->n_added > 0 || change->n_unwanted > 0 || change->n_unnamed > 0 || change->outcome != NULL || change->dropped.len > 0 ||
                            change->lost.len > 0};
    op->kind = OP_MIRROR;
    op->done = on_stored;
    op->ctx = w;
    keep_change(&op->arena, change, &op->as.mirror);
    rc = storer_push(s->storer, op, 0);
    if (rc != RC_OK)
        op_free(op);
    return rc;
}

int64_t store_mirror_edition(struct store *s)
{
    int64_t of_others = s->is_shared ? clock_now_s() / MIRROR_LAG_S : 0;

    return (int64_t)atomic_load(&s->mirror_edition) + of_others;
}
