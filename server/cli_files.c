/* server/cli_files.c - parse, discover and opml: documents without a daemon.
 *
 * The result of one file, or of standard input, goes to standard output. With --out DIR the result
 * of each file is written to DIR/FILE.json. There, a relative path keeps its folders. An absolute
 * path keeps the part after the folder that all absolute paths have in common.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "feed/lists/discover.h"
#include "feed/lists/opml.h"
#include "feed/read/parse.h"
#include "feed/text/date.h"
#include "feed/text/json.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define HEADERS_MAX 32
#define WRITE_PIECE ((size_t)64 * 1024)

struct conversion {
    struct str url, out_dir;
    struct str headers[HEADERS_MAX];
    size_t n_headers;
};

/* Make a result from the bytes of a document. NULL: it failed; the function has said why. */
typedef struct value *convert_fn(const char *name, const char *path, const struct conversion *job, struct arena *a,
                                 struct str body);

static const char *shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static struct str header(const struct conversion *job, const char *name)
{
    struct str found = STR_NULL;

    for (size_t i = 0; i < job->n_headers; i++) {
        struct str rest = job->headers[i], field = str_split(&rest, ':');
        if (str_ieqz(str_trim(field), name))
            found = str_trim(rest);
    }
    return found;
}

static void set_text(struct arena *a, struct value *dict, const char *key, struct str s)
{
    if (!str_is_null(s))
        value_set_text(a, dict, str_from(key), s);
}

/* Add to the result of the document what its address and the header fields say. */
static void add_transport(const struct conversion *job, struct arena *a, struct value *result)
{
    struct value *headers = value_dict(a);
    struct str modified = header(job, "last-modified");
    int64_t at;

    set_text(a, result, "href", job->url);
    set_text(a, result, "etag", header(job, "etag"));
    set_text(a, result, "modified", modified);
    if (!str_is_null(modified) && date_parse(modified, &at))
        value_setz(a, result, "modified_parsed", date_nine(a, at));
    for (size_t i = 0; i < job->n_headers; i++) {
        struct str rest = job->headers[i], field = str_lower(a, str_trim(str_split(&rest, ':')));

        if (str_utf8_valid(field) == field.len && str_utf8_valid(rest) == rest.len)
            value_set_text(a, headers, field, str_trim(rest));
    }
    if (value_len(headers) > 0)
        value_setz(a, result, "headers", headers);
}

static struct value *convert_parse(const char *name UNUSED, const char *path UNUSED, const struct conversion *job,
                                   struct arena *a, struct str body)
{
    struct parse_input in = {
        .body = body,
        .url = job->url,
        .content_type = header(job, "content-type"),
        .content_location = header(job, "content-location"),
        .content_language = header(job, "content-language"),
    };

    struct value *result = feed_doc_object(a, feed_parse(a, &in));

    add_transport(job, a, result);
    return result;
}

static struct value *found_list(struct arena *a, const struct discovered_feed *found, size_t n)
{
    struct value *list = value_list(a);

    for (size_t i = 0; i < n; i++) {
        struct value *f = value_dict(a);
        set_text(a, f, "href", found[i].href);
        set_text(a, f, "type", found[i].type);
        set_text(a, f, "title", found[i].title);
        value_push(a, list, f);
    }
    return list;
}

static struct value *convert_discover(const char *name UNUSED, const char *path UNUSED, const struct conversion *job,
                                      struct arena *a, struct str body)
{
    struct value *v = value_dict(a);
    struct discovery found;

    discover_page(a, body, job->url, header(job, "content-type"), &found);
    value_setz(a, v, "feeds", found_list(a, found.feeds, found.n_feeds));
    if (found.n_feeds > 1) { /* first the one that the daemon would take */
        discover_order(job->url, found.feeds, found.n_feeds);
        value_set_textz(a, v, "best", found.feeds[0].href);
    } else if (found.n_feeds == 0 && found.n_guesses > 0) { /* the addresses that it would try */
        discover_order(job->url, found.guesses, found.n_guesses);
        value_setz(a, v, "guesses", found_list(a, found.guesses, found.n_guesses));
    }
    return v;
}

