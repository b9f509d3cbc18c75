/* tests/documents/test_fixtures.c - every document under tests/fixtures, and what its claim says is
 * to be found in it. One test each.
 *
 * feeds/versions: OBJ-09. rss, atom, json, constructs, ids: OBJ-01, OBJ-02. dublin-core, media,
 * itunes, geo, podcast, modules: OBJ-03, OBJ-04, OBJ-05, OBJ-06. dates: OBJ-07. ill-formed,
 * encoding: OBJ-08. base, language: OBJ-10. sanitize: OBJ-11. Claims are of Universal
 * Feed Parser's kind: an expression over the object form that holds (OBJ-13). */
#include <stdio.h>
#include <stdlib.h>

#include "feed/lists/changes.h"
#include "feed/lists/discover.h"
#include "feed/lists/opml.h"
#include "feed/text/json.h"
#include "tests/documents/fixture.h"
#include "tests/documents/identify.h"

#define NOW 1100000000 /* 2004-11-09 11:33:20 */

/* ---------------------------------------------------------------- documents as objects */

static struct value *hints_object(struct arena *a, const struct doc_hints *hints)
{
    struct value *o = value_dict(a), *hours = value_list(a), *days = value_list(a);

    value_setz(a, o, "ttl_s", value_int(a, hints->ttl_s));
    value_setz(a, o, "sy_period_s", value_int(a, hints->sy_period_s));
    for (int h = 0; h < 24; h++)
        if ((hints->skip_hours >> h & 1) != 0)
            value_push(a, hours, value_int(a, h));
    for (int d = 0; d < 7; d++)
        if ((hints->skip_days >> d & 1) != 0)
            value_push(a, days, value_int(a, d));
    value_setz(a, o, "skip_hours", hours);
    value_setz(a, o, "skip_days", days);
    return o;
}

static struct value *feed_object(struct arena *a, const struct fixture *f)
{
    struct feed_doc *doc = feed_parse(a, &f->input);
    struct value *o = feed_doc_object(a, doc), *ids = value_list(a), *exts = value_list(a),
                 *tombstones = value_list(a);
    struct str *uids = ARENA_ARRAY(a, struct str, doc->n_entries + 1);

    identify(a, doc, uids);
    for (size_t i = 0; i < doc->n_entries; i++) {
        value_push(a, ids, str_is_null(uids[i]) ? value_null(a) : value_text(a, uids[i]));
        value_push(a, exts, value_text(a, doc->entries[i].ext));
    }
    for (size_t i = 0; i < doc->n_tombstones; i++) {
        struct value *t = value_dict(a);

        value_set_textz(a, t, "ref", doc->tombstones[i].ref);
        if (doc->tombstones[i].when_at != TIME_UNKNOWN)
            value_setz(a, t, "when_at", value_int(a, doc->tombstones[i].when_at));
        value_push(a, tombstones, t);
    }
    value_setz(a, o, "ids", ids);
    value_setz(a, o, "exts", exts);
    value_set_textz(a, o, "ext", doc->ext);
    value_setz(a, o, "tombstones", tombstones);
    value_setz(a, o, "hints", hints_object(a, &doc->hints));
    value_setz(a, o, "complete", value_bool(a, doc->complete));
    value_setz(a, o, "archive", value_bool(a, doc->archive));
    value_setz(a, o, "is_page", value_bool(a, feed_looks_like_html(f->body)));
    return o;
}

static void set_text(struct arena *a, struct value *o, const char *key, struct str s)
{
    if (!str_is_null(s))
        value_set_text(a, o, str_from(key), s);
}

static struct value *found_list(struct arena *a, const struct discovered_feed *found, size_t n)
{
    struct value *list = value_list(a);

    for (size_t i = 0; i < n; i++) {
        struct value *feed = value_dict(a);

        set_text(a, feed, "href", found[i].href);
        set_text(a, feed, "type", found[i].type);
        set_text(a, feed, "title", found[i].title);
        value_push(a, list, feed);
    }
    return list;
}

static struct value *page_object(struct arena *a, const struct fixture *f)
{
    struct value *o = value_dict(a);
    struct discovery found;

    discover_page(a, f->body, f->input.url, f->input.content_type, &found);
    value_setz(a, o, "feeds", found_list(a, found.feeds, found.n_feeds));
    value_setz(a, o, "guesses", found_list(a, found.guesses, found.n_guesses));
    value_setz(a, o, "is_page", value_bool(a, feed_looks_like_html(f->body)));
    return o;
}

static struct value *list_object(struct arena *a, const struct fixture *f)
{
    struct value *o = value_dict(a), *feeds = value_list(a), *includes = value_list(a);
    struct err err = ERR_INIT;
    struct opml list;

