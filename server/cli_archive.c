/* server/cli_archive.c - `feedmill archive`: the Simplefeed documents of a feed as files that any
 * web server can serve.
 *
 * The chain is read from the newest document back to the first archive document that is already in
 * the folder. Archive documents never change, so those before it are there, too.
 *
 * A reader must find a complete chain at any moment, even after a run that was interrupted. So new
 * documents are first written under temporary names. Then the documents that did not exist get
 * their names; nothing links to them yet. At last come the documents that replace a file, oldest
 * first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "feed/text/fragment.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"

#define WAIT_MS 120000
#define FILE_MAX ((size_t)256 * 1024 * 1024)
#define GROWING "recent.atom"
#define WAITING ".new"
#define SERIES_DIGITS 8
#define TRIES 10 /* to read the newest documents before the feed changes again */

struct archive {
    const char *name; /* of the command */
    struct cli_server srv;
    struct arena *a;
    struct str dir, base;
    size_t n_written; /* documents that are new, or have changed */
};

/* The name of the file of a document. The series is part of the name, because document N of another
 * feed, or of the same feed with another archive size, has other entries. */
static struct str file_of(struct arena *a, struct str url)
{
    struct str path = url, last = url, series = STR("");
    unsigned char digest[16];
    char hex[2 * sizeof digest + 1];

    path = str_split(&path, '?');
    while (!str_is_null(path)) {
        series = last;
        last = str_split(&path, '/');
    }
    if (str_eqz(last, "recent"))
        return STR(GROWING);
    digest_content(series, digest);
    digest_hex(digest, sizeof digest, hex);
    return str_printf(a, "%.*s-%.*s.atom", SERIES_DIGITS, hex, STR_ARG(last));
}

/* Find the next link tag of the document's head in *rest. False: there are no more. */
static bool next_link(struct str *rest, struct str *before, struct str *tag)
{
    ssize_t at = str_find(*rest, STR("<link ")), entry = str_find(*rest, STR("<entry"));

    if (at < 0 || (entry >= 0 && entry < at))
        return false;
    *before = str_slice(*rest, 0, (size_t)at);
    *rest = str_slice(*rest, (size_t)at, rest->len);
    *tag = str_slice(*rest, 0, fragment_tag_len(*rest));
    *rest = str_slice(*rest, tag->len, rest->len);
    return tag->len > 0;
}

/* The path and query of the link with this relation; null: there is no such link. */
static struct str link_path(struct arena *a, struct str body, const char *rel)
{
    struct str rest = body, before, tag;

    while (next_link(&rest, &before, &tag)) {
        struct str href = fragment_attr(tag, STR("href"));
        ssize_t at = str_find(href, STR("://"));

        if (!str_eqz(fragment_attr(tag, STR("rel")), rel) || at < 0)
            continue;
        href = str_slice(href, (size_t)at + 3, href.len);
        at = str_chr(href, '/');
        return at < 0 ? STR_NULL : str_dup(a, str_slice(href, (size_t)at, href.len));
    }
    return STR_NULL;
}

/* The document with links to the files, in place of its links to itself and to other documents of
 * the chain. Links to a hub are removed, because no hub delivers the files. */
static struct str relinked(struct archive *x, struct str body)
{
    static const char *const ours[] = {"self", "via", "current", "prev-archive", "next-archive"};
    AUTO(buf_release) struct buf out = BUF_INIT(FILE_MAX);
    struct str rest = body, before, tag;

    while (next_link(&rest, &before, &tag)) {
        struct str rel = fragment_attr(tag, STR("rel")), href = fragment_attr(tag, STR("href"));
        bool is_ours = false;

        buf_str(&out, before);
        if (str_eqz(rel, "hub")) {
            rest = str_slice(rest, str_starts(rest, STR("\n")) ? 1 : 0, rest.len);
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(ours); i++)
            is_ours = is_ours || str_eqz(rel, ours[i]);
        if (!is_ours || str_is_null(href)) {
            buf_str(&out, tag);
            continue;
        }
        buf_append(&out, tag.ptr, (size_t)(href.ptr - tag.ptr));
        buf_str(&out, x->base);
        buf_str(&out, file_of(x->a, href));
        buf_append(&out, href.ptr + href.len, (size_t)(tag.ptr + tag.len - (href.ptr + href.len)));
    }
    buf_str(&out, rest);
    return str_dup(x->a, buf_view(&out));
}

