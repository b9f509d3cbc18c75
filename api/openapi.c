/* api/openapi.c - the description of the API (OpenAPI 3.1.1), drawn once for each configuration.
 *
 * Routes, parameters, problems, formats and roles come from their own tables; openapi.def has what
 * these do not say. */
#include "api/openapi.h"

#include "api/http/auth.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/routes.h"
#include "api/views/left_out.h"
#include "api/http/openapi_schema.h"
#include "base/arena.h"
#include "feed/text/json.h"
#include "feed/write/writer.h"
#include "model/format.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/http_fields.h"
#include "net/url.h"

#define TEXT "text/plain; charset=utf-8"

enum answer_headers { CACHED = 1, LINKED = 2, LOCATED = 4, LATER = 8, RATED = 16, CHALLENGED = 32, GATHERED = 64 };

static const struct place {
    const char *path, *rest;
    bool reads;
} places[] = {
#define PLACE(path, rest, reads) {path, rest, reads},
#define NAME(name, example, text)
#define FIELD(handler, status, name, example, text)
#define BODY(handler, media_type, example)
#define ANSWER(handler, status, content, headers, text, example)
#define FAILS(handler, kind, status)
#include "api/openapi.def"
#undef PLACE
#undef NAME
};

static const struct {
    const char *name, *example, *text;
} names[] = {
#define PLACE(path, rest, reads)
#define NAME(name, example, text) {name, example, text},
#include "api/openapi.def"
#undef NAME
#undef FIELD
};

static const struct {
    request_handler_fn *handle; /* NULL: of all that can answer with `status` */
    int status;
    const char *name, *example, *text;
} fields[] = {
#define NAME(name, example, text)
#define FIELD(handler, status, name, example, text) {handler, status, name, example, text},
#include "api/openapi.def"
#undef FIELD
#undef BODY
};

static const struct body {
    request_handler_fn *handle;
    const char *media_type, *example;
} bodies[] = {
#define FIELD(handler, status, name, example, text)
#define BODY(handler, media_type, example) {handler, media_type, example},
#include "api/openapi.def"
#undef BODY
#undef ANSWER
};

static const struct answer {
    request_handler_fn *handle;
    int status;
    const char *media_type; /* NULL: see the next two */
    unsigned traits;        /* of formats; 0: none */
    bool in_entry_formats;
    unsigned headers;
    const char *text, *example;
} answers[] = {
#define BODY(handler, media_type, example)
#define NO_BODY .media_type = NULL
#define IN(media_type_) .media_type = (media_type_)
#define IN_FORMATS(traits_) .traits = (traits_)
#define IN_ENTRY_FORMATS .in_entry_formats = true
#define ANSWER(handler_, status_, content_, headers_, text_, example_)                             \
    {.handle = (handler_),                                                                         \
     .status = (status_),                                                                          \
     content_,                                                                                     \
     .headers = (headers_),                                                                        \
     .text = (text_),                                                                              \
     .example = (example_)},
#include "api/openapi.def"
#undef ANSWER
#undef FAILS
};

static const struct failure {
    request_handler_fn *handle;
    enum problem_kind kind;
    int status; /* 0: that of the kind */
} failures[] = {
#define ANSWER(handler, status, content, headers, text, example)
#define FAILS(handler, kind, status) {handler, PROBLEM_##kind, status},
#include "api/openapi.def"
#undef PLACE
#undef NAME
#undef FIELD
#undef BODY
#undef ANSWER
#undef FAILS
};

