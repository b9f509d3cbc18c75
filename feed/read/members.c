/* feed/read/members.c - makes a member of the object form from the text of an element: what kind of
 * text it is, how it is repaired and made safe, and into which dict it goes. */
#include "feed/read/builder.h"

#include "base/ascii.h"
#include "feed/text/date.h"
#include "feed/text/html.h"
#include "feed/text/sanitize.h"
#include "feed/text/sanitize_priv.h"
#include "feed/text/uri.h"

#define PERSONS_MAX 100 /* each new one is compared with all before it */
#define TAGS_MAX 500    /* of one entry; each new one is compared with all before it */

/* ---------------------------------------------------------------- kinds of text */

/* Returns the media type of a text construct: "html" stands for text/html. */
static struct str media_type(struct arena *a, struct str type)
{
    type = str_lower(a, str_trim(type));
    if (str_eqz(type, "text") || str_eqz(type, "plain"))
        return STR("text/plain");
    if (str_eqz(type, "html"))
        return STR("text/html");
    if (str_eqz(type, "xhtml"))
        return STR("application/xhtml+xml");
    return type;
}

static bool is_html_type(struct str type)
{
    return str_eqz(type, "text/html") || str_eqz(type, "application/xhtml+xml");
}

enum kind {
    MARKUP = 1,    /* may have markup */
    REFERENCE = 2, /* may be a relative reference */
    TAG = 4        /* becomes a tag, not a member */
};

/* Returns what is known of a member by its name. */
static unsigned kind_of(struct str member)
{
#define ROW(name, kind)                                                                            \
    {                                                                                              \
        {(name), sizeof(name) - 1}, (kind)                                                         \
    }
    static const struct {
        struct str name;
        unsigned kind;
    } rows[] = {
        ROW("title", MARKUP),          ROW("link", REFERENCE),
        ROW("id", REFERENCE),          ROW("summary", MARKUP),
        ROW("content", MARKUP),        ROW("description", MARKUP),
        ROW("category", TAG),          ROW("subtitle", MARKUP),
        ROW("href", REFERENCE),        ROW("url", REFERENCE),
        ROW("comments", REFERENCE),    ROW("rights", MARKUP),
        ROW("copyright", MARKUP),      ROW("info", MARKUP),
        ROW("tagline", MARKUP),        ROW("docs", REFERENCE),
        ROW("icon", REFERENCE),        ROW("logo", REFERENCE),
        ROW("wfw_comment", REFERENCE), ROW("wfw_commentrss", REFERENCE),
        ROW("newlocation", REFERENCE), ROW("tags", TAG),
        ROW("itunes_keywords", TAG),
    };
#undef ROW

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eq(member, rows[i].name))
            return rows[i].kind;
    return 0;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns true for text that RSS calls plain but that is HTML: it has an end tag or a reference,
 * and all its tags and named references are those of HTML. */
static bool looks_like_html(struct str s)
{
    bool has_evidence = false;

    for (size_t i = 0; i < s.len; i++) {
        size_t from, to;
        bool is_end = false;

        if (s.ptr[i] == '<') {
            from = i + 1;
            if (from < s.len && s.ptr[from] == '/') {
                is_end = true;
                from++;
            }
            for (to = from; to < s.len && is_word_char(s.ptr[to]);)
                to++;
            if (to == from)
                continue;
            if (to - from > 16 || !sanitize_listed(SANITIZE_ELEMENTS, str_slice(s, from, to)))
                return false;
            has_evidence = has_evidence || (is_end && to < s.len && s.ptr[to] == '>');
        } else if (s.ptr[i] == '&') {
            bool is_number = i + 1 < s.len && s.ptr[i + 1] == '#';

            from = i + 1 + is_number;
            for (to = from; to < s.len && is_word_char(s.ptr[to]);)
                to++;
            if (to == from || to == s.len || s.ptr[to] != ';')
                continue;
            if (!is_number && html_entity(str_slice(s, from, to)) == 0)
                return false;
            has_evidence = true;
        }
    }
    return has_evidence;
}

