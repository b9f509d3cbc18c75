/* fetcher/time_heap.c - a binary heap that writes the index of each node into the node. */
#include "fetcher/time_heap.h"

#include "base/mem.h"

static void set(struct time_heap *h, size_t index, struct time_node *node)
{
    h->nodes[index - 1] = node;
    node->index = index;
}

static void sift_up(struct time_heap *h, struct time_node *node)
{
    size_t index = node->index;

    while (index > 1 && h->nodes[index / 2 - 1]->at > node->at) {
        set(h, index, h->nodes[index / 2 - 1]);
        index /= 2;
    }
    set(h, index, node);
}

static void sift_down(struct time_heap *h, struct time_node *node)
{
    size_t index = node->index;

    for (;;) {
        size_t child = index * 2;

        if (child > h->len)
            break;
        if (child < h->len && h->nodes[child]->at < h->nodes[child - 1]->at)
            child++;
        if (h->nodes[child - 1]->at >= node->at)
            break;
        set(h, index, h->nodes[child - 1]);
        index = child;
    }
    set(h, index, node);
}

void time_heap_release(struct time_heap *h)
{
    mem_free(h->nodes);
    *h = (struct time_heap)TIME_HEAP_INIT;
}

void time_heap_put(struct time_heap *h, struct time_node *node, int64_t at)
{
    if (node->index == 0) {
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
    size_t index = node->index;

    if (index == 0)
        return;
    node->index = 0;
    last = h->nodes[--h->len];
    if (last == node)
        return;
    set(h, index, last);
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