static const struct {
    unsigned bits;
    const char *name, *type, *text;
} headers[] = {
    {CACHED, "ETag", "string", "The name of this state of the document, for If-None-Match."},
    {CACHED, "Last-Modified", "string", "When it last changed."},
    {CACHED, "Cache-Control", "string", "How long a copy may be used."},
    {CACHED, "Vary", "string", "The fields of the request on which the answer depends."},
    {LINKED, "Link", "string",
     "The document itself, its other formats and pages, and the hub (RFC 8288)."},
    {GATHERED, FEEDS_LEFT_OUT, "string",
     "How many of the feeds that are named by URLs cannot be served, and the first of them, each with the type of the "
     "problem (a List of RFC 9651)."},
    {LOCATED, "Location", "string", "The subscription."},
    {LATER, "Retry-After", "integer", "Seconds after which to try again."},
    {RATED, "RateLimit-Limit", "integer", "Requests a minute, if the token has a rate."},
    {RATED, "RateLimit-Remaining", "integer", "Requests that are left now."},
    {RATED, "RateLimit-Reset", "integer", "Seconds until all of them are there again."},
    {CHALLENGED, "WWW-Authenticate", "string", "How to send a token."},
};

struct drawing {
    struct arena *a;
    const struct api_cfg *cfg;
};

/* ---- small pieces ---------------------------------------------------------------------------- */

static struct value *dict_of_text(struct arena *a, struct str key, struct str text)
{
    struct value *v = value_dict(a);

    value_set_text(a, v, key, text);
    return v;
}

#define WITH_TEXT(a, key, text) dict_of_text((a), STR(key), (text))

static struct value *reference(struct arena *a, const char *group, const char *name)
{
    return WITH_TEXT(a, "$ref", str_printf(a, "#/components/%s/%s", group, name));
}

/* Returns the member of this name, a new dict if there is none yet. */
static struct value *dict_at(struct arena *a, struct value *dict, struct str key)
{
    struct value *v = value_get(dict, key);

    if (v == NULL) {
        v = value_dict(a);
        value_set(a, dict, key, v);
    }
    return v;
}

/* Add a sentence to the description. */
static void add_text(struct arena *a, struct value *v, struct str text)
{
    struct str before = value_get_textz(v, "description");

    value_set_textz(
        a, v, "description",
        str_is_null(before) ? text : str_printf(a, "%.*s %.*s", STR_ARG(before), STR_ARG(text)));
}

static bool is_get(const struct route *r)
{
    return strcmp(r->method, "GET") == 0;
}

/* May parameters of this route stand in a body? */
static bool takes_body(const struct route *r)
{
    return strcmp(r->method, "POST") == 0 || strcmp(r->method, "PATCH") == 0;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* A name in a path, or a field of the request. */
static struct value *plain_parameter(struct arena *a, const char *name, const char *in,
                                     const char *example, const char *text)
{
    struct value *v = WITH_TEXT(a, "name", str_from(name));

    value_set_textz(a, v, "in", str_from(in));
    value_setz(a, v, "required", value_bool(a, strcmp(in, "path") == 0));
    value_set_textz(a, v, "description", str_from(text));
    value_setz(a, v, "schema", WITH_TEXT(a, "type", STR("string")));
    value_set_textz(a, v, "example", str_from(example));
    return v;
}

static void add_path_parameters(struct drawing *d, const char *template, struct value *list)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_find(str_from(template), str_printf(d->a, "{%s}", names[i].name)) >= 0)
            value_push(
                d->a, list,
                plain_parameter(d->a, names[i].name, "path", names[i].example, names[i].text));
}

/* What a body can have instead is not required in the query. */
static void add_query_parameters(struct drawing *d, const struct route *r, struct value *list)
{
    struct arena *a = d->a;

    for (const enum param_id *id = r->params; *id != PARAM_NONE; id++) {
        struct value *v = WITH_TEXT(a, "name", openapi_name(a, *id));
        bool required = (param_row(*id)->flags & PARAM_REQUIRED) != 0 && !takes_body(r);

        value_set_textz(a, v, "in", STR("query"));
        value_setz(a, v, "required", value_bool(a, required));
        value_set_textz(a, v, "description", openapi_text(a, *id, d->cfg));
        value_setz(a, v, "schema", openapi_schema(a, *id, d->cfg, OPENAPI_QUERY));
        value_setz(a, v, "example", openapi_example(a, *id, OPENAPI_QUERY));
        value_push(a, list, v);
    }
}