static const char *path_in(struct archive *x, struct str file, const char *suffix)
{
    return arena_printf(x->a, "%.*s/%.*s%s", STR_ARG(x->dir), STR_ARG(file), suffix);
}

/* Does the file exist, and is it an archive document, which never changes? */
static bool is_archived(struct archive *x, struct str file)
{
    const char *path = path_in(x, file, "");
    char head[64 * 1024];
    struct str text;
    ssize_t entry;
    FILE *in = fopen(path, "rb");
    size_t n;

    if (in == NULL)
        return false;
    n = fread(head, 1, sizeof head, in);
    fclose(in);
    text = str_of(head, n);
    entry = str_find(text, STR("<entry"));
    return str_find(entry < 0 ? text : str_slice(text, 0, (size_t)entry), STR("<fh:archive")) >= 0;
}

static bool write_file(struct archive *x, struct str file, struct str text)
{
    const char *path = path_in(x, file, WAITING);
    FILE *out = fopen(path, "wb");
    bool done = out != NULL && fwrite(text.ptr, 1, text.len, out) == text.len && fflush(out) == 0 &&
                fsync(fileno(out)) == 0;

    if (out != NULL && fclose(out) != 0)
        done = false;
    if (!done)
        cli_fail(x->name, "%s: %s", path, strerror(errno));
    if (!done && out != NULL)
        (void)unlink(path);
    return done;
}

static bool has_same_bytes(const char *one, const char *other)
{
    FILE *a = fopen(one, "re"), *b = fopen(other, "re");
    bool is_same = a != NULL && b != NULL;
    int c = 0;

    while (is_same && c != EOF) {
        c = getc_unlocked(a);
        is_same = getc_unlocked(b) == c;
    }
    if (a != NULL)
        fclose(a);
    if (b != NULL)
        fclose(b);
    return is_same;
}

/* Rename a file from its temporary name; one that is there with the same bytes stays. */
static bool publish(struct archive *x, struct str file)
{
    const char *from = path_in(x, file, WAITING), *to = path_in(x, file, "");

    if (has_same_bytes(from, to))
        return unlink(from) == 0 || cli_fail(x->name, "%s: %s", from, strerror(errno)) == 0;
    x->n_written++;
    return rename(from, to) == 0 || cli_fail(x->name, "%s: %s", to, strerror(errno)) == 0;
}

struct kept_document {
    struct str file;
    struct str prev, next, via; /* paths and queries of its links; null */
    unsigned char entries[16];  /* hash of the part after its head */
};

/* Read one document, and write it under its temporary name. */
static bool keep(struct archive *x, struct str path, struct kept_document *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct arena *all = x->a;
    struct cli_answer answer = {0};
    ssize_t at;
    bool kept;

    if (!cli_call(x->name, &x->srv, &a, "GET", path, STR_NULL, STR_NULL, WAIT_MS, MEDIA_ATOM, &answer))
        return false;
    at = str_find(answer.body, STR("<entry"));
    *out = (struct kept_document){.file = file_of(all, path),
                                  .prev = link_path(all, answer.body, "prev-archive"),
                                  .next = link_path(all, answer.body, "next-archive"),
                                  .via = link_path(all, answer.body, "via")};
    digest_content(at < 0 ? STR("") : str_slice(answer.body, (size_t)at, answer.body.len),
                   out->entries);
    x->a = &a; /* for the text of this document only */
    kept = write_file(x, out->file, relinked(x, answer.body));
    x->a = all;
    return kept;
}

struct file_list {
    struct str *names;
    size_t n, cap;
};

static void note(struct file_list *l, struct str file)
{
    l->names = mem_grow(l->names, &l->cap, l->n + 1, sizeof *l->names);
    l->names[l->n++] = file;
}

