/* storage/rows_views.h - named views, in the memory of a transaction (storage/rows.h). Whether one
 * may be defined so or deleted depends on the others, so a transaction that changes one holds all
 * of them, without their queries. Only the storer's thread uses it. */
#pragma once

#include "model/named_view.h"
#include "storage/rows.h"

/* A row of `views`. What was loaded has no title and no query; whoever changes it sets both. */
struct held_view {
    struct held held;
    struct named_view row;
    unsigned looked; /* at this mark its depth was taken (storage/apply_views.c) */
    int depth;
};

/* The view of this name. NULL: there never was one. */
static inline struct held_view *rows_view(struct rows *r, struct str name)
{
    return rows_find(r, ROW_VIEW, 0, name);
}

/* Add a row that the caller fills. */
static inline struct held_view *rows_add_view(struct rows *r, struct str name)
{
    return rows_add(r, ROW_VIEW, 0, name);
}