static bool can_answer(const struct route *r, int status)
{
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (answers[i].handle == r->handle && answers[i].status == status)
            return true;
    return false;
}

static void add_fields(struct drawing *d, const struct route *r, struct value *list)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (fields[i].handle == r->handle ||
            (fields[i].handle == NULL && can_answer(r, fields[i].status)))
            value_push(
                d->a, list,
                plain_parameter(d->a, fields[i].name, "header", fields[i].example, fields[i].text));
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static bool is_form(const char *media_type)
{
    return strcmp(media_type, MEDIA_URLENCODED) == 0;
}

/* Returns an object of the parameters that are needed. */
static struct value *needed(struct arena *a, const struct route *r, enum openapi_place place)
{
    struct value *v = value_dict(a);

    for (const enum param_id *id = r->params; *id != PARAM_NONE; id++)
        if ((param_row(*id)->flags & (PARAM_REQUIRED | PARAM_EXPECTED)) != 0)
            value_set(a, v, openapi_name(a, *id), openapi_example(a, *id, place));
    return v;
}

/* Returns an object of the members of a form. */
static struct value *form_members(struct arena *a, const struct route *r, struct str form)
{
    struct value *v = value_dict(a);

    while (!str_is_null(form)) {
        struct str text = str_split(&form, '&'), name = url_decode(a, str_split(&text, '='), true);
        struct value *one = value_text(a, url_decode(a, text, true));

        for (const enum param_id *id = r->params; *id != PARAM_NONE; id++) {
            int64_t n;

            if (!param_is_called(*id, name))
                continue;
            if (openapi_example(a, *id, OPENAPI_FORM)->kind == VAL_LIST) {
                struct value *list = value_list(a);

                value_push(a, list, one);
                one = list;
            } else if (openapi_example(a, *id, OPENAPI_FORM)->kind == VAL_INT &&
                       str_to_i64(one->s, &n)) {
                one = value_int(a, n);
            }
            break;
        }
        value_set(a, v, name, one);
    }
    return v;
}

/* Returns an example of a media type; a text if it is not structured. */
static struct value *example_of(struct arena *a, const char *media_type, struct str text)
{
    struct value *v;

    if (strcmp(media_type, MEDIA_JSON) == 0 && json_read(a, text, &v, NULL) == RC_OK)
        return v;
    return value_text(a, text);
}

static struct value *body_content(struct drawing *d, const struct route *r, const char *media_type,
                                  const char *example)
{
    enum openapi_place place = is_form(media_type) ? OPENAPI_FORM : OPENAPI_JSON;
    bool has_members = is_form(media_type) || strcmp(media_type, MEDIA_JSON) == 0;
    struct value *v = value_dict(d->a), *shown;

    if (example == NULL)
        shown = needed(d->a, r, place);
    else if (is_form(media_type))
        shown = form_members(d->a, r, str_from(example));
    else
        shown = example_of(d->a, media_type, str_from(example));
    value_setz(d->a, v, "schema",
               has_members ? openapi_object(d->a, r->params, d->cfg, place)
                           : WITH_TEXT(d->a, "type", STR("string")));
    if (*r->params == PARAM_NONE) /* what it has is not made of parameters */
        value_setz(d->a, value_getz(v, "schema"), "additionalProperties", value_bool(d->a, true));
    value_setz(d->a, v, "example", shown);
    return v;
}