/* Read the entry document, and the document that has the same entries under a permanent name. If
 * the daemon has added entries between the two reads, read both again: both must have the same
 * entries, and link to documents that exist. */
static bool keep_newest(struct archive *x, struct str path, struct kept_document *newest,
                        struct file_list *l)
{
    struct kept_document same;

    for (int i = 0; i < TRIES; i++) {
        if (!keep(x, path, newest))
            return false;
        if (str_is_null(newest->via)) {
            note(l, newest->file);
            return true;
        }
        if (!keep(x, newest->via, &same))
            return false;
        if (str_is_null(same.next) && memcmp(same.entries, newest->entries, 16) == 0) {
            note(l, newest->file);
            note(l, same.file);
            return true;
        }
    }
    cli_fail(x->name, "the feed changes faster than it can be read; try again");
    return false;
}

/* Read the chain from the entry document back to a document that is already in the folder. */
static bool walk(struct archive *x, struct str path, struct file_list *l)
{
    struct kept_document doc;
    bool done = keep_newest(x, path, &doc, l);

    while (done && !str_is_null(doc.prev) && !is_archived(x, file_of(x->a, doc.prev))) {
        done = keep(x, doc.prev, &doc);
        if (done)
            note(l, doc.file);
    }
    return done;
}

/* Rename all files from their temporary names to their own. */
static bool publish_all(struct archive *x, const struct file_list *l)
{
    bool *was_there = ARENA_ARRAY(x->a, bool, l->n + 1), done = true;
    int dir;

    for (size_t i = 0; i < l->n; i++) /* the entry document (0), where readers begin, comes last */
        was_there[i] = i == 0 || access(path_in(x, l->names[i], ""), F_OK) == 0;
    for (size_t i = l->n; i-- > 0 && done;)
        done = was_there[i] || publish(x, l->names[i]);
    for (size_t i = l->n; i-- > 0 && done;)
        done = !was_there[i] || publish(x, l->names[i]);
    dir = open(str_z(x->a, x->dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) {
        done = done && fsync(dir) == 0;
        close(dir);
    }
    return done;
}

int cli_archive(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct archive x = {.name = argv[0], .a = &a, .dir = STR_NULL, .base = STR("")};
    const struct cli_flag flags[] = {
        {"--out", "DIR", "The folder for the files; made when it is missing.", &x.dir, NULL, 0,
         NULL},
        {"--base", "URL", "Where the folder will be served, for links; default: relative links.",
         &x.base, NULL, 0, NULL},
        CLI_SERVER_FLAGS(x.srv)};
    int code;
    struct file_list l = {0};
    AUTO(buf_release) struct buf path = BUF_INIT(BUF_ANY);
    bool done;

    if ((code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags))) >= 0)
        return code;
    if (argc < 2 || str_is_null(x.dir))
        return cli_usage(argv[0]);
    if (mkdir(str_z(&a, x.dir), 0777) != 0 && errno != EEXIST)
        return cli_fail(x.name, "%.*s: %s", STR_ARG(x.dir), strerror(errno));
    if (x.base.len > 0 && !str_ends(x.base, STR("/")))
        x.base = str_concat(&a, x.base, STR("/"));
    buf_puts(&path, PATH_SIMPLE_RECENT "?");
    buf_str(&path, cli_urls_query(&a, 1, argc, argv));
    done = walk(&x, buf_view(&path), &l);
    done = done && publish_all(&x, &l);
    if (done && !str_is_null(x.srv.json))
        printf("{\"documents\":%zu,\"begin\":\"" GROWING "\"}\n", x.n_written);
    else if (done && x.n_written == 0)
        printf("nothing is new in %.*s; begin at " GROWING "\n", STR_ARG(x.dir));
    else if (done)
        printf("%zu document%s written to %.*s; begin at " GROWING "\n", x.n_written, x.n_written == 1 ? "" : "s",
               STR_ARG(x.dir));
    mem_free(l.names);
    return done ? CLI_OK : CLI_FAILED;
}
