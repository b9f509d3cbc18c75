/* feed/read/prefilter_tags.c - tags: the stack of open elements, attributes. */
#include "feed/read/prefilter_priv.h"

#include "base/compiler.h"
#include "base/mem.h"
#include "base/scan.h"
#include "feed/read/encoding.h"

/* ---------------------------------------------------------------- open elements */

static unsigned char name_hash(struct str name)
{
    return (unsigned char)(name.len * 31 + (unsigned char)name.ptr[0] * 7 +
                           (unsigned char)name.ptr[name.len - 1]);
}

static void push_open(struct prefilter *f, struct str name, size_t n_namespaces)
{
    f->n_declared[f->depth] = (unsigned char)n_namespaces;
    f->n_namespaces += n_namespaces;
    f->open[f->depth++] = name;
    f->n_open_by_hash[name_hash(name)]++;
}

/* Write the end tag of the innermost element. */
void prefilter_close_one(struct prefilter *f)
{
    struct str name = f->open[--f->depth];

    if (f->misended > f->depth)
        f->misended = 0;

    f->n_open_by_hash[name_hash(name)]--;
    f->n_namespaces -= f->n_declared[f->depth];
    PUT(f, "</");
    prefilter_put(f, name.ptr, name.len);
    PUT(f, ">");
    f->n_tags++;
}

/* The innermost element has no end tag. It ends where the element around it ends, or where another
 * one begins. If it came upon a wrong end tag before, nobody knows to which element its text
 * belongs. */
static void close_unended(struct prefilter *f)
{
    if (f->misended == f->depth) {
        if (f->n_texts == TEXTS_MAX)
            prefilter_flush(f);
        f->texts[f->n_texts++] = (struct prefilter_text){str_of(prefilter_lost_text, 0), f->n_tags};
    }
    prefilter_close_one(f);
}

