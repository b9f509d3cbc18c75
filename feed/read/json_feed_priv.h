/* feed/read/json_feed_priv.h - reads members of JSON objects. Shared by json_feed.c and
 * activities.c; json_feed.c calls activities.c, and both use json_members.c. Pure. */
#pragma once

#include "feed/read/parse.h"

struct json_reading {
    struct arena *a;
    struct str base;
    struct str lang;                /* of the feed; null */
    const struct value *namespaces; /* prefixes that the document explains; may be NULL */
    bool raw_html;                  /* as in struct parse_input */
    size_t uri_grown;               /* as in uri_resolve_within() */
};

/* Put a member's value into `out`. `name` is the name in the object form, unless the function says
 * otherwise. */
typedef void member_fn(struct json_reading *r, struct value *out, const char *name,
                       struct value *v);

struct json_member {
    const char *json, *name;
    member_fn *read;
};

member_fn json_member_text, json_member_id, json_member_plain, json_member_html, json_member_date,
    json_member_uri, json_member_number;
member_fn json_member_page;    /* also adds a link rel=alternate */
member_fn json_member_content; /* name: its media type */

/* Returns the text of a string, without white space around it; null for any other value.
 * Borrowed. */
struct str json_text_of(const struct value *v);

/* Make the detail of a text construct: media type, language and base of the document, and the text
 * itself. In the arena. */
struct value *json_detail(struct json_reading *r, const char *type, struct str text);

/* Add a link, and return it. `type` may be NULL. */
struct value *json_add_link(struct json_reading *r, struct value *out, const char *rel,
                            const char *type, struct str href);

/* Read the members of `from` that are in the table, in the order of the table. */
void json_members(struct json_reading *r, struct value *out, const struct value *from,
                  const struct json_member *table, size_t n);

/* Fill `doc` if the document is a collection of ActivityStreams 1.0 with the members of a Smart
 * Feed. False: it is not such a collection. */
bool activities_read(struct json_reading *r, const struct value *root, struct feed_doc *doc);
