/* feed/read/elements_ext.c - extension modules whose elements mean more than their text: Dublin
 * Core, content, iTunes, Creative Commons, admin, syndication hints, feed history, tombstones,
 * chapters. The text of an element without a row becomes the member "prefix_name". */
#include "feed/read/builder.h"

#include "base/clock.h"
#include "feed/text/date.h"

/* ---------------------------------------------------------------- Dublin Core */

static void start_dc_contributor(struct builder *b, struct frame *f, const struct attrs *at)
{
    start_contributor(b, f, at);
    builder_push(f, STR("name"), false);
}

static void end_dc_contributor(struct builder *b, struct frame *f)
{
    bool in_author = b->in_author, in_publisher = b->in_publisher;

    b->in_author = b->in_publisher = false;
    end_name(b, f);
    b->in_author = in_author;
    b->in_publisher = in_publisher;
    b->in_contributor = false;
    builder_merge_person(b, STR("contributors"));
}

/* dcterms:valid has text like "start=2003-12-31T10:14:55Z; end=...". */
static void end_valid(struct builder *b, struct frame *f)
{
    struct str rest = builder_pop(b, f), part, key;

    while (!str_is_null(rest)) {
        part = str_trim(str_split(&rest, ';'));
        if (str_chr(part, '=') < 0)
            continue;
        key = str_trim(str_split(&part, '='));
        if (str_eqz(key, "start")) {
            value_set_textz(b->a, builder_context(b), "validity_start", part);
            builder_set_date(b, "validity_start_parsed", part);
        } else if (str_eqz(key, "end")) {
            value_set_textz(b->a, builder_context(b), "validity_end", part);
            builder_set_date(b, "validity_end_parsed", part);
        }
    }
}

/* ---------------------------------------------------------------- iTunes */

static void start_itunes_category(struct builder *b, struct frame *f, const struct attrs *at)
{
    builder_add_tag(b, attrs_get(at, "text"), STR("http://www.itunes.com/"), STR_NULL);
    builder_push(f, STR("category"), true);
}

static void start_itunes_owner(struct builder *b, struct frame *f, const struct attrs *at UNUSED)
{
    b->in_publisher = true;
    builder_push(f, STR("publisher"), false);
}

static void end_itunes_owner(struct builder *b, struct frame *f UNUSED)
{
    b->in_publisher = false;
    builder_sync_person(b, "publisher");
}

static void start_itunes_image(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    struct str href = attrs_get(at, "href");
    struct value *image;

    if (str_is_null(href))
        href = attrs_get(at, "url");
    if (href.len == 0)
        return;
    image = value_dict(b->a);
    value_set_textz(b->a, image, "href", builder_resolve(b, href));
    value_setz(b->a, builder_context(b), "image", image);
}

static void end_itunes_block(struct builder *b, struct frame *f)
{
    struct str raw = builder_raw(b, f);

    value_setz(b->a, builder_context(b), "itunes_block",
               value_int(b->a, str_eqz(raw, "yes") || str_eqz(raw, "Yes")));
}

static void end_itunes_explicit(struct builder *b, struct frame *f)
{
    struct str raw = builder_raw(b, f);
    struct value *v = value_null(b->a);

    if (str_eqz(raw, "yes") || str_eqz(raw, "true"))
        v = value_bool(b->a, true);
    else if (str_eqz(raw, "clean") || str_eqz(raw, "no") || str_eqz(raw, "false"))
        v = value_bool(b->a, false);
    value_setz(b->a, builder_context(b), "itunes_explicit", v);
}

/* ---------------------------------------------------------------- licences, admin */

static void add_license(struct builder *b, struct str href)
{
    struct value *link = value_dict(b->a);

    value_set_textz(b->a, link, "rel", STR("license"));
    if (href.len > 0)
        value_set_textz(b->a, link, "href", href);
    value_push(b->a, value_list_at(b->a, builder_context(b), STR("links")), link);
}

static void start_cc_license(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    struct str href = attrs_get(at, "rdf:resource");

    /* an empty href would be the document itself */
    add_license(b, href.len == 0 ? href : builder_resolve(b, href));
}

static void end_creativecommons(struct builder *b, struct frame *f)
{
    add_license(b, builder_pop(b, f));
}

static void start_generatoragent(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    struct str href = builder_resolve(b, attrs_get(at, "rdf:resource"));
    struct value *detail = value_dict(b->a);

    builder_store(b, STR("generator"), href);
    value_set_textz(b->a, detail, "href", href);
    value_setz(b->a, builder_context(b), "generator_detail", detail);
}

static void start_errorreportsto(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    builder_store(b, STR("errorreportsto"), builder_resolve(b, attrs_get(at, "rdf:resource")));
}

/* ---------------------------------------------------------------- threading */

/* An empty element with attributes only: its member is the dict of the attributes. */
static void start_attributes(struct builder *b, struct frame *f, const struct attrs *at)
{
    value_set(b->a, builder_context(b), f->name->key, attrs_dict(b, at));
}

