/* storage/twins.c - see twins.h. */
#include "storage/twins.h"

struct twins_of_key {
    struct held_entry *at[TWINS_OF_KEY]; /* the newest first */
    size_t n;
};

static struct str name_of(const int64_t *key)
{
    return str_of((const char *)key, sizeof *key);
}

/* An entry without an id is not written yet. */
static bool is_newer(const struct held_entry *x, const struct held_entry *y)
{
    return y->row.id != 0 && (x->row.id == 0 || x->row.id > y->row.id);
}

static void add(struct twins *t, int64_t key, struct held_entry *e, struct arena *a)
{
    struct twins_of_key *k = map_get(&t->keys, name_of(&key));
    size_t i;

    if (k == NULL) {
        k = ARENA_NEW(a, struct twins_of_key);
        map_put(&t->keys, name_of(&key), k);
    }
    if (k->n < TWINS_OF_KEY)
        k->n++;
    else if (!is_newer(e, k->at[k->n - 1]))
        return;
    for (i = k->n - 1; i > 0 && is_newer(e, k->at[i - 1]); i--)
        k->at[i] = k->at[i - 1];
    k->at[i] = e;
}

void twins_fill(struct twins *t, struct rows *r, int64_t feed_id, struct arena *a)
{
    int64_t keys[MARKS_KEYS];
    struct held_entry *e;

    for (void *it = NULL; (e = shelf_next(&r->shelves[ROW_ENTRY], &it)) != NULL;) {
        size_t n =
            e->row.feed_id == feed_id && e->row.has_marks ? marks_keys(&e->row.marks, keys) : 0;

        for (size_t i = 0; i < n; i++)
            add(t, keys[i], e, a);
    }
}

void twins_release(struct twins *t)
{
    map_release(&t->keys, NULL);
}

struct held_entry *twins_find(const struct twins *t, const struct entry_marks *marks)
{
    int64_t keys[MARKS_KEYS];
    size_t n = marks_keys(marks, keys);

    for (size_t i = 0; i < n; i++) {
        const struct twins_of_key *k = map_get(&t->keys, name_of(&keys[i]));

        for (size_t j = 0; k != NULL && j < k->n; j++)
            if (marks_certain(marks, &k->at[j]->row.marks))
                return k->at[j];
    }
    return NULL;
}
