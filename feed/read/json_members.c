/* feed/read/json_members.c - reads the value of one member of a JSON object. */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "feed/read/json_feed_priv.h"
#include "feed/text/date.h"
#include "feed/text/sanitize.h"
#include "feed/text/uri.h"

static struct str shortest(struct arena *a, double d)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    return str_dup(a, str_from(text));
}

struct str json_text_of(const struct value *v)
{
    return v->kind == VAL_TEXT ? str_trim(v->s) : STR_NULL;
}

struct value *json_detail(struct json_reading *r, const char *type, struct str text)
{
    struct value *d = value_dict(r->a);

    value_set_textz(r->a, d, "type", str_from(type));
    value_setz(r->a, d, "language",
               str_is_null(r->lang) ? value_null(r->a) : value_text(r->a, r->lang));
    value_set_textz(r->a, d, "base", r->base.len <= LIMIT_BASE ? r->base : STR(""));
    value_set_textz(r->a, d, "value", text);
    return d;
}

void json_member_text(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);

    if (!str_is_null(s))
        value_set_text(r->a, out, str_from(name), s);
}

/* Many ids are numbers; "1.5" must not become "1.5000000000000000". */
void json_member_id(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s;

    if (v->kind == VAL_INT)
        s = str_printf(r->a, "%lld", (long long)v->i);
    else if (v->kind == VAL_REAL)
        s = shortest(r->a, v->d);
    else
        s = json_text_of(v);
    if (s.len > 0)
        value_set_text(r->a, out, str_from(name), s);
}

void json_member_plain(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);

    if (str_is_null(s))
        return;
    value_set_text(r->a, out, str_from(name), s);
    value_set(r->a, out, str_printf(r->a, "%s_detail", name), json_detail(r, "text/plain", s));
}

void json_member_date(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);
    int64_t at;

    if (s.len == 0)
        return;
    value_set_text(r->a, out, str_from(name), s);
    if (date_parse(s, &at))
        value_set(r->a, out, str_printf(r->a, "%s_parsed", name), date_nine(r->a, at));
}

struct value *json_add_link(struct json_reading *r, struct value *out, const char *rel,
                            const char *type, struct str href)
{
    struct value *link = value_dict(r->a);

    value_set_textz(r->a, link, "rel", str_from(rel));
    if (type != NULL)
        value_set_textz(r->a, link, "type", str_from(type));
    value_set_textz(r->a, link, "href", uri_resolve_within(r->a, r->base, href, &r->uri_grown));
    value_push(r->a, value_list_at(r->a, out, STR("links")), link);
    return link;
}

void json_member_page(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);

    if (s.len > 0)
        value_set_text(r->a, out, str_from(name),
                       value_get_textz(json_add_link(r, out, "alternate", "text/html", s), "href"));
}

void json_member_uri(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);

    if (s.len > 0)
        value_set_text(r->a, out, str_from(name),
                       uri_resolve_within(r->a, r->base, s, &r->uri_grown));
}

/* `name` is the media type. */
void json_member_content(struct json_reading *r, struct value *out, const char *name,
                         struct value *v)
{
    struct str s = json_text_of(v);

    if (s.len == 0)
        return;
    if (strcmp(name, "text/html") == 0) {
        if (!r->raw_html)
            s = sanitize_html_within(r->a, s, r->base, &r->uri_grown);
    } else if (value_len(value_getz(out, "content")) > 0) {
        return; /* there is already the same content as HTML */
    }
    value_push(r->a, value_list_at(r->a, out, STR("content")), json_detail(r, name, s));
}

/* Take a text, or a number unchanged. */
void json_member_number(struct json_reading *r, struct value *out, const char *name,
                        struct value *v)
{
    if (v->kind == VAL_INT || v->kind == VAL_REAL)
        value_set(r->a, out, str_from(name), v);
    else
        json_member_text(r, out, name, v);
}

void json_member_html(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);

    if (s.len == 0)
        return;
    s = r->raw_html ? s : sanitize_html(r->a, s, r->base);
    value_set_text(r->a, out, str_from(name), s);
    value_set(r->a, out, str_printf(r->a, "%s_detail", name), json_detail(r, "text/html", s));
}

void json_members(struct json_reading *r, struct value *out, const struct value *from,
                  const struct json_member *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct value *v = value_get(from, str_from(table[i].json));

        if (v != NULL && v->kind != VAL_NULL)
            table[i].read(r, out, table[i].name, v);
    }
}