/* ---------------------------------------------------------------- syndication hints */

static void note_period(struct builder *b)
{
    static const struct {
        const char *name;
        int64_t s;
    } periods[] = {{"hourly", 3600},
                   {"daily", 86400},
                   {"weekly", 7 * 86400},
                   {"monthly", 30 * 86400},
                   {"yearly", 365 * 86400}};
    struct value *feed = b->doc->feed;
    struct str period = value_get_textz(feed, "sy_updateperiod");
    int64_t frequency = 1;

    if (!str_to_i64(value_get_textz(feed, "sy_updatefrequency"), &frequency) || frequency < 1)
        frequency = 1;
    b->doc->hints.sy_period_s = 0;
    for (size_t i = 0; i < ARRAY_LEN(periods); i++)
        if (str_ieqz(period, periods[i].name))
            b->doc->hints.sy_period_s = periods[i].s / frequency;
}

static void end_sy(struct builder *b, struct frame *f)
{
    (void)builder_pop(b, f);
    if (!b->in_entry)
        note_period(b);
}

/* ---------------------------------------------------------------- feed history, tombstones */

static void start_fh_complete(struct builder *b, struct frame *f UNUSED,
                              const struct attrs *at UNUSED)
{
    b->doc->complete = b->doc->complete || !b->in_entry;
}

static void start_fh_archive(struct builder *b, struct frame *f UNUSED,
                             const struct attrs *at UNUSED)
{
    b->doc->archive = b->doc->archive || !b->in_entry;
}

/* Drafts 1 to 4 have a separate element for the URL of the older document. */
static void end_fh_prev(struct builder *b, struct frame *f)
{
    struct str ref = str_trim(builder_pop(b, f));

    if (!b->in_entry && ref.len > 0)
        value_set_textz(b->a, b->doc->feed, "fh_prev", builder_resolve(b, ref));
}

static void start_deleted_entry(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct feed_doc *doc = b->doc;
    struct str ref = str_trim(attrs_get(at, "ref"));
    int64_t when = TIME_UNKNOWN;

    /* its children (by, comment, link) are about the deletion, not about the feed */
    f->is_opaque = true;
    if (b->in_entry || ref.len == 0 || doc->n_tombstones >= LIMIT_FEED_ENTRIES)
        return;
    if (!date_parse(attrs_get(at, "when"), &when))
        when = TIME_UNKNOWN;
    if (doc->n_tombstones == b->tombstones_cap) {
        size_t cap = b->tombstones_cap == 0 ? 8 : b->tombstones_cap * 2;
        struct doc_tombstone *list = ARENA_ARRAY(b->a, struct doc_tombstone, cap);

        if (doc->n_tombstones > 0)
            memcpy(list, doc->tombstones, doc->n_tombstones * sizeof *list);
        doc->tombstones = list;
        b->tombstones_cap = cap;
    }
    doc->tombstones[doc->n_tombstones++] =
        (struct doc_tombstone){.ref = str_dup(b->a, ref),
                               .when_at = when,
                               .when_us = date_fraction_us(attrs_get(at, "when")),
                               .ext = STR("")};
    buf_reset(&b->tombstone_ext);
    builder_copy(b, f, &b->tombstone_ext, at);
}

static void end_deleted_entry(struct builder *b, struct frame *f)
{
    if (f->ext != &b->tombstone_ext)
        return;
    builder_copy_end(b, f);
    if (buf_ok(&b->tombstone_ext))
        b->doc->tombstones[b->doc->n_tombstones - 1].ext =
            str_dup(b->a, buf_view(&b->tombstone_ext));
}

/* ---------------------------------------------------------------- chapters */

/* Returns the seconds of "01:02:03.5", "02:03" or "3"; -1: it is not a time. */
static double chapter_start(struct str s)
{
    double total = 0;
    struct str part, whole;
    int64_t n;

    s = str_trim(s);
    if (s.len == 0 || s.len > 32)
        return -1;
    while (!str_is_null(s)) {
        part = str_split(&s, ':');
        whole = str_split(&part, '.');
        if (!str_to_i64(whole, &n) || n < 0 || n > 100000000)
            return -1;
        total = total * 60 + (double)n;
        if (!str_is_null(part) && str_to_i64(part, &n) && n >= 0 && part.len <= 9) {
            double fraction = (double)n;

            for (size_t i = 0; i < part.len; i++)
                fraction /= 10;
            total += fraction;
        }
    }
    return total;
}

static void start_chapters(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    struct value *context = builder_context(b), *chapters;

    if (value_getz(context, "psc_chapters") != NULL)
        return; /* only the first list is used */
    b->in_chapters = true;
    chapters = attrs_dict(b, at);
    value_setz(b->a, chapters, "chapters", value_list(b->a));
    value_setz(b->a, context, "psc_chapters", chapters);
}

static void end_chapters(struct builder *b, struct frame *f UNUSED)
{
    b->in_chapters = false;
}

