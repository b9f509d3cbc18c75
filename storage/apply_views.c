/* storage/apply_views.c - makes, changes and deletes named views. */
#include <inttypes.h>

#include "base/buf.h"
#include "storage/op.h"
#include "storage/rows_views.h"

/* Only the maker and admins may. */
static enum rc may_change(const struct held_view *v, struct op *op)
{
    if (op->as.view.by_admin || op->as.view.row.owner == v->row.owner)
        return RC_OK;
    return err_set(&op->err, RC_DENIED,
                   "The view %.*s was made by somebody else. Its maker and admins change it.",
                   STR_ARG(v->row.name));
}

static const struct held_view *find(struct txn *t, struct str name)
{
    const struct held_view *v = rows_view(&t->rows, name);

    return v == NULL || !v->held.exists ? NULL : v;
}

static int depth_of(struct txn *t, struct str uses, struct str name);

/* The same of a view. Each is looked at once, however many views name it. */
static int depth_at(struct txn *t, struct str name, struct str sought)
{
    struct held_view *v = rows_view(&t->rows, name);

    if (str_eq(name, sought))
        return -1;
    if (v == NULL || !v->held.exists)
        return 0;
    if (v->looked != t->rows.version) {
        v->looked = t->rows.version;
        v->depth = depth_of(t, v->row.uses, sought);
    }
    return v->depth;
}

/* How many levels of views there are below; -1: they lead to the view that is sought. The others
 * are without circles. */
static int depth_of(struct txn *t, struct str uses, struct str sought)
{
    int deepest = 0;

    while (uses.len > 0) {
        int depth = depth_at(t, str_split(&uses, ' '), sought);

        if (depth < 0)
            return -1;
        if (depth + 1 > deepest)
            deepest = depth + 1;
    }
    return deepest;
}

/* Is one of these names among those? Both are lists with spaces. */
static bool names_one_of(struct str uses, struct str names)
{
    while (uses.len > 0) {
        struct str one = str_split(&uses, ' ');

        for (struct str rest = names; rest.len > 0;)
            if (str_eq(one, str_split(&rest, ' ')) && one.len > 0)
                return true;
    }
    return false;
}

/* How many levels of views there are above: those that name it, and so on; at most `max`. */
static int height_above(struct txn *t, struct str name, int max)
{
    AUTO(buf_release) struct buf level = BUF_INIT(BUF_ANY);
    int height = 0;

    buf_append(&level, name.ptr, name.len);
    for (; height < max; height++) {
        AUTO(buf_release) struct buf next = BUF_INIT(BUF_ANY);
        const struct shelf *s = &t->rows.shelves[ROW_VIEW];
        const struct held_view *v;
        void *it = NULL;

        while ((v = (const struct held_view *)shelf_next(s, &it)) != NULL)
            if (v->held.exists && names_one_of(v->row.uses, str_of(level.ptr, level.len)))
                buf_printf(&next, "%.*s ", STR_ARG(v->row.name));
        if (next.len == 0)
            return height;
        buf_reset(&level);
        buf_append(&level, next.ptr, next.len);
    }
    return height;
}

/* May it name these views? */
static enum rc check_uses(struct txn *t, struct op *op)
{
    const struct named_view *in = &op->as.view.row;
    int depth;

    for (struct str rest = in->uses; rest.len > 0;) {
        struct str one = str_split(&rest, ' ');

        if (!str_eq(one, in->name) && find(t, one) == NULL)
            return err_set(&op->err, RC_NOT_FOUND, "There is no view %.*s.", STR_ARG(one));
    }
    depth = depth_of(t, in->uses, in->name);
    if (depth < 0)
        return err_set(&op->err, RC_INPUT, "The view %.*s would name itself in a circle.",
                       STR_ARG(in->name));
    if (depth > 0)
        depth += height_above(t, in->name, VIEW_DEPTH_MAX);
    if (depth > VIEW_DEPTH_MAX)
        return err_set(&op->err, RC_INPUT, "Views may name views up to %d levels deep.",
                       VIEW_DEPTH_MAX);
    return RC_OK;
}

static int64_t count(struct txn *t)
{
    const struct shelf *s = &t->rows.shelves[ROW_VIEW];
    const struct held *h;
    void *it = NULL;
    int64_t n = 0;

    while ((h = shelf_next(s, &it)) != NULL)
        n += h->exists;
    return n;
}

/* result.id: 1 if it was made, 0 if there was one. */
enum rc apply_view_put(struct txn *t, struct op *op)
{
    const struct named_view *in = &op->as.view.row;
    struct held_view *v = rows_view(&t->rows, in->name);
    bool is_new = v == NULL || !v->held.exists;
    struct named_view row = *in;
    enum rc rc = is_new ? RC_OK : may_change(v, op);

    if (!is_new && op->as.view.only_new)
        return err_set(&op->err, RC_CONFLICT, "There is a view %.*s already.", STR_ARG(in->name));
    if (rc == RC_OK)
        rc = check_uses(t, op);
    if (rc != RC_OK)
        return rc;
    if (is_new && count(t) >= VIEWS_MAX)
        return err_set(&op->err, RC_LIMIT, "There are %d named views; more are not kept.",
                       VIEWS_MAX);
    if (v == NULL)
        v = rows_add_view(&t->rows, in->name);
    if (!is_new) { /* whoever changes it, its sets are its maker's */
        row.owner = v->row.owner;
        row.role = v->row.role;
        row.created_at = v->row.created_at;
    }
    rows_create(&t->rows, ROW_VIEW, v);
    v->row = row;
    t->has_view_news = true;
    op->result.id = is_new;
    op->result.created_at = v->row.created_at;
    op->result.changed_at = v->row.changed_at;
    return RC_OK;
}

static bool names_view(const struct held_view *v, struct str name)
{
    for (struct str rest = v->row.uses; v->held.exists && rest.len > 0;)
        if (str_eq(str_split(&rest, ' '), name))
            return true;
    return false;
}

/* The first name of a view that names this one; null: none. The rows come in no order. */
static struct str user_of(struct txn *t, struct str name)
{
    const struct shelf *s = &t->rows.shelves[ROW_VIEW];
    const struct held_view *v;
    struct str first = STR_NULL;
    void *it = NULL;

    while ((v = shelf_next(s, &it)) != NULL)
        if (names_view(v, name) && (str_is_null(first) || str_cmp(v->row.name, first) < 0))
            first = v->row.name;
    return first;
}

enum rc apply_view_drop(struct txn *t, struct op *op)
{
    struct str name = op->as.view.row.name, user;
    struct held_view *v = rows_view(&t->rows, name);
    enum rc rc;

    if (v == NULL || !v->held.exists)
        return err_set(&op->err, RC_NOT_FOUND, "There is no view %.*s.", STR_ARG(name));
    rc = may_change(v, op);
    if (rc != RC_OK)
        return rc;
    user = user_of(t, name);
    if (!str_is_null(user))
        return err_set(&op->err, RC_CONFLICT, "The view %.*s is in use: the view %.*s names it.",
                       STR_ARG(name), STR_ARG(user));
    rows_drop(&t->rows, ROW_VIEW, v);
    t->has_view_news = true;
    return RC_OK;
}
