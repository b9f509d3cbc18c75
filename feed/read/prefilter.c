/* feed/read/prefilter.c - one pass over the text with a stack of open elements.
 *
 * A search for an end that may be missing ("-->", a quote) remembers that it failed, or where it
 * succeeded. So no input makes it look at the same bytes again and again. */
#include "feed/read/prefilter_priv.h"

#include "base/mem.h"

/* ---------------------------------------------------------------- declarations */

/* Take <!ENTITY name "value"> within the DOCTYPE. It is kept when the value is short plain text,
 * with no references except to characters. */
static void declare_entity(struct prefilter *f, const char *p, const char *end)
{
    struct str name, value;
    const char *q;

    p = prefilter_skip_space(p, end);
    for (q = p; q < end && prefilter_is_name_char(*q);)
        q++;
    name = str_of(p, (size_t)(q - p));
    p = prefilter_skip_space(q, end);
    if (name.len == 0 || name.len > 64 || p == end || (*p != '"' && *p != '\'') ||
        (q = memchr(p + 1, *p, (size_t)(end - p - 1))) == NULL)
        return;
    value = str_of(p + 1, (size_t)(q - p - 1));
    if (value.len > 256 || f->n_entities == ENTITIES_MAX)
        return;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        if (c == '<' || c == ']' || (unsigned char)c < 0x20 || (unsigned char)c == 0xEF ||
            (c == '&' && (i + 1 == value.len || value.ptr[i + 1] != '#')))
            return;
    }
    for (size_t i = 0; i < f->n_entities; i++)
        if (str_eq(f->entities[i].name, name))
            return; /* the first declaration counts */
    f->entities[f->n_entities++] = (struct declared_entity){name, value};
}

/* Skip <!DOCTYPE ... [ ... ]>. */
static void doctype(struct prefilter *f)
{
    const char *p = f->p + 9, *from = f->p;
    bool in_subset = false;

    if (f->had_root || f->depth > 0)
        mended(f, "A DOCTYPE is not at the beginning of the document");
    while (p < f->end && !f->no_doctype_end) {
        char c = *p;

        if (c == '"' || c == '\'') {
            const char *q = prefilter_find_quote(f, p + 1, c);

            p = q == NULL ? p + 1 : q + 1;
            continue;
        }
        if (in_subset && str_starts(str_of(p, (size_t)(f->end - p)), STR("<!ENTITY"))) {
            size_t left = (size_t)(f->end - p);

            declare_entity(f, p + 8, p + (left < 1024 ? left : 1024));
            p += 8;
            continue;
        }
        if (in_subset && c == '<' && str_starts(str_of(p, (size_t)(f->end - p)), STR("<!--"))) {
            const char *q =
                f->no_comment_end ? NULL : memmem(p + 4, (size_t)(f->end - p) - 4, "-->", 3);

            f->no_comment_end = q == NULL;
            p = q == NULL ? p + 4 : q + 3;
            continue;
        }
        if (c == '[')
            in_subset = true;
        else if (c == ']')
            in_subset = false;
        else if (c == '>' && !in_subset)
            break;
        p++;
    }
    if (p == f->end || f->no_doctype_end) { /* it has no end, so skip only to the first '>' */
        f->no_doctype_end = true;
        mended(f, "The DOCTYPE has no end");
        p = memchr(from, '>', (size_t)(f->end - from));
        if (p == NULL)
            p = f->end - 1;
    }
    f->p = p + 1;
    if (str_ifind(str_of(from, (size_t)(p - from) < 1024 ? (size_t)(p - from) : 1024),
                  STR("netscape")) >= 0)
        f->result->is_netscape = true;
}

/* Find `needle` after f->p + skip. *is_missing remembers that there is none. */
static const char *find_end(struct prefilter *f, size_t skip, struct str needle, bool *is_missing)
{
    const char *q = f->p + skip, *last = f->end - needle.len;

    while (!*is_missing && q <= last) {
        q = memchr(q, needle.ptr[0], (size_t)(last - q) + 1);
        if (q == NULL)
            break;
        if (memcmp(q, needle.ptr, needle.len) == 0)
            return q;
        q++;
    }
    *is_missing = true;
    return NULL;
}

/* Returns where the CDATA section at f->p ends, if it is not closed: before the end tag of its
 * element, or at the end of the document. */
static const char *unclosed_cdata_end(const struct prefilter *f)
{
    const char *q = f->p;
    struct str name;

    if (f->depth == 0)
        return f->end;
    name = f->open[f->depth - 1];
    while ((q = memchr(q, '<', (size_t)(f->end - q))) != NULL) {
        struct str rest = str_of(q + 1, (size_t)(f->end - q) - 1);

        if (str_starts(rest, STR("/")) && str_starts(str_slice(rest, 1, rest.len), name) &&
            (rest.len == name.len + 1 || !prefilter_is_name_char(rest.ptr[name.len + 1])))
            return q;
        q++;
    }
    return f->end;
}

