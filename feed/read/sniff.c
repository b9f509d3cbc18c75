/* feed/read/sniff.c - looks for the root element of a feed, tag by tag. */
#include "feed/read/sniff.h"

#include "base/ascii.h"
#include "feed/text/html.h"

#define SNIFF_LEN (64 * 1024)
#define NAME_MAX_LEN 80 /* of an element that is looked at */

struct scan {
    struct arena a;
    struct html_lexer lx; /* of the same text */
    struct str head;
    size_t at;
    size_t decl_at;     /* of the last XML declaration after junk; SIZE_MAX: there is none */
    size_t unsound_end; /* up to here, nothing is taken for a whole tag */
    bool after_junk;    /* there was something other than blanks, comments and the like */
    bool after_tags, in_page, was_page;
    bool has_content; /* the page has something other than html, head and body */
    bool no_comment_end, no_pi_end, no_subset_end; /* in the rest */
};

static bool is_listed(struct str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieqz(name, list[i]))
            return true;
    return false;
}

static bool is_tag_end(struct str s, size_t at)
{
    return at >= s.len || strchr(" \t\r\n/>", s.ptr[at]) != NULL;
}

struct str sniff_tag_name(struct str s)
{
    size_t from = 1, to = 1;

    while (!is_tag_end(s, to) && to < NAME_MAX_LEN) {
        if (s.ptr[to] == ':')
            from = to + 1;
        to++;
    }
    return str_slice(s, from, to);
}

static bool is_feed_root(struct str name)
{
    static const char *const roots[] = {"rss", "feed", "rdf", "channel", "entry"};

    return is_listed(name, roots, ARRAY_LEN(roots));
}

/* Returns the rest of the text. */
static struct str rest_of(const struct scan *s)
{
    return str_slice(s->head, s->at, s->head.len);
}

/* Move to the offset `len` after the next `end`. *is_missing remembers that `end` does not occur,
 * so that no input makes it search again and again. */
static bool move_after(struct scan *s, struct str end, bool *is_missing)
{
    ssize_t found = *is_missing ? -1 : str_find(rest_of(s), end);

    *is_missing = found < 0;
    if (found >= 0)
        s->at += (size_t)found + end.len;
    return found >= 0;
}

/* "<!DOCTYPE html" in any case */
static bool is_html_doctype(struct str s)
{
    const struct str begin = STR("<!doctype");
    struct str name = str_trim(str_slice(s, begin.len, begin.len + NAME_MAX_LEN));

    return str_istarts(s, begin) && str_istarts(name, STR("html")) &&
           (is_tag_end(name, 4) || name.ptr[4] == '[');
}

static void skip_declaration(struct scan *s)
{
    struct str rest = rest_of(s);
    ssize_t end = str_chr(rest, '>');

    if (is_html_doctype(rest))
        s->in_page = s->was_page = true;
    if (end >= 0 && str_chr(str_slice(rest, 0, (size_t)end), '[') >= 0 &&
        move_after(s, STR("]>"), &s->no_subset_end))
        return;
    s->at += end < 0 ? 2 : (size_t)end + 1;
}

/* Skip a comment, a processing instruction or a declaration. False: there is none. */
static bool skip_non_element(struct scan *s)
{
    struct str rest = rest_of(s);

    if (str_starts(rest, STR("<!--"))) {
        if (!move_after(s, STR("-->"), &s->no_comment_end))
            s->at += 4;
    } else if (str_starts(rest, STR("<?"))) {
        if (str_starts(rest, STR("<?xml ")) && s->after_junk)
            s->decl_at = s->at;
        if (!move_after(s, STR("?>"), &s->no_pi_end))
            s->at += 2;
    } else if (str_starts(rest, STR("<!"))) {
        skip_declaration(s);
    } else {
        return false;
    }
    return true;
}

/* False for what only begins like a tag: another tag may begin within it. */
static bool is_sound(const struct html_token *t)
{
    if (str_chr(t->name, '<') >= 0)
        return false;
    for (size_t i = 0; t->kind == HTML_START_TAG && i < t->n_attrs; i++)
        if (str_chr(t->attrs[i].name, '<') >= 0)
            return false;
    return true;
}

/* Read the tag at s->at, up to s->lx.at. False: it is none. */
static bool read_tag(struct scan *s, struct html_token *t)
{
    struct str rest = rest_of(s);
    size_t name_at = str_starts(rest, STR("</")) ? 2 : 1;
    enum html_kind kind;

    if (s->at < s->unsound_end || rest.len <= name_at || !ascii_is_alpha(rest.ptr[name_at]))
        return false;
    s->lx.at = s->at;
    kind = html_next(&s->lx, t);
    if (kind != HTML_START_TAG && kind != HTML_END_TAG)
        return false;
    if (!is_sound(t))
        s->unsound_end = s->lx.at;
    return s->at >= s->unsound_end;
}

/* Take what begins with `<` and is not the root of a feed. */
static void take_tag(struct scan *s)
{
    static const char *const of_pages[] = {"html", "head", "body"};
    struct html_token t;

    s->after_junk = true;
    if (!read_tag(s, &t)) {
        s->at++;
        return;
    }
    s->after_tags = true;
    if (t.kind == HTML_END_TAG) {
        s->in_page = s->in_page && !str_eqz(t.name, "html");
    } else {
        bool is_frame = is_listed(t.name, of_pages, ARRAY_LEN(of_pages));

        s->in_page = s->in_page || is_frame;
        s->has_content = s->has_content || (s->in_page && !is_frame);
        s->was_page = s->was_page || s->in_page || str_eqz(t.name, "title");
        /* a drawing may have its licence as RDF */
        if (!t.self_closing && (html_is_raw(t.name) || str_eqz(t.name, "svg")))
            (void)html_skip_raw(&s->lx, t.name);
    }
    s->at = s->lx.at;
}

/* Move to the next `<`. False: there is none. */
static bool skip_text(struct scan *s)
{
    struct str rest = rest_of(s);
    ssize_t lt = str_chr(rest, '<');

    if (lt < 0)
        return false;
    if (str_trim(str_slice(rest, 0, (size_t)lt)).len > 0) {
        s->after_junk = true;
        s->has_content = s->has_content || s->in_page;
    }
    s->at += (size_t)lt;
    return true;
}

/* Move to the root element of a feed. A page may be nothing but a wrapping of it. */
static bool find_root(struct scan *s)
{
    while (skip_text(s)) {
        if (skip_non_element(s))
            continue;
        if (is_feed_root(sniff_tag_name(rest_of(s))) && !(s->in_page && s->has_content))
            return true;
        take_tag(s);
    }
    return false;
}

struct sniffed sniff_document(struct str text)
{
    struct scan s = {.a = ARENA_INIT, .head = str_slice(text, 0, SNIFF_LEN), .decl_at = SIZE_MAX};
    struct sniffed out = {0};

    html_lexer_init(&s.lx, &s.a, s.head);
    out.is_feed = find_root(&s);
    out.after_tags = s.after_tags;
    out.is_page = !out.is_feed && s.was_page;
    if (out.is_feed && s.after_junk)
        out.from = s.decl_at != SIZE_MAX ? s.decl_at : s.at;
    arena_release(&s.a);
    return out;
}
