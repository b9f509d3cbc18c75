/* server/cli_list.c - sends an OPML list to the daemon, in parts if one request cannot take it. */
#include <inttypes.h>

#include "base/limits.h"
#include "feed/lists/opml.h"
#include "feed/lists/opml_parts.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "server/cli.h"
#include "server/cli_out.h"

#define WAIT_MS 300000     /* a part is stored in seconds, and a busy disk may take longer */
#define PART_OUTLINES 5000 /* so lists that are included have as many again */

/* A list that is not understood is sent as it is: the daemon says what is wrong with it. */
static struct opml_part *parts_of(struct arena *a, struct str text, size_t *n)
{
    struct opml list;
    struct opml_part *parts;

    if (opml_read_long(a, text, STR_NULL, &list, NULL) == RC_OK &&
        (list.n_outlines > LIMIT_OPML_OUTLINES || text.len > LIMIT_REQUEST_BODY) &&
        opml_cut(a, text, PART_OUTLINES, &parts, n, NULL) == RC_OK)
        return parts;
    parts = ARENA_NEW(a, struct opml_part);
    *parts = (struct opml_part){.text = text};
    *n = 1;
    return parts;
}

static void add_number(struct arena *a, struct value *sum, struct str key, int64_t n)
{
    value_set(a, sum, key, value_int(a, value_get_int(sum, key, 0) + n));
}

static void add_list(struct arena *a, struct value *sum, const struct value *got, struct str key)
{
    struct value *all = value_list_at(a, sum, key);
    const struct value *some = value_get(got, key);

    for (size_t i = 0; i < value_len(some); i++)
        value_push(a, all, value_at(some, i));
}

/* A problem names an outline of the part. Those of a list that is included are numbered there. */
static void number_problems(struct arena *a, const struct opml_part *part, const struct value *got)
{
    const struct value *problems = value_getz(got, "problems");

    for (size_t i = 0; i < value_len(problems); i++) {
        struct value *p = value_at(problems, i);
        int64_t no = value_get_int(p, STR("outline"), 0);

        if (no > 0 && (size_t)no <= part->n_outlines && value_getz(p, "list") == NULL)
            value_setz(a, p, "outline", value_int(a, (int64_t)part->outline_no[no]));
    }
}

/* What came for one part is added to what came for those before it. */
static void add_answer(struct arena *a, struct value *sum, const struct opml_part *part, const struct value *got)
{
    static const char *const numbers[] = {"doubles", "left_out", "problem_count"};
    static const char *const lists[] = {"urls", "known", "problems"};
    struct value *ids = value_list_at(a, sum, STR("ids"));
    struct value *id = value_getz(got, "id");

    if (value_getz(sum, "id") == NULL || (value_len(ids) == 0 && value_len(value_getz(got, "urls")) > 0))
        value_setz(a, sum, "id", id);
    if (value_len(value_getz(got, "urls")) > 0)
        value_push(a, ids, id);
    number_problems(a, part, got);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        add_number(a, sum, str_from(numbers[i]), value_get_int(got, str_from(numbers[i]), 0));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        add_list(a, sum, got, str_from(lists[i]));
}

struct value *cli_send_list(const char *name, const struct cli_server *srv, struct arena *a, struct str text)
{
    struct value *sum = value_dict(a);
    struct opml_part *parts;
    size_t n, sent = 0, all = 0;

    parts = parts_of(a, text, &n);
    for (size_t i = 0; i < n; i++)
        all += parts[i].n_feeds;
    for (size_t i = 0; i < n; i++) {
        const struct value *got;

        if (n > 1)
            cli_progress("feedmill %s: sent %zu of %zu feeds", name, sent, all);
        got = cli_call_json(name, srv, a, "POST", STR(PATH_SUB "?known=skip"), STR(MEDIA_OPML), parts[i].text,
                            WAIT_MS, "id|urls");
        cli_progress_end();
        if (got == NULL && i > 0)
            cli_fail(name,
                     "%zu of %zu feeds are subscribed, of a list that was sent in parts; import it again to go on",
                     sent, all);
        if (got == NULL)
            return NULL;
        add_answer(a, sum, &parts[i], got);
        sent += parts[i].n_feeds;
    }
    return sum;
}