/* Returns true for text that is called HTML only by custom, and whose "tags" are not elements of
 * HTML: "%<bitfield>x", "<name at host>". RSS 1.0 calls such a description plain text. A tag with
 * an attribute value, an end tag, a comment or a reference shows that markup was meant. */
static bool is_plain_after_all(struct str s)
{
    bool has_word = false;

    if (memchr(s.ptr, '<', s.len) == NULL || memchr(s.ptr, '&', s.len) != NULL)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        size_t to = i + 1;

        if (s.ptr[i] != '<' || to == s.len)
            continue;
        if (s.ptr[to] == '/' || s.ptr[to] == '!' || s.ptr[to] == '?')
            return false;
        while (to < s.len && is_word_char(s.ptr[to]))
            to++;
        if (to == i + 1 || !ascii_is_alpha(s.ptr[i + 1]))
            continue;
        if (html_is_element(str_slice(s, i + 1, to)))
            return false;
        while (to < s.len && s.ptr[to] != '>' && s.ptr[to] != '<' && s.ptr[to] != '=')
            to++;
        if (to < s.len && (s.ptr[to] == '=' || s.ptr[to - 1] == '/'))
            return false;
        has_word = true;
        i = to - 1;
    }
    return has_word;
}

/* Returns `s` escaped as HTML, so that it is shown as it is. */
static struct str escape_html(struct arena *a, struct str s)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    builder_put_escaped(&out, s, false);
    return str_dup(a, buf_view(&out));
}

/* ---------------------------------------------------------------- mending */

/* Returns the decoded text if it is UTF-8 without control characters, otherwise `s`. */
static struct str decode_base64(struct arena *a, struct str s)
{
    char *out = arena_alloc(a, s.len + 1);
    uint32_t acc = 0;
    int n_bits = 0;
    size_t n = 0;

    for (size_t i = 0; i < s.len && s.ptr[i] != '='; i++) {
        int v = ascii_base64(s.ptr[i]);

        if (v < 0)
            continue;
        acc = acc << 6 | (uint32_t)v;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[n++] = (char)(acc >> n_bits & 0xFF);
        }
    }
    for (size_t i = 0; i < n; i++) /* characters that XML forbids are not text either */
        if ((unsigned char)out[i] < ' ' && !ascii_is_space(out[i]))
            return s;
    return str_utf8_valid(str_of(out, n)) == n ? str_of(out, n) : s;
}

/* Returns true when there is a space in the id. Then it is not a reference, whatever its guid
 * element says (ATOM-08). */
static bool has_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (ascii_is_space(s.ptr[i]))
            return true;
    return false;
}

/* Make HTML safe and its references absolute, unless raw HTML was requested. All HTML passes
 * through here. */
static struct str safe_html(struct builder *b, struct str html, struct str base)
{
    if (b->raw_html)
        return html;
    if (memchr(html.ptr, '<', html.len) == NULL && memchr(html.ptr, '&', html.len) == NULL)
        return html;
    return sanitize_html_within(b->a, html, base, &b->uri_grown);
}

/* ---------------------------------------------------------------- storing */

/* When several elements have the same name, the one at the lowest depth is taken, whatever their
 * order. */
static bool may_store(struct builder *b, struct str member)
{
    for (size_t i = 0; i < b->n_seen; i++)
        if (str_eq(b->seen[i].member, member)) {
            if (b->depth > b->seen[i].depth)
                return false;
            b->seen[i].depth = b->depth;
            return true;
        }
    if (b->n_seen < SEEN_MAX)
        b->seen[b->n_seen++] = (struct seen){member, b->depth};
    return true;
}

static struct value *content_params(struct builder *b, struct str text)
{
    struct value *d = value_dict_for(b->a, 4);
    const struct text_construct *c = &b->content;

