/* feed/read/elements_geo.c - GeoRSS Simple and GML. `where` becomes a GeoJSON geometry, longitude
 * first. */
#include "feed/read/builder.h"

#include <stdlib.h>

#define COORDINATES_MAX 10000

static struct value *where(struct builder *b)
{
    struct value *context = builder_context(b), *w = value_getz(context, "where");

    if (w == NULL || w->kind != VAL_DICT) {
        w = value_dict(b->a);
        value_setz(b->a, context, "where", w);
    }
    return w;
}

static void start_where(struct builder *b, struct frame *f UNUSED, const struct attrs *at UNUSED)
{
    value_setz(b->a, builder_context(b), "where", value_dict(b->a));
}

static void srs_attributes(struct builder *b, const struct attrs *at)
{
    struct value *w = where(b);
    struct str name = attrs_get(at, "srsname");
    int64_t dimension;

    if (!str_to_i64(attrs_get(at, "srsdimension"), &dimension) || dimension < 2 || dimension > 3)
        dimension = 2;
    if (!str_is_null(name))
        value_set_textz(b->a, w, "srsName", str_dup(b->a, name));
    value_setz(b->a, w, "srsDimension", value_int(b->a, dimension));
}

static void start_geometry(struct builder *b, struct frame *f, const struct attrs *at)
{
    if (b->geometry == GEO_NONE || at->n > 0)
        srs_attributes(b, at);
    builder_push(f, STR("geometry"), false);
}

/* GML: the element has the name of the geometry; the numbers are in an element inside it. */
static void start_gml(struct builder *b, struct frame *f, const struct attrs *at)
{
    const char *kind = f->name->element->type;

    srs_attributes(b, at);
    b->geometry = kind[0] == 'P' && kind[2] == 'l' ? GEO_POLYGON
                  : kind[0] == 'P'                 ? GEO_POINT
                                                   : GEO_LINE;
}

static void end_gml(struct builder *b, struct frame *f UNUSED)
{
    b->geometry = GEO_NONE;
}

/* Returns true when latitude comes first. That is so unless the reference system is projected
 * ("EPSG:26913"). */
static bool is_latitude_first(const struct value *w)
{
    struct str name = value_get_textz(w, "srsName");
    ssize_t at = str_ifind(name, STR("EPSG"));
    int64_t code = 0;

    if (at < 0)
        return true;
    while (name.len > 0 && (at = str_chr(name, ':')) >= 0)
        name = str_slice(name, (size_t)at + 1, name.len);
    return str_to_i64(name, &code) && code >= 4000 && code < 5000;
}

/* Read the numbers of a text as positions: a list of [x, y] or [x, y, z]. NULL: the last position
 * is incomplete. */
static struct value *positions(struct builder *b, struct str text)
{
    struct value *w = where(b), *list = value_list(b->a);
    size_t dimension = (size_t)value_get_int(w, STR("srsDimension"), 2), n = 0;
    bool swap = is_latitude_first(w);
    char *p = str_z(b->a, text), *end;
    double v[3];

    for (size_t i = 0; i < text.len; i++)
        if (p[i] == ',')
            p[i] = ' ';
    for (;;) {
        v[n] = strtod(p, &end);
        if (end == p)
            break;
        p = end;
        if (++n < dimension)
            continue;
        if (value_len(list) == COORDINATES_MAX)
            return NULL;
        struct value *pos = value_list(b->a);
        value_push(b->a, pos, value_real(b->a, v[swap ? 1 : 0]));
        value_push(b->a, pos, value_real(b->a, v[swap ? 0 : 1]));
        if (dimension == 3)
            value_push(b->a, pos, value_real(b->a, v[2]));
        value_push(b->a, list, pos);
        n = 0;
    }
    return n == 0 ? list : NULL;
}

static void set_geometry(struct builder *b, const char *type, struct value *coordinates)
{
    struct value *w = where(b);

    value_setz(b->a, w, "type", value_text(b->a, str_from(type)));
    value_setz(b->a, w, "coordinates", coordinates);
}

/* Store the geometry, if it has at least as many positions as its kind needs. */
static void save_geometry(struct builder *b, const char *type, struct str text)
{
    struct value *list = positions(b, text), *ring;
    size_t n = value_len(list);

    if (str_eqz(STR("Point"), type) && n >= 1) {
        set_geometry(b, type, value_at(list, 0));
    } else if (str_eqz(STR("LineString"), type) && n >= 2) {
        set_geometry(b, type, list);
    } else if (str_eqz(STR("Box"), type) && n == 2) {
        set_geometry(b, type, list);
    } else if (str_eqz(STR("Polygon"), type) && n >= 4) {
        ring = value_list(b->a);
        value_push(b->a, ring, list);
        set_geometry(b, type, ring);
    } else {
        value_setz(b->a, builder_context(b), "where", value_dict(b->a));
    }
}

static void end_geometry(struct builder *b, struct frame *f)
{
    save_geometry(b, f->name->element->type, builder_pop(b, f));
}

static void end_pos(struct builder *b, struct frame *f)
{
    save_geometry(b, "Point", builder_pop(b, f));
}

static void end_poslist(struct builder *b, struct frame *f)
{
    struct str text = builder_pop(b, f);

    if (b->geometry == GEO_LINE)
        save_geometry(b, "LineString", text);
    else if (b->geometry == GEO_POLYGON)
        save_geometry(b, "Polygon", text);
}

static const struct element rows[] = {
    {"georss:box", start_geometry, end_geometry, NULL, "Box", 0},
    {"georss:line", start_geometry, end_geometry, NULL, "LineString", 0},
    {"georss:point", start_geometry, end_geometry, NULL, "Point", 0},
    {"georss:polygon", start_geometry, end_geometry, NULL, "Polygon", 0},
    {"georss:where", start_where, NULL, NULL, NULL, 0},
    {"gml:linestring", start_gml, end_gml, NULL, "LineString", 0},
    {"gml:point", start_gml, end_gml, NULL, "Point", 0},
    {"gml:polygon", start_gml, end_gml, NULL, "Polygon", 0},
    {"gml:pos", start_geometry, end_pos, NULL, NULL, 0},
    {"gml:poslist", start_geometry, end_poslist, NULL, NULL, 0},
};

const struct element_table elements_geo = {rows, ARRAY_LEN(rows)};