static void add_body(struct drawing *d, const struct route *r, struct value *operation)
{
    struct value *content = value_dict(d->a), *v = value_dict(d->a);

    if ((r->flags & URLENCODED) != 0)
        value_set(d->a, content, str_from(MEDIA_URLENCODED),
                  body_content(d, r, MEDIA_URLENCODED, NULL));
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        if (bodies[i].handle == r->handle)
            value_set(d->a, content, str_from(bodies[i].media_type),
                      body_content(d, r, bodies[i].media_type, bodies[i].example));
    if (value_len(content) == 0)
        return;
    if (*r->params != PARAM_NONE)
        add_text(d->a, v, STR("Parameters may stand in the query instead."));
    value_setz(d->a, v, "content", content);
    value_setz(d->a, operation, "requestBody", v);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct value *response_at(struct drawing *d, struct value *responses, int status)
{
    return dict_at(d->a, responses, str_printf(d->a, "%d", status));
}

static void add_headers(struct drawing *d, struct value *response, unsigned bits)
{
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if ((headers[i].bits & bits) != 0)
            value_set(d->a, dict_at(d->a, response, STR("headers")), str_from(headers[i].name),
                      reference(d->a, "headers", headers[i].name));
}

/* Add a media type to an answer. A charset is not part of the name. */
static void add_content(struct drawing *d, struct value *response, const char *media_type,
                        const char *example)
{
    struct arena *a = d->a;
    struct str name = http_media_type(a, str_from(media_type));
    struct value *v = dict_at(a, dict_at(a, response, STR("content")), name);
    bool is_json = str_ends(name, STR("json"));

    value_setz(a, v, "schema", is_json ? value_dict(a) : WITH_TEXT(a, "type", STR("string")));
    if (example != NULL)
        value_setz(a, v, "example", example_of(a, media_type, str_from(example)));
}

static void add_answer(struct drawing *d, const struct answer *one, struct value *responses,
                       unsigned more_headers)
{
    struct value *response = response_at(d, responses, one->status);

    add_text(d->a, response, str_from(one->text));
    add_headers(d, response, one->headers | more_headers);
    if (one->media_type != NULL)
        add_content(d, response, one->media_type, one->example);
    for (int i = 0; i < FORMAT_COUNT_; i++)
        if (one->traits != 0 && format_has((enum feed_format)i, one->traits))
            add_content(d, response, format_media_type((enum feed_format)i), NULL);
    for (int i = 0; one->in_entry_formats && i < ENTRY_FORMAT_COUNT_; i++)
        add_content(d, response, entry_format_media_type((enum entry_format)i), NULL);
}

/* Add a kind of problem to an answer: its schema lists the kinds that it can be. */
static void add_problem(struct drawing *d, struct value *responses, enum problem_kind kind,
                        int status)
{
    struct arena *a = d->a;
    struct problem p = {.kind = kind, .status = status};
    struct value *response = response_at(d, responses, problem_status(&p)), *v, *all, *type, *list;
    struct str name = str_printf(a, PROBLEM_TYPE "%s", problem_name(kind));

    v = dict_at(a, dict_at(a, response, STR("content")), STR(MEDIA_PROBLEM));
    all = value_getz(v, "schema");
    if (all == NULL) {
        all = value_list(a);
        value_push(a, all, reference(a, "schemas", "Problem"));
        list = value_list(a);
        type = value_dict(a);
        value_setz(a, type, "enum", list);
        value_setz(a, v, "schema", value_dict(a));
        value_setz(a, value_getz(v, "schema"), "allOf", all);
        value_push(a, all, value_dict(a));
        value_setz(a, dict_at(a, value_at(all, 1), STR("properties")), "type", type);
    } else {
        all = value_getz(all, "allOf");
        type = value_getz(value_getz(value_at(all, 1), "properties"), "type");
        list = value_getz(type, "enum");
    }
    for (size_t i = 0; i < value_len(list); i++)
        if (str_eq(value_at(list, i)->s, name))
            return;
    value_push(a, list, value_text(a, name));
    add_text(a, response, str_printf(a, "%s: %s.", problem_name(kind), problem_title(kind)));
    add_headers(d, response,
                (kind == PROBLEM_TOO_MANY || kind == PROBLEM_BUSY || kind == PROBLEM_UNAVAILABLE
                     ? LATER
                     : 0) |
                    (kind == PROBLEM_UNAUTHORIZED ? CHALLENGED : 0));
}

/* What each route can answer, because of what happens before its handler (api.c), or because the
 * store does not answer. */
static void add_common_problems(struct drawing *d, const struct route *r, struct value *responses)
{
    static const enum problem_kind of_all[] = {PROBLEM_BAD_PARAMETER, PROBLEM_TOO_LARGE,
                                               PROBLEM_INTERNAL, PROBLEM_BUSY, PROBLEM_UNAVAILABLE};
    static const enum problem_kind of_roles[] = {PROBLEM_UNAUTHORIZED, PROBLEM_ROLE,
                                                 PROBLEM_MISDIRECTED, PROBLEM_TOO_MANY};

    for (size_t i = 0; i < ARRAY_LEN(of_all); i++)
        add_problem(d, responses, of_all[i], 0);
    for (size_t i = 0; r->role != ROLE_NONE && i < ARRAY_LEN(of_roles); i++)
        add_problem(d, responses, of_roles[i], 0);
    if (r->role != ROLE_NONE && !is_get(r))
        add_problem(d, responses, PROBLEM_FORBIDDEN, 0);
}

static struct value *responses_of(struct drawing *d, const struct route *r)
{
    struct value *v = value_dict(d->a);

    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (answers[i].handle == r->handle)
            add_answer(d, &answers[i], v, r->role != ROLE_NONE ? RATED : 0);
    for (size_t i = 0; i < ARRAY_LEN(failures); i++)
        if (failures[i].handle == r->handle)
            add_problem(d, v, failures[i].kind, failures[i].status);
    add_common_problems(d, r, v);
    value_setz(d->a, v, "default", reference(d->a, "responses", "Unreadable"));
    return v;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Returns "get_sub_log" for GET /sub/log. */
static struct str operation_id(struct arena *a, const struct route *r, struct str path)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    bool between = true;

    buf_str(&out, str_lower(a, str_from(r->method)));
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (is_word && between)
            buf_putc(&out, '_');
        if (is_word)
            buf_putc(&out, c);
        between = !is_word;
    }
    return str_dup(a, buf_view(&out));
}

