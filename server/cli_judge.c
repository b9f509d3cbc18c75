/* server/cli_judge.c - is it a Feedmill daemon that has answered? At a wrong address, or behind a proxy, anything may
 * answer with status 200; a command that believes it writes a login page where a list of feeds was. */
#include "feed/text/json.h"
#include "model/media_types.h"
#include "net/http_fields.h"
#include "server/cli.h"

/* What is wrong with a document of this type; null: nothing. */
static struct str judge_document(struct arena *a, const struct cli_answer *answer, struct str type,
                                 const char *wants)
{
    if (!str_eqz(type, wants))
        return str_printf(a, "status %d with %.*s in place of %s", answer->status,
                          STR_ARG(type), wants);
    return answer->body.len > 0 ? STR_NULL
                                : str_printf(a, "status %d with nothing in place of %s", answer->status, wants);
}

/* The same of an object; it is read. */
static struct str judge_object(struct arena *a, struct cli_answer *answer, struct str type,
                               const char *members)
{
    struct str why = judge_document(a, answer, type, MEDIA_JSON);
    struct err err = ERR_INIT;

    if (!str_is_null(why))
        return why;
    if (json_read(a, answer->body, &answer->json, &err) != RC_OK)
        return str_printf(a, "status %d with JSON that cannot be read: %s", answer->status, err.text);
    for (struct str rest = str_from(members); !str_is_null(rest);) {
        struct str name = str_split(&rest, '|');

        if (value_get(answer->json, name) == NULL)
            return str_printf(a, "status %d with JSON that has no \"%.*s\"", answer->status, STR_ARG(name));
    }
    return STR_NULL;
}

static struct str judge(struct arena *a, struct cli_answer *answer, const char *wants)
{
    struct str type = http_media_type(a, answer->content_type);

    type = type.len > 0 ? type : STR("no media type");
    if (answer->status >= 400)
        return str_printf(a, "status %d with %.*s", answer->status, STR_ARG(type));
    if (answer->status >= 300)
        return answer->location.len > 0
                   ? str_printf(a, "it redirects to %.*s (status %d)", STR_ARG(answer->location), answer->status)
                   : str_printf(a, "status %d", answer->status);
    if (wants[0] == '\0')
        return answer->status == 204 ? STR_NULL
                                     : str_printf(a, "status %d with %.*s in place of 204", answer->status, STR_ARG(type));
    return strchr(wants, '/') != NULL ? judge_document(a, answer, type, wants)
                                      : judge_object(a, answer, type, wants);
}

struct str cli_judge(struct arena *a, struct str origin, struct cli_answer *answer, const char *wants)
{
    struct str why = judge(a, answer, wants);

    if (str_is_null(why))
        return why;
    return cli_plain(a, str_printf(a, "what answers at %.*s is not a Feedmill daemon%s: %.*s; --server gives the URL of one",
                                   STR_ARG(origin),
                                   answer->status >= 500 ? ", or a proxy that does not reach it" : "", STR_ARG(why)));
}