    value_set_textz(b->a, d, "type", c->type);
    value_setz(b->a, d, "language",
               str_is_null(c->lang) ? value_null(b->a) : value_text(b->a, c->lang));
    value_set_textz(b->a, d, "base", c->base.len <= LIMIT_BASE ? c->base : STR(""));
    if (!str_is_null(c->src))
        value_set_textz(b->a, d, "src", c->src);
    value_set_textz(b->a, d, "value", text);
    return d;
}

static struct str detail_key(struct builder *b, struct str member)
{
    static const struct {
        struct str member, detail;
    } usual[] = {{{"title", 5}, {"title_detail", 12}},
                 {{"summary", 7}, {"summary_detail", 14}},
                 {{"subtitle", 8}, {"subtitle_detail", 15}},
                 {{"rights", 6}, {"rights_detail", 13}}};

    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (str_eq(member, usual[i].member))
            return usual[i].detail;
    return str_concat(b->a, member, STR("_detail"));
}

static void store_link(struct builder *b, struct value *context, struct str href)
{
    struct value *links = value_getz(context, "links");

    struct value *last = value_at(links, value_len(links) - 1);
    struct str rel = value_get_textz(last, "rel");

    href = uri_mend_references(b->a, href);
    if (str_is_null(rel) || str_eqz(rel, "alternate"))
        value_set_textz(b->a, context, "link", href);
    if (href.len > 0 && last != NULL)
        value_set_textz(b->a, last, "href", href);
}

void builder_store(struct builder *b, struct str member, struct str text)
{
    struct value *context = builder_context(b);
    bool is_link = str_eqz(member, "link"), is_description = str_eqz(member, "description");

    if (b->in_entry && !b->in_source) {
        if (str_eqz(member, "content")) {
            value_push(b->a, value_list_at(b->a, b->entry, member), content_params(b, text));
        } else if (is_link) {
            if (!b->in_image)
                store_link(b, b->entry, text);
        } else {
            if (is_description)
                member = STR("summary");
            if (may_store(b, member))
                value_set_text(b->a, b->entry, member, text);
            if (b->in_content)
                value_set(b->a, b->entry, detail_key(b, member), content_params(b, text));
        }
    } else if (b->in_feed || b->in_source || b->in_image || b->in_textinput) {
        if (is_description)
            member = STR("subtitle");
        if (is_link) {
            store_link(b, context, text);
        } else {
            value_set_text(b->a, context, member, text);
            if (b->in_content)
                value_set(b->a, context, detail_key(b, member), content_params(b, text));
        }
    }
}

/* Returns the text without the div that Atom puts around XHTML. */
static struct str inside_div(struct builder *b, struct frame *f, struct str text)
{
    const struct text_construct *c = &b->content;
    struct str all = buf_view(&b->text);

    if (c->n_top != 1 || c->div_close_end == 0 ||
        str_trim(str_slice(all, c->div_close_end, all.len)).len > 0 || c->div_open_end < f->text_at)
        return text;
    return str_slice(all, c->div_open_end, c->div_close_at);
}

struct str builder_pop(struct builder *b, struct frame *f)
{
    struct text_construct *c = &b->content;
    struct str text, raw;
    unsigned kind;
    bool is_html;

