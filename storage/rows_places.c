/* storage/rows_places.c - see rows_places.h. */
#include "storage/rows_places.h"

#include "base/assert.h"

/* The text of a place's key: the credential, whose length is the number of the key, and the URL. */
static struct str key_text(struct rows *r, struct str url, struct str credential)
{
    return credential.len == 0 ? url : str_concat(&r->arena, credential, url);
}

struct held_place *rows_place(struct rows *r, struct str url, struct str credential)
{
    return rows_find(r, ROW_PLACE, (int64_t)credential.len, key_text(r, url, credential));
}

struct held_names *rows_names(struct rows *r, int64_t feed_id)
{
    return rows_find(r, ROW_NAMES, feed_id, STR_NULL);
}

struct held_place *rows_add_place(struct rows *r, struct str url, struct str credential)
{
    struct held_place *p =
        rows_add(r, ROW_PLACE, (int64_t)credential.len, key_text(r, url, credential));

    p->url = str_dup(&r->arena, url);
    p->credential = str_dup(&r->arena, credential);
    return p;
}

struct held_names *rows_add_names(struct rows *r, int64_t feed_id)
{
    struct held_names *n = rows_add(r, ROW_NAMES, feed_id, STR_NULL);

    n->feed_id = feed_id;
    return n;
}

/* A place that will be changed. */
static struct held_place *change_place(struct rows *r, const struct feed *feed, struct str url)
{
    struct held_place *p = rows_place(r, url, feed->credential);

    ASSERT(p != NULL);
    rows_touch(r, ROW_PLACE, p);
    return p;
}

/* The place is an alias of another feed from now on. 0: of none. */
static void set_alias(struct rows *r, struct held_place *p, int64_t feed_id)
{
    struct held_names *old = p->alias_of == 0 ? NULL : rows_names(r, p->alias_of);
    struct held_names *new = feed_id == 0 ? NULL : rows_names(r, feed_id);

    p->alias_of = feed_id;
    if (old != NULL) {
        rows_touch(r, ROW_NAMES, old);
        old->n--;
    }
    if (new != NULL) {
        rows_touch(r, ROW_NAMES, new);
        new->n++;
    }
}

int64_t place_find(struct rows *r, struct str url, struct str credential)
{
    const struct held_place *p = rows_place(r, url, credential);

    ASSERT(p != NULL);
    if (p->owner != 0)
        return p->owner;
    if (p->alias_of != 0)
        return p->alias_of;
    return p->n_pages > 0 ? p->pages[0] : p->key_of;
}

void place_own(struct rows *r, const struct feed *feed)
{
    change_place(r, feed, feed->url)->owner = feed->id;
}

/* Put the feed into the list of a URL's pages, or take it out. The list is made anew, because an
 * undo goes back to the old one. */
static void change_pages(struct rows *r, struct str url, const struct feed *feed, bool is_there)
{
    struct held_place *p = url.len == 0 ? NULL : rows_place(r, url, feed->credential);
    int64_t *pages;
    size_t n = 0, i = 0;

    if (p == NULL)
        return;
    pages = ARENA_ARRAY(&r->arena, int64_t, p->n_pages + 1);
    while (i < p->n_pages && p->pages[i] < feed->id)
        pages[n++] = p->pages[i++];
    if (is_there)
        pages[n++] = feed->id;
    i += i < p->n_pages && p->pages[i] == feed->id;
    while (i < p->n_pages)
        pages[n++] = p->pages[i++];
    rows_touch(r, ROW_PLACE, p);
    p->pages = pages;
    p->n_pages = n;
}

void place_page(struct rows *r, const struct feed *feed, struct str page_url)
{
    change_pages(r, feed->page_url, feed, false);
    change_pages(r, page_url, feed, true);
}

void place_move(struct rows *r, const struct feed *feed, struct str url)
{
    struct held_place *to = change_place(r, feed, url);

    change_place(r, feed, feed->url)->owner = 0;
    to->owner = feed->id;
    set_alias(r, to, 0);
}

void place_add_alias(struct rows *r, const struct feed *feed, struct str url, int64_t most)
{
    struct held_place *p;

    if (str_eq(url, feed->url) || rows_names(r, feed->id)->n >= most)
        return;
    p = change_place(r, feed, url);
    if (p->owner == 0 && p->alias_of != feed->id)
        set_alias(r, p, feed->id);
}
