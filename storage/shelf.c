/* storage/shelf.c - see shelf.h. */
#include "storage/shelf.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

void shelf_clear(struct shelf *s)
{
    map_forget(&s->rows);
    s->n_touched = s->n_copied = 0;
}

void shelf_release(struct shelf *s)
{
    map_forget(&s->rows);
    mem_free(s->touched);
    mem_free(s->copied);
    mem_free(s->copies);
    *s = (struct shelf){.row_size = 0};
}

void *shelf_find(const struct shelf *s, struct str key)
{
    return map_get(&s->rows, key);
}

void *shelf_next(const struct shelf *s, void **it)
{
    struct str key;
    void *row;

    return map_next(&s->rows, it, &key, &row) ? row : NULL;
}

void *shelf_add(struct shelf *s, struct arena *a, struct str key, size_t size)
{
    void *row = arena_zalloc(a, size);
    void *old = str_is_null(key) ? NULL : map_put(&s->rows, key, row);

    ASSERT(old == NULL && (s->row_size == size || s->row_size == 0));
    s->row_size = size;
    return row;
}

void shelf_touch(struct shelf *s, unsigned version, struct held *row)
{
    if (row->version != version) {
        s->copied = mem_grow(s->copied, &s->cap_copied, s->n_copied + 1, sizeof(void *));
        s->copies = mem_grow(s->copies, &s->cap_copies, s->n_copied + 1, s->row_size);
        memcpy(s->copies + s->n_copied * s->row_size, row, s->row_size);
        s->copied[s->n_copied++] = row;
        row->version = version;
    }
    if (row->is_touched)
        return;
    row->is_touched = true;
    s->touched = mem_grow(s->touched, &s->cap_touched, s->n_touched + 1, sizeof(void *));
    s->touched[s->n_touched++] = row;
}

void shelf_mark(struct shelf *s)
{
    s->n_copied = 0;
}

void shelf_undo(struct shelf *s, size_t n_touched)
{
    for (size_t i = 0; i < s->n_copied; i++)
        memcpy(s->copied[i], s->copies + i * s->row_size, s->row_size);
    s->n_copied = 0;
    s->n_touched = n_touched;
}

void shelf_written(struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        s->touched[i]->is_touched = false;
        s->touched[i]->is_stored = s->touched[i]->exists;
        s->touched[i]->changes = 0;
    }
    s->n_touched = s->n_copied = 0;
}