/* The ways to show a token, of which one is enough. A caller without one has a role, too. */
static struct value *security_of(struct drawing *d, const struct route *r)
{
    static const char *const schemes[] = {"bearer", "basic", "key"};
    struct value *list = value_list(d->a);

    for (size_t i = 0; r->role != ROLE_NONE && i < ARRAY_LEN(schemes); i++) {
        struct value *one = value_dict(d->a);

        if (strcmp(schemes[i], "key") == 0 && !is_get(r))
            continue;
        value_set(d->a, one, str_from(schemes[i]), value_list(d->a));
        value_push(d->a, list, one);
    }
    if (r->role != ROLE_NONE && (r->role != ROLE_ADMIN || (r->flags & ALONE) != 0))
        value_push(d->a, list, value_dict(d->a));
    return list;
}

static struct value *operation(struct drawing *d, const struct route *r, struct str path,
                               const struct place *place)
{
    struct arena *a = d->a;
    struct value *v = value_dict(a), *parameters = value_list(a);
    struct str summary = str_dup(a, str_from(r->help));

    value_set_textz(a, v, "operationId", operation_id(a, r, path));
    value_set_textz(a, v, "summary", summary);
    value_set_textz(a, v, "description",
                    r->role == ROLE_NONE
                        ? STR("It needs no role.")
                        : str_printf(a, "It needs the role `%s`.", role_name(r->role)));
    value_setz(a, v, "security", security_of(d, r));
    if (place != NULL)
        add_path_parameters(d, place->rest, parameters);
    if (place == NULL || place->reads)
        add_query_parameters(d, r, parameters);
    add_fields(d, r, parameters);
    if (value_len(parameters) > 0)
        value_setz(a, v, "parameters", parameters);
    add_body(d, r, v);
    value_setz(a, v, "responses", responses_of(d, r));
    return v;
}

static void add_operation(struct drawing *d, struct value *paths, const struct route *r,
                          const struct place *place)
{
    struct str path = str_printf(d->a, "%s%s", r->path, place != NULL ? place->rest : "");

    value_set(d->a, dict_at(d->a, paths, path), str_lower(d->a, str_from(r->method)),
              operation(d, r, path, place));
}

