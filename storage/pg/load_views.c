/* storage/pg/load_views.c - named views. */
#include "storage/pg/load_priv.h"

#include "storage/rows_views.h"

#define PG_ROW struct named_view
static const struct pg_column view_columns[] = {NAMED_VIEW_KEPT(PG_COLUMN)};
#undef PG_ROW

/* Whether one may be changed depends on all others, also on those that another node is making. */
static const char sql_lock[] = "LOCK TABLE views IN SHARE ROW EXCLUSIVE MODE";
static const char sql_views[] = "SELECT " NAMED_VIEW_KEPT(PG_WORD) "1::bigint FROM views ORDER BY name";

void pg_queue_views(struct pg_load *load, struct pg_link *l)
{
    if (!load->has_views)
        return;
    pg_queue(l, sql_lock, NULL, "", NULL);
    pg_queue(l, sql_views, NULL, NAMED_VIEW_KEPT(PG_LETTER) "i", &load->view_rows);
}

void pg_take_views(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; load->has_views && i < load->view_rows.n; i++) {
        struct named_view row = {.owner = 0};
        struct held_view *v;

        pg_get_columns(&load->view_rows, i, 0, PG_COLUMNS(view_columns), &r->arena, &row);
        if (rows_view(r, row.name) != NULL)
            continue;
        v = rows_add_view(r, row.name);
        v->row = row;
        v->held.exists = v->held.is_stored = true;
    }
}