    if (!f->collects)
        return STR("");
    text = str_slice(buf_view(&b->text), f->text_at, b->text.len);
    if (f->is_content && str_eqz(c->type, "application/xhtml+xml") &&
        str_eqz(b->doc->version, "atom10"))
        text = inside_div(b, f, text);
    text = builder_trim(b, text);
    if (!f->stores) {
        raw = builder_mend_characters(b, text);
        return raw.len == 0 ? STR("") : raw.ptr == text.ptr ? str_dup(b->a, raw) : raw;
    }
    kind = kind_of(f->member);
    if (f->is_content && c->is_base64)
        text = decode_base64(b->a, text);
    if (text.len > 0 && (kind & REFERENCE) &&
        (!str_eqz(f->member, "id") || (b->guid_is_link && !has_blank(text))))
        text = uri_resolve_within(b->a, b->base, text, &b->uri_grown);
    if (f->is_content && (b->doc->family != FAMILY_ATOM || f->name->is_foreign) &&
        str_eqz(c->type, "text/plain") && looks_like_html(text))
        c->type = STR("text/html");
    raw = text;
    is_html = !f->is_content || is_html_type(c->type);
    if (f->is_content && b->doc->family != FAMILY_ATOM && !c->is_type_given &&
        str_eqz(c->type, "text/html") && is_plain_after_all(text))
        text = escape_html(b->a, text);
    if (is_html && text.len > 0 && (kind & MARKUP))
        text = safe_html(b, text, b->base);
    text = builder_mend_characters(b, text);
    if (text.len == 0)
        text = STR("");
    else if (text.ptr == raw.ptr) /* it may still be in the buffer, or belong to somebody else */
        text = str_dup(b->a, text);
    if (kind & TAG)
        return text;
    if (str_eqz(f->member, "title") && b->title_depth > -1 && b->title_depth <= (ssize_t)b->depth)
        return text;
    builder_store(b, f->member, text);
    return text;
}

void builder_push_content(struct builder *b, struct frame *f, struct str member,
                          const struct attrs *at, const char *type, bool stores)
{
    struct str given = attrs_get(at, "type"), lang = b->lang;
    struct text_construct *c = &b->content;

    builder_push(f, member, stores);
    f->is_content = true;
    *c = (struct text_construct){.lang = lang, .base = b->base, .depth = b->depth};
    c->is_type_given = !str_is_null(given);
    c->type = c->is_type_given ? media_type(b->a, given) : str_from(type);
    if (!str_is_null(lang) && str_chr(lang, '_') >= 0) {
        char *z = str_z(b->a, lang);

        for (size_t i = 0; i < lang.len; i++)
            z[i] = z[i] == '_' ? '-' : z[i];
        c->lang = str_of(z, lang.len);
    }
    if (str_eqz(attrs_get(at, "mode"), "base64"))
        c->is_base64 = true;
    else if (c->type.len > 0)
        c->is_base64 = !str_starts(c->type, STR("text/")) && !str_ends(c->type, STR("+xml")) &&
                       !str_ends(c->type, STR("/xml")) && !str_ends(c->type, STR("/json")) &&
                       !str_ends(c->type, STR("+json"));
    b->in_content = true;
}

/* ---------------------------------------------------------------- dates, tags, persons */

void builder_set_date(struct builder *b, const char *parsed_member, struct str text)
{
    struct value *context = builder_context(b);
    int64_t at;

    if (date_parse(text, &at))
        value_set(b->a, context, str_from(parsed_member), date_nine(b->a, at));
    else
        (void)value_del(context, str_from(parsed_member));
}

static void set_text_or_null(struct builder *b, struct value *d, const char *key, struct str s)
{
    value_set(b->a, d, str_from(key),
              str_is_null(s) ? value_null(b->a) : value_text(b->a, str_dup(b->a, s)));
}

/* A quick test that comes before the full comparison: most tags differ already in the beginning of
 * their terms. */
static bool may_be_same_tag(const struct value *x, const struct value *y)
{
    const struct value *xt, *yt;

    if (x->kind != VAL_DICT || x->len == 0 || !str_eqz(x->members[0].key, "term"))
        return true;
    xt = x->members[0].val;
    yt = y->members[0].val;
    return xt->kind == yt->kind && (xt->kind != VAL_TEXT || str_eq(xt->s, yt->s));
}