    if (opml_read(a, f->body, f->input.content_type, &list, &err) != RC_OK) {
        value_set_textz(a, o, "error", str_dup(a, str_from(err.text)));
        return o;
    }
    for (size_t i = 0; i < list.n_feeds; i++) {
        const struct opml_feed *from = &list.feeds[i];
        struct value *feed = value_dict(a), *folders = value_list(a);

        for (size_t k = 0; k < from->n_folders; k++)
            value_push(a, folders, value_text(a, from->folders[k]));
        set_text(a, feed, "xml_url", from->xml_url);
        set_text(a, feed, "html_url", from->html_url);
        set_text(a, feed, "title", from->title);
        set_text(a, feed, "text", from->text);
        value_setz(a, feed, "folders", folders);
        set_text(a, feed, "category", from->category);
        set_text(a, feed, "freq", from->freq);
        value_push(a, feeds, feed);
    }
    for (size_t i = 0; i < list.n_includes; i++)
        value_push(a, includes, value_text(a, list.includes[i].url));
    set_text(a, o, "title", list.title);
    value_setz(a, o, "bozo", value_bool(a, list.bozo));
    value_setz(a, o, "feeds", feeds);
    value_setz(a, o, "includes", includes);
    return o;
}

static struct value *changes_object(struct arena *a, const struct fixture *f)
{
    struct value *o = value_dict(a), *list = value_list(a);
    struct err err = ERR_INIT;
    struct change_row *rows;
    size_t n;

    if (changes_read(a, f->body, NOW, &rows, &n, &err) != RC_OK) {
        value_set_textz(a, o, "error", str_dup(a, str_from(err.text)));
        return o;
    }
    for (size_t i = 0; i < n; i++) {
        struct value *row = value_dict(a);

        set_text(a, row, "name", rows[i].name);
        set_text(a, row, "url", rows[i].url);
        set_text(a, row, "rss_url", rows[i].rss_url);
        value_setz(a, row, "when_at", value_int(a, rows[i].when_at));
        value_push(a, list, row);
    }
    value_setz(a, o, "rows", list);
    return o;
}

/* ---------------------------------------------------------------- against their golden results */

/* What `path` leads to: names and numbers between slashes, "#" for a length. NULL: nothing. */
static struct value *follow(struct arena *a, struct value *v, struct str path)
{
    while (!str_is_null(path) && v != NULL) {
        struct str step = str_split(&path, '/');
        int64_t i;

        if (str_eqz(step, "#"))
            v = v->kind == VAL_LIST || v->kind == VAL_DICT ? value_int(a, (int64_t)value_len(v))
                                                           : NULL;
        else if (v->kind == VAL_LIST)
            v = str_to_i64(step, &i) && i >= 0 ? value_at(v, (size_t)i) : NULL;
        else
            v = value_get(v, step);
    }
    return v;
}

static void print_value(struct str label, struct str path, const struct value *v)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    if (v == NULL)
        buf_puts(&b, "(nothing)");
    else
        json_write(&b, v);
    printf("  %.*s: %.*s %s\n", STR_ARG(path), STR_ARG(label), b.ptr);
}

static bool check(struct arena *a, const struct fixture *f)
{
    const struct value *want = value_getz(f->golden, "want"),
                       *absent = value_getz(f->golden, "absent");
    struct value *o = f->kind == FIXTURE_FEED   ? feed_object(a, f)
                      : f->kind == FIXTURE_PAGE ? page_object(a, f)
                      : f->kind == FIXTURE_LIST ? list_object(a, f)
                                                : changes_object(a, f);
    bool good = true;

    if (value_len(want) + value_len(absent) == 0 || value_get_textz(f->golden, "claim").len == 0) {
        printf("  its golden result claims nothing\n");
        return false;
    }
    for (size_t i = 0; i < value_len(want); i++) {
        const struct value_member *m = &want->members[i];
        const struct value *got = follow(a, o, m->key);

        if (got != NULL && value_equal(got, m->val))
            continue;
        good = false;
        print_value(STR("wanted"), m->key, m->val);
        print_value(STR("found"), m->key, got);
    }
    for (size_t i = 0; i < value_len(absent); i++) {
        struct str path = value_at(absent, i)->s;
        const struct value *got = follow(a, o, path);

        if (got == NULL)
            continue;
        good = false;
        print_value(STR("was to be absent, but is"), path, got);
    }
    return good;
}

int main(int argc, char **argv)
{
    AUTO(arena_release) struct arena all = ARENA_INIT;
    struct fixture *list;
    const char *only = argc > 2 ? argv[2] : "";
    size_t n, n_bad = 0, n_run = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: test_fixtures FIXTURES-FOLDER [PART-OF-A-NAME]\n");
        return 2;
    }
    n = fixtures_read(&all, argv[1], &list);
    for (size_t i = 0; i < n; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        bool good;

        if (str_find(list[i].name, str_from(only)) < 0)
            continue;
        n_run++;
        good = list[i].golden != NULL && check(&a, &list[i]);
        n_bad += !good;
        if (good)
            printf("[       OK ] %.*s\n", STR_ARG(list[i].name));
        else /* the name as scripts/count_tests.py looks for it */
            printf("[  FAILED  ] test_%zu %.*s%s\n", i, STR_ARG(list[i].name),
                   list[i].golden == NULL ? ": no golden result beside it" : "");
    }
    printf("[==========] %zu of %zu documents are as their claims say\n", n_run - n_bad, n_run);
    fixtures_free(list, n);
    return n_bad > 0 || n_run == 0;
}