static struct value *convert_opml(const char *name, const char *path, const struct conversion *job, struct arena *a,
                                  struct str body)
{
    struct opml list;
    struct err err = ERR_INIT;
    struct value *v = value_dict(a), *feeds = value_list(a), *includes = value_list(a);

    if (opml_read(a, body, header(job, "content-type"), &list, &err) != RC_OK) {
        cli_fail(name, "%s: %s", shown(path), err.text);
        return NULL;
    }
    set_text(a, v, "title", list.title);
    for (size_t i = 0; i < list.n_feeds; i++) {
        const struct opml_feed *f = &list.feeds[i];
        struct value *row = value_dict(a), *folder = value_list(a);
        set_text(a, row, "title", f->title);
        set_text(a, row, "text", f->text);
        set_text(a, row, "xml_url", f->xml_url);
        set_text(a, row, "html_url", f->html_url);
        for (size_t k = 0; k < f->n_folders; k++)
            value_push(a, folder, value_text(a, f->folders[k]));
        if (!list.bozo) /* in a list that is not well-formed, the folders are uncertain */
            value_setz(a, row, "folder", folder);
        set_text(a, row, "category", f->category);
        set_text(a, row, "freq", f->freq);
        set_text(a, row, "sanitize", f->sanitize);
        value_push(a, feeds, row);
    }
    value_setz(a, v, "feeds", feeds);
    for (size_t i = 0; i < list.n_includes; i++)
        value_push(a, includes, value_text(a, list.includes[i].url));
    value_setz(a, v, "includes", includes);
    return v;
}

/* The length of the folder that all absolute operands have in common, with its last '/'. */
static size_t common_folder(int argc, char **argv)
{
    size_t n = 0;
    const char *first = NULL;

    for (int k = 1; k < argc; k++) {
        const char *p = argv[k];
        size_t i = 0, slash = 0;
        if (p[0] != '/')
            continue;
        if (first == NULL) {
            first = p;
            n = strlen(p);
        }
        for (; i < n && p[i] == first[i] && p[i] != '\0'; i++)
            if (p[i] == '/')
                slash = i + 1;
        n = slash;
    }
    return n;
}

/* Open DIR/FILE.json for writing. Folders that are missing are made. */
static FILE *open_result(const char *name, struct arena *a, struct str dir, const char *file)
{
    char *path = arena_printf(a, "%.*s/%s.json", STR_ARG(dir), file);
    FILE *f;

    for (char *p = path + dir.len; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            cli_fail(name, "%s: %s", path, strerror(errno));
            return NULL;
        }
        *p = '/';
    }
    if ((f = fopen(path, "wb")) == NULL)
        cli_fail(name, "%s: %s", path, strerror(errno));
    return f;
}

/* Write the collected text if it has at least `enough` bytes. */
static bool pass_on(FILE *to, struct buf *text, size_t enough)
{
    bool ok = true;

    if (text->len < enough)
        return true;
    if (to == stdout)
        cli_print_json_text(buf_view(text)); /* cli_finish() checks for errors */
    else
        ok = fwrite(text->ptr, 1, text->len, to) == text->len;
    buf_reset(text);
    return ok;
}

/* Write the dict as one line of JSON. The items of its lists are written one by one, so that the
 * text of a large document need not be in memory as a whole. */
static bool write_result(FILE *to, const struct value *v)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);
    bool ok = true;

    for (uint32_t i = 0; i < v->len; i++) {
        const struct value *member = v->members[i].val;

        buf_putc(&text, i == 0 ? '{' : ',');
        json_write_text(&text, v->members[i].key);
        buf_putc(&text, ':');
        if (member->kind != VAL_LIST) {
            json_write(&text, member);
            continue;
        }
        buf_putc(&text, '[');
        for (uint32_t k = 0; k < member->len; k++) {
            if (k > 0)
                buf_putc(&text, ',');
            json_write(&text, member->items[k]);
            ok = pass_on(to, &text, WRITE_PIECE) && ok;
        }
        buf_putc(&text, ']');
    }
    buf_puts(&text, "}\n");
    return pass_on(to, &text, 0) && ok;
}

