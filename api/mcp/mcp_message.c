/* api/mcp/mcp_message.c - see mcp_message.h. */
#include "api/mcp/mcp_message.h"

#include "feed/text/json.h"

static bool is_id(const struct value *v)
{
    return v != NULL && (v->kind == VAL_TEXT || v->kind == VAL_INT || v->kind == VAL_REAL);
}

static void refuse(struct mcp_message *out, const char *why)
{
    out->kind = MCP_INVALID;
    out->id = NULL; /* section 5 of JSON-RPC 2.0 */
    out->why = why;
}

void mcp_message_read(const struct value *v, struct mcp_message *out)
{
    const struct value *id = value_getz(v, "id"), *method = value_getz(v, "method");

    *out = (struct mcp_message){.kind = MCP_NOTICE,
                                .method = value_get_textz(v, "method"),
                                .params = value_getz(v, "params")};
    if (is_id(id))
        out->id = id;
    if (v == NULL || v->kind != VAL_DICT)
        refuse(out, "A message must be a JSON object.");
    else if (!str_eqz(value_get_textz(v, "jsonrpc"), "2.0"))
        refuse(out, "The member `jsonrpc` must be \"2.0\".");
    else if (method == NULL && (value_getz(v, "result") != NULL || value_getz(v, "error") != NULL))
        return;
    else if (str_is_null(out->method))
        refuse(out, "The member `method` must be a text.");
    else if (id != NULL && out->id == NULL)
        refuse(out, "The member `id` must be a text or a number.");
    else if (out->params != NULL && out->params->kind != VAL_DICT)
        refuse(out, "The member `params` must be an object.");
    else if (id != NULL)
        out->kind = MCP_REQUEST;
}

static void put_head(struct buf *out, const struct value *id)
{
    buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id == NULL)
        buf_puts(out, "null");
    else
        json_write(out, id);
}

struct str mcp_response(struct arena *a, const struct value *id, struct str result)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    put_head(&out, id);
    buf_puts(&out, ",\"result\":");
    buf_str(&out, result);
    buf_putc(&out, '}');
    return str_dup(a, buf_view(&out));
}

struct str mcp_failure(struct arena *a, const struct value *id, enum mcp_code code,
                       struct str message)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    put_head(&out, id);
    buf_printf(&out, ",\"error\":{\"code\":%d,\"message\":", (int)code);
    json_write_text(&out, message);
    buf_puts(&out, "}}");
    return str_dup(a, buf_view(&out));
}