static void declaration(struct prefilter *f)
{
    struct str rest = str_of(f->p, (size_t)(f->end - f->p));
    const char *q;

    if (str_starts(rest, STR("<!--"))) {
        if ((q = find_end(f, 4, STR("-->"), &f->no_comment_end)) == NULL) {
            mended(f, "A comment has no end");
            q = memchr(f->p, '>', (size_t)(f->end - f->p));
            f->p = q == NULL ? f->end : q + 1;
            return;
        }
        if (q > f->p + 4 && memmem(f->p + 4, (size_t)(q - f->p) - 3, "--", 2) < (const void *)q &&
            memmem(f->p + 4, (size_t)(q - f->p) - 3, "--", 2) != NULL)
            mended(f, "A comment has two dashes in it");
        f->p = q + 3;
    } else if (str_starts(rest, STR("<![CDATA["))) {
        const char *behind = f->end;

        q = find_end(f, 9, STR("]]>"), &f->no_cdata_end);
        if (q == NULL) {
            mended(f, "A CDATA section has no end");
            q = behind = unclosed_cdata_end(f);
            if (q - f->p >= 11 && q[-1] == ']' && q[-2] == ']')
                q -= 2;
        } else {
            behind = q + 3;
        }
        if (f->depth > 0)
            prefilter_cdata_content(f, f->p + 9, q);
        else
            mended(f, "There is text outside the root element");
        f->p = behind;
    } else if (str_istarts(rest, STR("<!doctype"))) {
        doctype(f);
    } else {
        prefilter_stray_less_than(f);
    }
}

static void processing_instruction(struct prefilter *f, const char *begin)
{
    const char *q = find_end(f, 2, STR("?>"), &f->no_pi_end);

    if (f->p != begin && (size_t)(f->end - f->p) > 6 && memcmp(f->p, "<?xml", 5) == 0 &&
        is_space(f->p[5]))
        mended(f, "The XML declaration is not at the beginning");
    if (q == NULL) {
        mended(f, "A processing instruction has no end");
        q = memchr(f->p, '>', (size_t)(f->end - f->p));
        f->p = q == NULL ? f->end : q + 1;
        return;
    }
    f->p = q + 2;
}

/* ---------------------------------------------------------------- the loop */

static void markup(struct prefilter *f, const char *begin)
{
    char c = f->p + 1 < f->end ? f->p[1] : ' ';

    if (c == '/')
        prefilter_end_tag(f);
    else if (c == '!')
        declaration(f);
    else if (c == '?')
        processing_instruction(f, begin);
    else if (is_name_start(c))
        prefilter_start_tag(f);
    else
        prefilter_stray_less_than(f);
}

/* Text outside the root element. */
static void outside(struct prefilter *f)
{
    const char *q = memchr(f->p, '<', (size_t)(f->end - f->p));

    if (q == NULL)
        q = f->end;
    if (prefilter_skip_space(f->p, q) < q)
        mended(f, "There is text outside the root element");
    f->p = q;
}

void prefilter(struct str text, enum prefilter_mode mode, prefilter_sink_fn *sink, void *ctx,
               struct prefilter_result *out)
{
    struct prefilter *f = mem_alloc(sizeof *f);

    memset(f, 0, offsetof(struct prefilter, texts));
    *out = (struct prefilter_result){.why = NULL};
    f->guesses = mode == PREFILTER_GUESSES;
    f->refuses_crowds = mode == PREFILTER_REFUSES_CROWDS;
    f->p = text.ptr;
    f->end = text.ptr + text.len;
    f->sink = sink;
    f->ctx = ctx;
    f->result = out;
    f->vain_left = VAIN_FACTOR * text.len;
    while (f->p < f->end && !f->done) {
        const char *q;

        if ((f->depth == 0 || f->has_ended) && *f->p != '<') {
            outside(f);
            continue;
        }
        q = prefilter_scan(f->p, f->end, TEXT);
        if (q > f->p)
            prefilter_put_text(f, f->p, (size_t)(q - f->p));
        f->p = q;
        if (q == f->end)
            break;
        if (*q == '<') {
            markup(f, text.ptr);
        } else if (*q == '&') {
            prefilter_text_reference(f);
        } else if (*q == ']') {
            if (f->end - q >= 3 && memcmp(q, "]]>", 3) == 0)
                mended(f, "There is the end of a CDATA section without its beginning");
            prefilter_put_text(f, q, 1);
            f->p++;
        } else {
            f->p += prefilter_odd_byte(f, q, f->end);
        }
    }
    if (f->depth > 0 && !f->has_ended)
        mended(f, "The document is cut off or an end tag is missing");
    else if (!f->had_root)
        mended(f, "The document has no element");
    if (f->depth > 0 && f->has_ended)
        prefilter_close_one(f);
    prefilter_flush(f);
    mem_free(f->names);
    mem_free(f);
}