static struct value *paths_of(struct drawing *d)
{
    struct value *paths = value_dict(d->a);
    const struct route *r;

    for (size_t i = 0; (r = route_at(i)) != NULL; i++) {
        bool has_places = false;

        for (size_t k = 0; k < ARRAY_LEN(places); k++) {
            /* what is changed is below */
            if (strcmp(places[k].path, r->path) != 0 ||
                (places[k].rest[0] == '\0' && strcmp(r->method, "GET") != 0))
                continue;
            add_operation(d, paths, r, &places[k]);
            has_places = true;
        }
        if (!has_places)
            add_operation(d, paths, r, NULL);
    }
    return paths;
}

/* ---- components ------------------------------------------------------------------------------ */

static struct value *problem_types(struct drawing *d)
{
    struct arena *a = d->a;
    struct value *v = WITH_TEXT(a, "type", STR("string")), *list = value_list(a), *one;

    for (int i = 0; i < PROBLEM_COUNT_; i++) {
        enum problem_kind kind = (enum problem_kind)i;
        struct problem p = {.kind = kind};

        one = WITH_TEXT(a, "const", str_printf(a, PROBLEM_TYPE "%s", problem_name(kind)));
        value_set_textz(a, one, "title", str_from(problem_title(kind)));
        value_set_textz(a, one, "description", str_printf(a, "Status %d.", problem_status(&p)));
        value_push(a, list, one);
    }
    one = WITH_TEXT(a, "const", STR("about:blank"));
    value_set_textz(a, one, "title", STR("The status says it all"));
    value_push(a, list, one);
    value_setz(a, v, "oneOf", list);
    return v;
}

static struct value *problem_schema(struct drawing *d)
{
    static const struct {
        const char *name, *type, *text;
    } members[] = {
        {"title", "string", "What the type means."},
        {"status", "integer", "The HTTP status."},
        {"detail", "string", "What was wrong, and what would be right."},
        {"instance", "string", "Which request it was: its X-Request-Id, as a URN."},
        {"parameter", "string", "The wrong parameter."},
        {"value", "string", "Its value."},
        {"at", "integer", "The character of `q` at which it cannot be read, from 0."},
        {"role", "string", "The role that is needed."},
        {"upstream", "string", "The URL of the publisher that failed."},
        {"upstream-status", "integer", "The HTTP status of the publisher."},
    };
    struct arena *a = d->a;
    struct value *v = WITH_TEXT(a, "type", STR("object")), *properties = value_dict(a), *one,
                 *required = value_list(a);

    value_set_textz(a, v, "description", STR("What was wrong with a request (RFC 9457)."));
    value_setz(a, properties, "type", problem_types(d));
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        one = WITH_TEXT(a, "type", str_from(members[i].type));
        value_set_textz(a, one, "description", str_from(members[i].text));
        value_set(a, properties, str_from(members[i].name), one);
    }
    one = WITH_TEXT(a, "type", STR("array"));
    value_set_textz(a, one, "description", STR("The values that are allowed."));
    value_setz(a, one, "items", WITH_TEXT(a, "type", STR("string")));
    value_setz(a, properties, "allowed", one);
    value_setz(a, v, "properties", properties);
    for (size_t i = 0; i < 2; i++)
        value_push(a, required, value_text(a, i == 0 ? STR("type") : STR("status")));
    value_setz(a, v, "required", required);
    return v;
}

static struct value *header_components(struct drawing *d)
{
    struct value *v = value_dict(d->a);

    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        struct value *one = WITH_TEXT(d->a, "description", str_from(headers[i].text));

        value_setz(d->a, one, "schema", WITH_TEXT(d->a, "type", str_from(headers[i].type)));
        value_set(d->a, v, str_from(headers[i].name), one);
    }
    return v;
}

static struct value *security_schemes(struct drawing *d)
{
    struct arena *a = d->a;
    struct value *v = value_dict(a), *one;