void builder_add_tag(struct builder *b, struct str term, struct str scheme, struct str label)
{
    struct value *tags = value_list_at(b->a, builder_context(b), STR("tags")), *tag;

    if ((term.len == 0 && scheme.len == 0 && label.len == 0) || value_len(tags) >= TAGS_MAX)
        return;
    tag = value_dict_for(b->a, 3);
    set_text_or_null(b, tag, "term", term);
    set_text_or_null(b, tag, "scheme", scheme);
    set_text_or_null(b, tag, "label", label);
    for (size_t i = 0; i < value_len(tags); i++) {
        struct value *other = value_at(tags, i);

        if (!may_be_same_tag(other, tag))
            continue;
        if (value_equal(other, tag))
            return;
        if (label.len > 0 && term.len > 0 && str_is_null(value_get_textz(other, "label")) &&
            str_eq(value_get_textz(other, "term"), term) &&
            str_eq(value_get_textz(other, "scheme"), value_get_textz(tag, "scheme"))) {
            value_set(b->a, other, STR("label"),
                      value_getz(tag, "label")); /* the same tag, but this one has a label */
            return;
        }
    }
    value_push(b->a, tags, tag);
}

/* When the last person of a list was named before, merge the two: `dc:creator` and `itunes:author`,
 * or the author of RSS and that of Atom. What the later one has in addition is added to the earlier
 * one. */
void builder_merge_person(struct builder *b, struct str key)
{
    static const char *const parts[] = {"name", "email", "href"};
    struct value *list = value_get(builder_context(b), key);
    uint32_t n = (uint32_t)value_len(list);
    struct value *last = value_at(list, n - 1), *old = NULL;
    struct str name = value_get_textz(last, "name");

    if (n < 2 || n > PERSONS_MAX || name.len == 0)
        return;
    for (uint32_t i = 0; i + 1 < n && old == NULL; i++)
        if (str_eq(value_get_textz(value_at(list, i), "name"), name))
            old = value_at(list, i);
    if (old == NULL)
        return;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct str x = value_get_text(old, str_from(parts[i])),
                   y = value_get_text(last, str_from(parts[i]));

        if (x.len > 0 && y.len > 0 && !str_eq(x, y))
            return; /* two persons with the same name */
    }
    for (uint32_t i = 0; i < value_len(last); i++)
        if (value_get_text(old, last->members[i].key).len == 0)
            value_set(b->a, old, last->members[i].key, last->members[i].val);
    list->len--;
}

/* Returns the last dict of a list member; it is made when there is none. */
static struct value *last_of(struct builder *b, struct value *context, struct str key)
{
    struct value *list = value_list_at(b->a, context, key);

    if (value_len(list) == 0)
        value_push(b->a, list, value_dict(b->a));
    return value_at(list, value_len(list) - 1);
}

void builder_person_part(struct builder *b, struct str key, struct str value)
{
    struct value *context = builder_context(b), *detail;
    bool is_publisher = b->in_publisher;

    if (!is_publisher && !b->in_author) {
        if (b->in_contributor)
            value_set_text(b->a, last_of(b, context, STR("contributors")), key, value);
        return;
    }
    detail = value_get(context, is_publisher ? STR("publisher_detail") : STR("author_detail"));
    if (detail == NULL || detail->kind != VAL_DICT || (!is_publisher && b->is_new_author)) {
        detail = value_dict(b->a);
        value_set(b->a, context, is_publisher ? STR("publisher_detail") : STR("author_detail"),
                  detail);
    }
    b->is_new_author = false;
    value_set_text(b->a, detail, key, value);
    if (is_publisher) {
        value_set_text(b->a, last_of(b, context, STR("publishers")), key, value);
    } else {
        value_set_text(b->a, last_of(b, context, STR("authors")), key, value);
    }
}

static bool is_mail_char(char c, bool in_domain)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || (!in_domain && (c == '_' || c == '+'));
}

