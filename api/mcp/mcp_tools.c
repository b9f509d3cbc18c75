/* api/mcp/mcp_tools.c - see mcp_tools.h. */
#include "api/mcp/mcp_tools.h"

#include "api/http/openapi_schema.h"
#include "base/assert.h"
#include "base/buf.h"
#include "feed/text/json.h"
#include "model/paths.h"

static const struct mcp_tool tools[] = {
#define TOOL(name, path, method, shape, fixed, needs, hints, title, text, ...)                      \
    {#name, path, method, SHAPE_##shape, fixed, needs, hints, title, text, __VA_ARGS__},
#include "api/mcp/tools.def"
#undef TOOL
};

static const struct {
    bool pages;
    const char *schema;
} shapes[] = {
#define SHAPE(id, pages, schema) [SHAPE_##id] = {pages, schema},
#include "api/mcp/shapes.def"
#undef SHAPE
};

const struct mcp_tool *mcp_tool_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (str_eqz(name, tools[i].name))
            return &tools[i];
    return NULL;
}

const struct route *mcp_tool_route(const struct mcp_tool *t)
{
    const struct route *r = route_find(str_from(t->path), str_from(t->method));

    ASSERT(r != NULL);
    return r;
}

const enum param_id *mcp_tool_params(struct arena *a, const struct mcp_tool *t)
{
    const struct route *r = mcp_tool_route(t);
    enum param_id *out = ARENA_ARRAY(a, enum param_id, PARAM_COUNT_);
    size_t n = 0;

    for (const enum param_id *id = r->params; *id != PARAM_NONE; id++)
        if (param_is_in(t->listed, *id) == t->only)
            out[n++] = *id;
    out[n] = PARAM_NONE;
    return out;
}

bool mcp_tool_pages(const struct mcp_tool *t)
{
    return shapes[t->shape].pages;
}

static struct value *json_of(struct arena *a, const char *text)
{
    struct value *v;

    ASSERT(json_read(a, str_from(text), &v, NULL) == RC_OK);
    return v;
}

static void need(struct arena *a, struct value *schema, const char *name)
{
    value_push(a, value_list_at(a, schema, STR("required")), value_text(a, str_from(name)));
}

static struct value *input_schema(struct arena *a, const struct api_cfg *cfg,
                                  const struct mcp_tool *t)
{
    struct value *v = openapi_object(a, mcp_tool_params(a, t), cfg, OPENAPI_JSON);

    if (mcp_tool_pages(t))
        value_setz(a, value_getz(v, "properties"), MCP_CURSOR,
                   json_of(a, "{\"type\":\"string\",\"description\":\"The next_cursor of an answer to "
                              "a call with the same other arguments: go on there.\"}"));
    if (t->needs != PARAM_NONE && (param_row(t->needs)->flags & PARAM_REQUIRED) == 0)
        need(a, v, param_name(t->needs));
    return v;
}

static struct value *annotations(struct arena *a, const struct mcp_tool *t)
{
    struct value *v = value_dict(a);
    bool reads = (t->hints & READS) != 0, destroys = (t->hints & DESTROYS) != 0;

    value_set_textz(a, v, "title", str_from(t->title));
    value_setz(a, v, "readOnlyHint", value_bool(a, reads));
    value_setz(a, v, "destructiveHint", value_bool(a, destroys));
    value_setz(a, v, "idempotentHint", value_bool(a, reads || destroys));
    value_setz(a, v, "openWorldHint", value_bool(a, (t->hints & OPEN) != 0));
    return v;
}

static struct value *tool_object(struct arena *a, const struct api_cfg *cfg,
                                 const struct mcp_tool *t)
{
    struct value *v = value_dict(a);

    value_set_textz(a, v, "name", str_from(t->name));
    value_set_textz(a, v, "title", str_from(t->title));
    value_set_textz(a, v, "description", str_from(t->text));
    value_setz(a, v, "inputSchema", input_schema(a, cfg, t));
    value_setz(a, v, "outputSchema", json_of(a, shapes[t->shape].schema));
    value_setz(a, v, "annotations", annotations(a, t));
    return v;
}

static bool may_see(const struct mcp_tool *t, enum access_role role)
{
    return role >= mcp_tool_route(t)->role;
}

struct value *mcp_tools_list(struct arena *a, const struct api_cfg *cfg, enum access_role role)
{
    struct value *v = value_dict(a), *list = value_list(a);

    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (may_see(&tools[i], role))
            value_push(a, list, tool_object(a, cfg, &tools[i]));
    value_setz(a, v, "tools", list);
    return v;
}

struct str mcp_tools_names(struct arena *a, enum access_role role)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (may_see(&tools[i], role))
            buf_printf(&out, "%s%s", out.len > 0 ? ", " : "", tools[i].name);
    return str_dup(a, buf_view(&out));
}