static void start_chapter(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    struct value *chapters = value_getz(builder_context(b), "psc_chapters"), *chapter;
    double start = chapter_start(attrs_get(at, "start"));

    if (!b->in_chapters || chapters == NULL)
        return;
    chapter = attrs_dict(b, at);
    value_setz(b->a, chapter, "start_parsed",
               start < 0 ? value_null(b->a) : value_real(b->a, start));
    value_push(b->a, value_list_at(b->a, chapters, STR("chapters")), chapter);
}

/* ---------------------------------------------------------------- the table */

static const struct element rows[] = {
    {"content:encoded", start_content, end_content, NULL, "text/html", EL_MAPPED},
    {"dc:creator", start_author, end_author, NULL, NULL, EL_MAPPED},
    {"dc:date", start_text, end_date, "updated", "updated_parsed", EL_MAPPED},
    {"dc:subject", start_category, end_category, NULL, NULL, EL_MAPPED},
    {"dc:title", start_title, end_title, NULL, NULL, EL_KEEPS_AREA},
    {"dc:description", start_description, end_summary, NULL, NULL, EL_KEEPS_AREA},
    {"dc:author", start_author, end_author, NULL, NULL, EL_MAPPED},
    {"dc:contributor", start_dc_contributor, end_dc_contributor, NULL, NULL, 0},
    {"dc:language", start_text, end_pop, "language", NULL, 0},
    {"dc:publisher", start_publisher, end_publisher, NULL, NULL, 0},
    {"dc:rights", start_construct, end_pop, "rights", "text/plain", 0},
    {"dcterms:created", start_text, end_date, "created", "created_parsed", 0},
    {"dcterms:issued", start_text, end_date, "published", "published_parsed", 0},
    {"dcterms:modified", start_text, end_date, "updated", "updated_parsed", 0},
    {"dcterms:valid", start_text, end_valid, "validity", NULL, 0},
    {"xhtml:body", start_content, end_content, NULL, "application/xhtml+xml", EL_MAPPED},
    {"itunes:author", start_author, end_author, NULL, NULL, 0},
    {"itunes:block", start_raw, end_itunes_block, "itunes_block", NULL, 0},
    {"itunes:category", start_itunes_category, end_category, NULL, NULL, 0},
    {"itunes:email", start_raw, end_email, "email", NULL, 0},
    {"itunes:explicit", start_raw, end_itunes_explicit, "itunes_explicit", NULL, 0},
    {"itunes:image", start_itunes_image, NULL, NULL, NULL, 0},
    {"itunes:keywords", start_raw, end_tag_list, "itunes_keywords", "http://www.itunes.com/", 0},
    {"itunes:link", start_itunes_image, NULL, NULL, NULL, 0},
    {"itunes:name", start_raw, end_name, "name", NULL, 0},
    {"itunes:owner", start_itunes_owner, end_itunes_owner, NULL, NULL, 0},
    {"itunes:subtitle", start_construct, end_pop, "subtitle", "text/plain", 0},
    {"itunes:summary", start_summary, end_summary, NULL, NULL, 0},
    {"feedburner:browserfriendly", start_construct, end_pop, "info", "text/plain", 0},
    {"admin:errorreportsto", start_errorreportsto, NULL, NULL, NULL, 0},
    {"admin:generatoragent", start_generatoragent, NULL, NULL, NULL, 0},
    {"cc:license", start_cc_license, NULL, NULL, NULL, 0},
    {"creativecommons:license", start_raw, end_creativecommons, "license", NULL, 0},
    {"at:deleted-entry", start_deleted_entry, end_deleted_entry, NULL, NULL, EL_MAPPED},
    {"fh:archive", start_fh_archive, NULL, NULL, NULL, EL_MAPPED},
    {"fh:complete", start_fh_complete, NULL, NULL, NULL, EL_MAPPED},
    {"fh:prev", start_text, end_fh_prev, "fh_prev", NULL, 0},
    {"fo:deleted", start_text, end_pop, "fo_deleted", NULL, EL_MAPPED},
    {"fo:id", start_text, end_pop, "fo_id", NULL, EL_MAPPED},
    {"fo:last_cursor", start_text, end_pop, "fo_last_cursor", NULL, EL_MAPPED},
    {"fo:prev_cursor", start_text, end_pop, "fo_prev_cursor", NULL, EL_MAPPED},
    {"fo:total", start_text, end_pop, "fo_total", NULL, EL_MAPPED},
    {"psc:chapter", start_chapter, NULL, NULL, NULL, 0},
    {"psc:chapters", start_chapters, end_chapters, NULL, NULL, 0},
    {"sy:updatefrequency", start_text, end_sy, "sy_updatefrequency", NULL, 0},
    {"sy:updateperiod", start_text, end_sy, "sy_updateperiod", NULL, 0},
    {"thr:in-reply-to", start_attributes, NULL, NULL, NULL, 0},
    {"media:group", start_nothing, NULL, NULL, NULL, 0},
};

const struct element_table elements_ext = {rows, ARRAY_LEN(rows)};
