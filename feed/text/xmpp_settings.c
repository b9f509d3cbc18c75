/* feed/text/xmpp_settings.c - see xmpp_settings.h. */
#include "feed/text/xmpp_settings.h"

#include "base/buf.h"
#include "feed/text/json.h"

struct str xmpp_settings_write(struct arena *a, struct str node)
{
    AUTO(buf_release) struct buf json = BUF_INIT(BUF_ANY);

    buf_puts(&json, "{\"node\":");
    json_write_text(&json, node);
    buf_putc(&json, '}');
    return str_dup(a, buf_view(&json));
}

enum rc xmpp_settings_read(struct arena *a, struct str json, struct str *node, struct err *err)
{
    struct value *v;

    *node = STR_NULL;
    if (json.len == 0)
        return RC_OK;
    if (json_read(a, json, &v, NULL) != RC_OK || v->kind != VAL_DICT)
        return err_set(err, RC_INPUT, "the stored settings of the subscription cannot be read");
    *node = value_get_text(v, STR("node"));
    return RC_OK;
}