/* Is nothing of a feed in what convert_parse() found? */
static bool is_no_feed(const struct value *v)
{
    return value_get_textz(v, "version").len == 0 && value_len(value_getz(v, "entries")) == 0 &&
           value_len(value_getz(v, "feed")) == 0;
}

static int convert_file(const char *name, const struct conversion *job, convert_fn *convert,
                        const char *path, size_t skip)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(mem_autofree) char *bytes = NULL;
    struct value *v;
    size_t len;
    FILE *to = stdout;
    bool bad;

    if (strstr(path, "..") != NULL && !str_is_null(job->out_dir))
        return cli_misuse(name, "%s: with --out, the name of a file must not have \"..\"", path);
    if ((bytes = cli_read_file(name, path, (size_t)1 << 30, &len)) == NULL)
        return 1;
    if ((v = convert(name, path, job, &a, str_of(bytes, len))) == NULL)
        return 1;
    if (!str_is_null(job->out_dir) && strcmp(path, "-") != 0 &&
        (to = open_result(name, &a, job->out_dir, path + (path[0] == '/' ? skip : 0))) == NULL)
        return 1;
    bad = !write_result(to, v);
    if (to != stdout)
        bad = fclose(to) != 0 || bad;
    if (bad)
        return cli_fail(name, "%s: the result cannot be written: %s", path, strerror(errno));
    if (convert == convert_parse && str_is_null(job->out_dir) && is_no_feed(v))
        return cli_fail(name, "%s: this is not a feed: %.*s",
                        shown(path),
                        STR_ARG(value_get_textz(v, "bozo_exception")));
    if (convert == convert_discover && str_is_null(job->out_dir) && value_len(value_getz(v, "feeds")) == 0)
        return cli_fail(name, "%s: this page announces no feed%s", shown(path),
                        value_len(value_getz(v, "guesses")) > 0 ? "; its links that may be feeds are listed as \"guesses\"" : "");
    return CLI_OK;
}

/* CLI_OK, or what is wrong with the flags has been printed. */
static int check_job(const char *name, const struct conversion *job)
{
    if (job->url.len > 0 && str_find(job->url, STR("://")) <= 0)
        return cli_misuse(name,
                          "--url \"%.*s\" is not an absolute URL, such as http://example.org/",
                          STR_ARG(job->url));
    for (size_t i = 0; i < job->n_headers; i++)
        if (str_chr(job->headers[i], ':') <= 0)
            return cli_misuse(name,
                              "--header \"%.*s\" is not a header field, such as 'Content-Type: "
                              "text/xml'",
                              STR_ARG(job->headers[i]));
    return CLI_OK;
}

static int convert_all(int argc, char **argv, convert_fn *convert)
{
    struct conversion job = {.url = STR_NULL};
    struct str json = STR_NULL;
    const struct cli_flag flags[] = {
        {"--url", "URL", "Where the document came from: the base of its relative references.",
         &job.url, NULL, 0, NULL},
        {"--header", "'NAME: VALUE'",
         "A header field of the answer with the document, such as Content-Type. Repeatable.", NULL,
         job.headers, HEADERS_MAX, &job.n_headers},
        {"--out", "DIR", "Write the result of each FILE to DIR/FILE.json.", &job.out_dir, NULL, 0,
         NULL},
        CLI_JSON_FLAG(json), /* which it does anyway */
    };
    int worst = CLI_OK, code;
    size_t skip;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if ((code = check_job(argv[0], &job)) != CLI_OK)
        return code;
    if (argc > 2 && str_is_null(job.out_dir))
        return cli_misuse(argv[0], "several files need --out DIR");
    if (argc == 1)
        return convert_file(argv[0], &job, convert, "-", 0);
    skip = common_folder(argc, argv);
    for (int k = 1; k < argc; k++) {
        code = convert_file(argv[0], &job, convert, argv[k], skip);
        worst = code > worst ? code : worst;
    }
    return worst;
}

int cli_parse(int argc, char **argv)
{
    return convert_all(argc, argv, convert_parse);
}

int cli_discover(int argc, char **argv)
{
    return convert_all(argc, argv, convert_discover);
}

int cli_opml(int argc, char **argv)
{
    return convert_all(argc, argv, convert_opml);
}