    one = WITH_TEXT(a, "type", STR("http"));
    value_set_textz(a, one, "scheme", STR("bearer"));
    value_set_textz(a, one, "description", STR("Authorization: Bearer TOKEN."));
    value_setz(a, v, "bearer", one);
    one = WITH_TEXT(a, "type", STR("http"));
    value_set_textz(a, one, "scheme", STR("basic"));
    value_set_textz(a, one, "description", STR("The token is the password; any user will do."));
    value_setz(a, v, "basic", one);
    one = WITH_TEXT(a, "type", STR("apiKey"));
    value_set_textz(a, one, "in", STR("query"));
    value_set_textz(a, one, "name", STR(AUTH_KEY));
    value_set_textz(a, one, "description",
                    STR("Of a GET: for programs that can send nothing but a URL."));
    value_setz(a, v, "key", one);
    return v;
}

static struct value *components_of(struct drawing *d)
{
    struct arena *a = d->a;
    struct value *v = value_dict(a), *schemas = value_dict(a), *responses = value_dict(a),
                 *unreadable = value_dict(a), *content;

    value_setz(a, schemas, "Problem", problem_schema(d));
    value_set_textz(a, unreadable, "description",
                    STR("The request cannot be read at all (400, 408, 413, 414, 431, 501, with the "
                        "type about:blank), or there is no room for the answer (503)."));
    content = dict_at(a, dict_at(a, unreadable, STR("content")), STR(MEDIA_PROBLEM));
    value_setz(a, content, "schema", reference(a, "schemas", "Problem"));
    value_setz(a, responses, "Unreadable", unreadable);
    value_setz(a, v, "schemas", schemas);
    value_setz(a, v, "responses", responses);
    value_setz(a, v, "headers", header_components(d));
    value_setz(a, v, "securitySchemes", security_schemes(d));
    return v;
}

/* ---- the document ---------------------------------------------------------------------------- */

static struct value *info_of(struct drawing *d)
{
    struct arena *a = d->a;
    struct value *v = value_dict(a), *license = value_dict(a);

    value_set_textz(a, v, "title", STR("Feedmill"));
    value_set_textz(a, v, "version", STR(FEEDMILL_VERSION));
    value_set_textz(a, v, "description",
                    STR("Feeds, fetched and merged, to be read, waited for and delivered. Unknown "
                        "parameters are ignored. HEAD is GET without the body. A number with "
                        "`x-counts-within` is not refused outside these bounds: it counts as the "
                        "nearest of them."));
    value_set_textz(a, license, "name", STR("MIT"));
    value_set_textz(a, license, "identifier", STR("MIT"));
    value_setz(a, v, "license", license);
    return v;
}

static struct value *servers_of(struct drawing *d)
{
    struct value *list = value_list(d->a);
    struct str base = d->cfg->base_url;

    while (str_ends(base, STR("/")))
        base.len--;
    value_push(d->a, list, WITH_TEXT(d->a, "url", base.len > 0 ? base : STR("/")));
    return list;
}

void openapi_write(struct buf *out, const struct api_cfg *cfg)
{
    struct arena arena = ARENA_INIT;
    struct drawing d = {&arena, cfg};
    struct value *v = value_dict(&arena);

    value_set_textz(&arena, v, "openapi", STR("3.1.1"));
    value_setz(&arena, v, "info", info_of(&d));
    value_setz(&arena, v, "servers", servers_of(&d));
    value_setz(&arena, v, "paths", paths_of(&d));
    value_setz(&arena, v, "components", components_of(&d));
    json_write(out, v);
    buf_putc(out, '\n');
    arena_release(&arena);
}

void openapi_get(struct request *req)
{
    const struct api_conf *conf = CONTAINER_OF(req->ask.cfg, struct api_conf, cfg);
    struct reply r = REPLY_INIT;

    r.media_type = MEDIA_JSON;
    r.cache = "no-cache";
    r.varies_encoding = true;
    r.etag = reply_etag(req->ask.arena, blob_bytes(conf->openapi));
    r.body = conf->openapi;
    r.gzip = conf->openapi_gzip;
    reply_send(req, &r);
}
