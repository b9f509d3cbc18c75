/* api/lists/sub_names.c - see sub_names.h. */
#include "api/lists/sub_names.h"

#include "base/limits.h"
#include "feed/lists/folders.h"

bool sub_title_read(const struct params *ps, struct arena *a, size_t n_feeds, struct str *out,
                    struct problem *p)
{
    struct str title;

    *out = STR_NULL;
    if (!params_one(ps, a, PARAM_title, &title, p))
        return false;
    if (str_is_null(title))
        return true;
    *out = str_trim(title);
    if (out->len > 0 && n_feeds > 1)
        return problem_parameter(p, a, "title", title, NULL,
                                 "The parameter `title` is for one feed; here there are %zu.",
                                 n_feeds);
    if (title.len > (size_t)param_max(PARAM_title) || str_utf8_valid(title) != title.len)
        return problem_parameter(p, a, "title", title, NULL,
                                 "The parameter `title` must be UTF-8 of at most %lld bytes.",
                                 (long long)param_max(PARAM_title));
    return true;
}

bool sub_folder_read(const struct params *ps, struct arena *a, struct str *out, struct problem *p)
{
    struct str folder, names[LIMIT_OPML_DEPTH];
    size_t n = 0;

    *out = STR_NULL;
    if (!params_one(ps, a, PARAM_folder, &folder, p))
        return false;
    if (str_is_null(folder))
        return true;
    for (struct str rest = folder; !str_is_null(rest) && n < ARRAY_LEN(names);) {
        struct str name = str_trim(str_split(&rest, '/'));

        if (name.len > 0)
            names[n++] = name;
    }
    *out = n == 0 ? STR("") : folders_of(a, names, n);
    if (str_is_null(*out) || str_utf8_valid(folder) != folder.len)
        return problem_parameter(p, a, "folder", folder, NULL,
                                 "The parameter `folder` must be a path in UTF-8: fewer than %d "
                                 "names, separated by /, of at most 4096 bytes in all.",
                                 LIMIT_OPML_DEPTH);
    return true;
}
