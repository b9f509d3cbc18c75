/* api/views/shown.c - see shown.h. */
#include "api/views/shown.h"

#include "feed/write/showing.h"

/* Add the names of one value to the list, each once. */
static bool add_names(struct ask *ask, struct view *view, struct str value, struct buf *list,
                      struct problem *p)
{
    while (!str_is_null(value)) {
        struct str name = str_trim(str_split(&value, ','));

        if (name.len == 0 || (list->len > 0 && showing_has(buf_view(list), name)))
            continue;
        if (!showing_is_name(view->format, name))
            return problem_parameter(
                p, ask->arena, param_name(PARAM_fields), name, showing_names(view->format),
                "The parameter `%s` names a member that entries do not have in this format.",
                param_name(PARAM_fields));
        if (list->len > 0)
            buf_putc(list, ',');
        buf_str(list, name);
    }
    return true;
}

static bool read_fields(struct ask *ask, struct view *view, struct problem *p)
{
    AUTO(buf_release) struct buf list = BUF_INIT(BUF_ANY);
    const struct param *one;
    size_t at = 0, len = 0;

    while ((one = params_next(&ask->params, PARAM_fields, &at)) != NULL) {
        len += one->value.len;
        if (len > (size_t)param_max(PARAM_fields))
            return problem_parameter(p, ask->arena, param_name(PARAM_fields), one->value, NULL,
                                     "The parameter `%s` may have %lld bytes.",
                                     param_name(PARAM_fields),
                                     (long long)param_max(PARAM_fields));
        if (!add_names(ask, view, one->value, &list, p))
            return false;
    }
    view->fields = list.len > 0 ? str_dup(ask->arena, buf_view(&list)) : STR_NULL;
    return true;
}

bool shown_read(struct ask *ask, struct view *view, struct problem *p)
{
    int64_t chars;
    int content;

    bool is_mirrored;

    if (!params_flag(&ask->params, ask->arena, PARAM_of_mirror, &is_mirrored, p) ||
        !params_choice(&ask->params, ask->arena, PARAM_content, &content, p) ||
        !params_count(&ask->params, ask->arena, PARAM_chars, &chars, p))
        return false;
    view->mirror = is_mirrored ? ask->origin : STR_NULL;
    view->content = (enum content_shown)content;
    view->chars = view->content == SHOWN_TEXT ? (size_t)chars : 0;
    return showing_names(view->format) == NULL || read_fields(ask, view, p);
}