static bool is_text_construct(struct str name)
{
    static const char *const names[] = {"title",   "subtitle", "tagline", "description",
                                        "summary", "content",  "rights",  "copyright",
                                        "info",    "abstract"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return true;
    return false;
}

/* The innermost element has its end tag. The root's end tag is written last, because some servers
 * send two documents one after the other. */
static void end_element(struct prefilter *f)
{
    if (f->depth > 1)
        prefilter_close_one(f);
    else
        f->has_ended = true;
}

void prefilter_end_tag(struct prefilter *f)
{
    const char *q = f->p + 2, *gt;
    struct str name;
    size_t at;

    if (f->depth > 1 && f->n_too_deep == 0 && !f->has_ended) { /* the usual case */
        name = f->open[f->depth - 1];
        if ((size_t)(f->end - q) > name.len && q[name.len] == '>' &&
            memcmp(q, name.ptr, name.len) == 0) {
            f->p = q + name.len + 1;
            prefilter_close_one(f);
            return;
        }
    }
    while (q < f->end && prefilter_is_name_char(*q))
        q++;
    name = str_of(f->p + 2, (size_t)(q - f->p - 2));
    for (gt = q; gt < f->end && is_space(*gt);)
        gt++;
    if (gt < f->end && *gt != '>') {
        mended(f, "An end tag has more than its name");
        while (gt < f->end && *gt != '>' && *gt != '<')
            gt++;
    }
    if (gt == f->end)
        mended(f, "The document is cut off within a tag");
    f->p = gt < f->end && *gt == '>' ? gt + 1 : gt;
    if (f->n_too_deep > 0) {
        f->n_too_deep--;
        return;
    }
    if (f->has_ended) {
        mended(f, "There is something after the end of the document");
        return;
    }
    if (f->depth > 0 && str_eq(f->open[f->depth - 1], name)) {
        end_element(f);
        return;
    }
    mended(f, "Start and end tags do not match");
    f->result->is_crossed = true;
    if (name.len == 0)
        return;
    if (f->n_open_by_hash[name_hash(name)] > 0)
        for (at = f->depth; at-- > 0;)
            if (str_eq(f->open[at], name)) {
                while (f->depth > at + 1)
                    close_unended(f);
                end_element(f);
                return;
            }
    if (f->depth > 0 && str_ieq(f->open[f->depth - 1], name))
        end_element(f); /* <Title>..</title> */
    else if (f->depth > 0 && is_text_construct(name) && is_text_construct(f->open[f->depth - 1]))
        f->misended = f->depth;
}

/* ---------------------------------------------------------------- names */

/* XML 1.0 (fifth edition), section 2.3: NameStartChar and NameChar beyond ASCII. */
static bool is_wide_name_char(uint32_t cp, bool at_start)
{
    static const struct {
        uint32_t from, to;
    } starts[] = {{0xC0, 0xD6},     {0xD8, 0xF6},     {0xF8, 0x2FF},    {0x370, 0x37D},
                  {0x37F, 0x1FFF},  {0x200C, 0x200D}, {0x2070, 0x218F}, {0x2C00, 0x2FEF},
                  {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF}};

    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (cp >= starts[i].from && cp <= starts[i].to)
            return true;
    return !at_start &&
           (cp == 0xB7 || (cp >= 0x300 && cp <= 0x36F) || cp == 0x203F || cp == 0x2040);
}

/* Returns true when `name` is a valid name of XML. It has only characters of
 * prefilter_is_name_char(). */
static bool is_name(struct str name)
{
    if (scan_non_ascii(name.ptr, name.ptr + name.len) == name.ptr + name.len)
        return true;
    for (size_t i = 0; i < name.len;) {
        unsigned char c = (unsigned char)name.ptr[i];
        size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4, from = i;
        uint32_t cp = c & (0x7F >> n);

        if (name.len - i < n)
            return false;
        while (++i < from + n)
            cp = cp << 6 | ((unsigned char)name.ptr[i] & 63);
        /* after the colon of a prefix, the local name begins */
        if (c >= 0x80 && !is_wide_name_char(cp, from == 0 || name.ptr[from - 1] == ':'))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- start tags */

const char *prefilter_find_quote(struct prefilter *f, const char *from, char quote)
{
    struct quote_cache *c = &f->quotes[quote == '"'];

    if (c->from == NULL || from < c->from || (c->at != NULL && from > c->at)) {
        c->from = from;
        c->at = memchr(from, quote, (size_t)(f->end - from));
    }
    return c->at;
}

struct attribute {
    struct str name, value; /* value null: it has none */
};

struct tag {
    struct str name;
    bool is_empty, is_odd; /* odd: it must be repaired */
    const char *end;       /* after the '>' */
    size_t n_namespaces;   /* number of attributes that declare a namespace */
    size_t n;
    struct attribute attributes[LIMIT_XML_ATTRIBUTES];
};

/* Returns true when this name, or URI of a namespace, may go to the parser. False: there are too
 * many already. */
static bool admit(struct prefilter *f, struct str name)
{
    uint32_t h = 2166136261u;
    unsigned char bit;

    if (++f->n_names <= NAMES_FREE)
        return true;
    if (f->names == NULL)
        f->names = mem_zalloc(NAMES_BITS / 8);
    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.ptr[i]) * 16777619u;
    h = (h ^ h >> 20) % NAMES_BITS;
    bit = (unsigned char)(1 << (h % 8));
    if (f->names[h / 8] & bit)
        return true;
    if (f->n_bits == NAMES_MAX) {
        mended(f, "There are too many different names");
        return false;
    }
    f->n_bits++;
    f->names[h / 8] |= bit;
    return true;
}

/* Between the two quotes there is a '>'. Returns true when the value has only one quote, and text
 * and tags follow it: x="1>text</a> */
static bool is_left_open(const char *from, const char *gt, const char *to)
{
    const char *lt = memchr(gt, '<', (size_t)(to - gt));

    return memchr(from, '<', (size_t)(gt - from)) == NULL && lt != NULL && lt + 1 < to &&
           lt[1] == '/';
}

/* Stops at the end of a value, or at a byte that may have to be repaired before it. */
#define MAY_BE_ODD(b) (((b) < 0x20) | ((b) == 0xEF) | ((b) == '<') | ((b) == '&'))
SCAN_DEFINE(scan_double_quoted, MAY_BE_ODD(v) | (v == '"'), MAY_BE_ODD(c) || c == '"')
SCAN_DEFINE(scan_quoted, MAY_BE_ODD(v) | (v == '\''), MAY_BE_ODD(c) || c == '\'')

/* Read the value of an attribute at `p`, after '='. Returns what is after it; NULL: it has no
 * end. */
static const char *attribute_value(struct prefilter *f, const char *p, struct tag *t,
                                   struct str *value)
{
    const char *q;

    if (*p == '"' || *p == '\'') {
        q = *p == '"' ? scan_double_quoted(p + 1, f->end) : scan_quoted(p + 1, f->end);
        if (q < f->end && *q == *p && q - p <= ATTRIBUTE_LEN_MAX) { /* nothing in it needs repair */
            *value = str_of(p + 1, (size_t)(q - p - 1));
            return q + 1;
        }
        q = prefilter_find_quote(f, p + 1, *p);
        if (q == NULL || prefilter_scan(p + 1, q, VALUE) < q) {
            const char *to = q == NULL ? f->end : q;
            const char *gt = memchr(p + 1, '>', (size_t)(to - p - 1));

            t->is_odd = true;
            if (gt != NULL && (q == NULL || is_left_open(p + 1, gt, q))) {
                mended(f, "An attribute value has only one quote");
                q = gt;
            }
        }
        if (q == NULL || q - p > ATTRIBUTE_LEN_MAX) {
            t->end = q == NULL ? f->end : q;
            return NULL;
        }
        *value = str_of(p + 1, (size_t)(q - p - 1));
        return *q == '>' ? q : q + 1;
    }
    mended(f, "An attribute value has no quotes");
    t->is_odd = true;
    for (q = p; q < f->end && !is_space(*q) && *q != '>' && *q != '<' && *q != '"'; q++)
        if (*q == '/' && q + 1 < f->end && q[1] == '>')
            break;
    *value = str_of(p, (size_t)(q - p));
    return q;
}

/* Read the start tag at f->p. False: it is not a tag; then t->end is how far it was read. */
static bool scan_tag(struct prefilter *f, struct tag *t)
{
    const char *p = f->p + 1, *q;

    t->n = t->n_namespaces = 0;
    t->is_empty = t->is_odd = false;
    t->end = p;
    while (p < f->end && prefilter_is_name_char(*p))
        p++;
    t->name = str_of(f->p + 1, (size_t)(p - f->p - 1));
    if (t->name.len > NAME_LEN_MAX || !is_name(t->name))
        return false;
    for (;;) {
        struct attribute a = {STR_NULL, STR_NULL};
        bool is_namespace;

        q = t->end = prefilter_skip_space(p, f->end);
        if (q == f->end || *q == '<')
            return false;
        if (*q == '>') {
            t->end = q + 1;
            return true;
        }
        if (*q == '/' && q + 1 < f->end && q[1] == '>') {
            t->is_empty = true;
            t->end = q + 2;
            return true;
        }
        if (!is_name_start(*q)) { /* a byte that must not be here */
            mended(f, "A tag has stray characters");
            t->is_odd = true;
            p = q + 1;
            continue;
        }
        if (q == p) {
            mended(f, "There is no space between attributes");
            t->is_odd = true;
        }
        for (p = q; p < f->end && prefilter_is_name_char(*p);)
            p++;
        a.name = str_of(q, (size_t)(p - q));
        q = prefilter_skip_space(p, f->end);
        if (q < f->end && *q == '=') {
            q = prefilter_skip_space(q + 1, f->end);
            if (q == f->end || (p = attribute_value(f, q, t, &a.value)) == NULL)
                return false;
        } else {
            mended(f, "An attribute has no value");
            t->is_odd = true;
        }
        is_namespace = str_starts(a.name, STR("xmlns"));
        if (!is_name(a.name)) {
            mended(f, "A tag has stray characters");
            t->is_odd = true;
        } else if (t->n == LIMIT_XML_ATTRIBUTES) {
            mended(f, "A tag has too many attributes");
            f->result->is_crowded = t->is_odd = true;
            if (f->refuses_crowds) {
                f->done = true;
                t->end = f->p = f->end;
                return false;
            }
        } else if (a.name.len > NAME_LEN_MAX ||
                   (is_namespace && f->n_namespaces + t->n_namespaces == NAMESPACES_MAX)) {
            mended(f, "A tag has too many namespaces, or too long names");
            t->is_odd = true;
        } else if (!admit(f, a.name) || (is_namespace && !admit(f, a.value))) {
            t->is_odd = true;
        } else {
            t->attributes[t->n++] = a;
            t->n_namespaces += is_namespace;
        }
    }
}

static void put_value(struct prefilter *f, struct str v)
{
    const char *p = v.ptr, *end = v.ptr + v.len, *q;

    while (p < end) {
        uint32_t cp = 0;
        struct str value = STR_NULL;
        size_t len = 1;

        q = prefilter_scan(p, end, VALUE);
        prefilter_put(f, p, (size_t)(q - p));
        p = q;
        if (p == end)
            break;
        if (*p == '&') {
            switch (prefilter_reference(f, p, end, &cp, &value, &len)) {
            case REF_NONE:
                mended(f, "An ampersand is not escaped");
                prefilter_put_numeric(f, '&');
                len = 1;
                break;
            case REF_CHAR:
                prefilter_put_numeric(f, c1_to_windows1252(cp));
                break;
            case REF_VALUE:
                for (size_t i = 0; i < value.len; i++)
                    if (value.ptr[i] == '"' || value.ptr[i] == '<')
                        prefilter_put_numeric(f, (unsigned char)value.ptr[i]);
                    else
                        prefilter_put(f, value.ptr + i, 1);
                break;
            case REF_NOTHING:
                break;
            }
            p += len;
        } else if (*p == '<') {
            mended(f, "A less-than sign in an attribute value is not escaped");
            prefilter_put_numeric(f, '<');
            p++;
        } else {
            p += prefilter_odd_byte(f, p, end);
        }
    }
}

/* Write the repaired tag, with quotes. */
static void put_mended_tag(struct prefilter *f, const struct tag *t)
{
    PUT(f, "<");
    prefilter_put(f, t->name.ptr, t->name.len);
    for (size_t i = 0; i < t->n; i++) {
        const struct attribute *a = &t->attributes[i];
        struct str v = str_is_null(a->value) ? a->name : a->value;
        bool has_double = memchr(v.ptr, '"', v.len) != NULL;

        PUT(f, " ");
        prefilter_put(f, a->name.ptr, a->name.len);
        prefilter_put(f, has_double ? "='" : "=\"", 2);
        put_value(f, v);
        prefilter_put(f, has_double ? "'" : "\"", 1);
    }
    if (t->is_empty)
        PUT(f, "/>");
    else
        PUT(f, ">");
}

void prefilter_stray_less_than(struct prefilter *f)
{
    mended(f, "A less-than sign is not escaped");
    if (f->depth > 0)
        prefilter_put_char(f, '<');
    f->p++;
}

static bool is_one_of(struct str name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (str_ieqz(name, *list))
            return true;
    return false;
}

/* Elements whose content is text, by the length of their names. Those of the second list may have
 * markup that was not escaped. */
static const char *const plain_texts[12][4] = {
    [2] = {"id"},       [4] = {"link", "guid"},
    [5] = {"title"},    [7] = {"pubdate", "updated"},
    [8] = {"comments"}, [9] = {"published", "atom:link"},
};
static const char *const rich_texts[12][2] = {
    [6] = {"author"}, [7] = {"summary"}, [8] = {"category"}, [11] = {"description"}};

/* Returns true when an element of a feed begins that cannot be inside the innermost one. Then that
 * one was not closed: "<title>a<link>", "<link href='a'><title>". */
static bool ends_innermost(const struct prefilter *f, struct str name)
{
    static const char *const marks[] = {"item",    "entry",     "channel",  "guid",
                                        "pubdate", "enclosure", "comments", NULL};
    static const char *const members[] = {"title",     "link",     "description", "author",
                                          "published", "category", "updated",     NULL};
    struct str inner = f->open[f->depth - 1];

    if (inner.len >= ARRAY_LEN(plain_texts) ||
        (plain_texts[inner.len][0] == NULL && rich_texts[inner.len][0] == NULL))
        return false;
    if (is_one_of(inner, plain_texts[inner.len]))
        return is_one_of(name, marks) || is_one_of(name, members);
    return is_one_of(inner, rich_texts[inner.len]) && is_one_of(name, marks);
}

/* What looked like a tag up to `end` is text. There may be tags in what looked like its attributes,
 * so it is read again, unless that has happened too often. */
static void not_a_tag(struct prefilter *f, const char *end)
{
    size_t n = (size_t)(end - f->p);
    bool is_last = n > f->vain_left;

    f->vain_left -= is_last ? 0 : n;
    prefilter_stray_less_than(f);
    if (!is_last)
        return;
    if (f->depth > 0)
        prefilter_cdata_content(f, f->p, end);
    f->p = end;
}

void prefilter_start_tag(struct prefilter *f)
{
    struct tag t;

    if (!scan_tag(f, &t)) {
        if (!f->done)
            not_a_tag(f, t.end);
        return;
    }
    if (f->guesses && f->depth > 1 && !f->has_ended && ends_innermost(f, t.name)) {
        mended(f, "An end tag is missing");
        close_unended(f);
    }
    if (!admit(f, t.name)) {
        f->p = t.end; /* its end tag will have nothing to close */
        return;
    }
    if (f->depth == LIMIT_XML_DEPTH) {
        mended(f, "Elements are nested too deeply");
        f->n_too_deep += !t.is_empty;
        f->p = t.end;
        return;
    }
    if (f->has_ended || (f->depth == 0 && f->had_root)) {
        mended(f, "There is something after the end of the document");
        f->p = t.end;
        if (f->depth == 1 && !t.is_empty && str_eq(f->open[0], t.name))
            /* a second document of the same kind: go on as if it were part of the first */
            f->has_ended = false;
        else
            f->done = true;
        return;
    }
    f->had_root = true;
    if ((size_t)(t.end - f->p) > sizeof f->out - f->n)
        prefilter_flush(f);
    if (t.is_odd)
        put_mended_tag(f, &t);
    else
        prefilter_put(f, f->p, (size_t)(t.end - f->p));
    f->n_tags += t.is_empty ? 2 : 1;
    if (!t.is_empty)
        push_open(f, t.name, t.n_namespaces);
    f->p = t.end;
}
