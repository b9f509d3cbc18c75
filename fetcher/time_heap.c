/* fetcher/time_heap.c - a binary heap that writes the index of each node into the node. */
#include "fetcher/time_heap.h"

#include "base/mem.h"

static void set(struct time_heap *h, size_t place, struct time_node *node)
{
    h->nodes[place - 1] = node;
    node->place = place;
}

static void sift_up(struct time_heap *h, struct time_node *node)
{
    size_t place = node->place;

    while (place > 1 && h->nodes[place / 2 - 1]->at > node->at) {
        set(h, place, h->nodes[place / 2 - 1]);
        place /= 2;
    }
    set(h, place, node);
}

static void sift_down(struct time_heap *h, struct time_node *node)
{
    size_t place = node->place;

    for (;;) {
        size_t child = place * 2;

        if (child > h->len)
            break;
        if (child < h->len && h->nodes[child]->at < h->nodes[child - 1]->at)
            child++;
        if (h->nodes[child - 1]->at >= node->at)
            break;
        set(h, place, h->nodes[child - 1]);
        place = child;
    }
    set(h, place, node);
}

void time_heap_release(struct time_heap *h)
{
    mem_free(h->nodes);
    *h = (struct time_heap)TIME_HEAP_INIT;
}

void time_heap_put(struct time_heap *h, struct time_node *node, int64_t at)
{
    if (node->place == 0) {
        h->nodes = mem_grow(h->nodes, &h->cap, h->len + 1, sizeof(struct time_node *));
        set(h, ++h->len, node);
    }
    node->at = at;
    sift_up(h, node);
    sift_down(h, node);
}

void time_heap_remove(struct time_heap *h, struct time_node *node)
{
    struct time_node *last;
    size_t place = node->place;

    if (place == 0)
        return;
    node->place = 0;
    last = h->nodes[--h->len];
    if (last == node)
        return;
    set(h, place, last);
    sift_up(h, last);
    sift_down(h, last);
}

void time_heap_shift(struct time_heap *h, int64_t by)
{
    for (size_t i = 0; i < h->len; i++)
        h->nodes[i]->at += by;
}

struct time_node *time_heap_first(const struct time_heap *h)
{
    return h->len == 0 ? NULL : h->nodes[0];
}