/* Returns the first text that looks like a mail address. */
static struct str find_email(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        size_t from = i, to = i + 1;
        struct str domain;
        ssize_t dot = -1;

        if (s.ptr[i] != '@')
            continue;
        while (from > 0 && is_mail_char(s.ptr[from - 1], false))
            from--;
        while (to < s.len && is_mail_char(s.ptr[to], true))
            to++;
        domain = str_slice(s, i + 1, to);
        while (domain.len > 0 && domain.ptr[domain.len - 1] == '.')
            domain.len--;
        for (size_t k = 0; k < domain.len; k++)
            if (domain.ptr[k] == '.')
                dot = (ssize_t)k;
        if (from < i && dot > 0 && domain.len - (size_t)dot > 2) {
            to = i + 1 + domain.len;
            if (str_starts(str_slice(s, to, s.len), STR("?subject=")))
                while (to < s.len && !ascii_is_space(s.ptr[to]))
                    to++;
            return str_slice(s, from, to);
        }
        i = to - 1;
    }
    return STR_NULL;
}

static struct str without(struct arena *a, struct str s, struct str part)
{
    ssize_t at;

    while (part.len > 0 && (at = str_find(s, part)) >= 0)
        s = str_concat(a, str_slice(s, 0, (size_t)at), str_slice(s, (size_t)at + part.len, s.len));
    return s;
}

/* "(Ann)" and "(Ann" become "Ann"; "Ann (Editor)" stays as it is. */
static struct str without_odd_brackets(struct str name)
{
    int open = 0, lowest = 0;
    bool is_enclosed = str_starts(name, STR("(")) && str_ends(name, STR(")"));

    for (size_t i = 0; i < name.len; i++) {
        open += name.ptr[i] == '(' ? 1 : name.ptr[i] == ')' ? -1 : 0;
        lowest = open < lowest ? open : lowest;
        is_enclosed = is_enclosed && (open > 0 || i + 1 == name.len);
    }
    if ((is_enclosed || open > lowest) && str_starts(name, STR("(")))
        name = str_slice(name, 1, name.len);
    if ((is_enclosed || lowest < 0) && str_ends(name, STR(")")))
        name = str_slice(name, 0, name.len - 1);
    return str_trim(name);
}

static void sync_person(struct builder *b, const char *key)
{
    struct value *context = builder_context(b), *list, *detail;
    struct str k = str_from(key), list_key = str_concat(b->a, k, STR("s")), name, email;
    struct str detail_name = str_concat(b->a, k, STR("_detail"));

    list = value_get(context, list_key);
    detail = value_len(list) > 0 ? value_at(list, value_len(list) - 1) : value_dict(b->a);
    if (value_len(detail) > 0) {
        name = value_get_textz(detail, "name");
        email = value_get_textz(detail, "email");
        if (name.len > 0 && email.len > 0)
            value_set_text(b->a, context, k,
                           str_printf(b->a, "%.*s (%.*s)", STR_ARG(name), STR_ARG(email)));
        else if (name.len > 0 || email.len > 0)
            value_set_text(b->a, context, k, name.len > 0 ? name : email);
        return;
    }
    name = value_get_text(context, k);
    if (name.len == 0)
        return;
    email = name.len <= 1024 ? find_email(name) : STR_NULL;
    if (!str_is_null(email)) {
        email = str_dup(b->a, email);
        name = without(b->a, name, email);
        name = without(b->a, name, STR("()"));
        name = without(b->a, name, STR("<>"));
        name = without(b->a, name, STR("&lt;&gt;"));
        name = without_odd_brackets(str_trim(name));
    }
    if (name.len > 0)
        value_set_textz(b->a, detail, "name", name);
    if (!str_is_null(email))
        value_set_textz(b->a, detail, "email", email);
    if (value_get(context, detail_name) == NULL)
        value_set(b->a, context, detail_name,
                  value_copy(b->a, detail)); /* a copy, because the list has the original */
}

void builder_sync_person(struct builder *b, const char *key)
{
    sync_person(b, key);
    builder_merge_person(b, str_printf(b->a, "%ss", key));
}
