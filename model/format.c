/* model/format.c - functions that look into the table of formats. */
#include "model/format.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "model/media_types.h"

static const struct {
    const char *name, *media_type, *accepts, *suffix;
    unsigned traits;
} formats[] = {
#define FORMAT(id, name, media_type, accepts, suffix, writer, traits)                              \
    [FORMAT_##id] = {name, media_type, accepts, suffix, traits},
#include "model/formats.def"
#undef FORMAT
};

bool format_has(enum feed_format format, unsigned traits)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return (formats[format].traits & traits) == traits;
}

const char *format_name(enum feed_format format)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return formats[format].name;
}

const char *format_media_type(enum feed_format format)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return formats[format].media_type;
}

struct str format_bare_type(enum feed_format format)
{
    struct str type = str_from(format_media_type(format));

    return str_split(&type, ';');
}

const char *format_accepts(enum feed_format format)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return formats[format].accepts;
}

const char *format_suffix(enum feed_format format)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return formats[format].suffix;
}

bool format_find(struct str name, unsigned traits, enum feed_format *out)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (str_eqz(name, formats[i].name) && format_has((enum feed_format)i, traits)) {
            *out = (enum feed_format)i;
            return true;
        }
    return false;
}

/* Append `s`, after a "|" if it is not the first. */
static void append(char *out, size_t size, struct str s)
{
    size_t len = strlen(out);
    int n = snprintf(out + len, size - len, "%s%.*s", len > 0 ? "|" : "", STR_ARG(s));

    ASSERT(n >= 0 && (size_t)n < size - len);
}

void format_names(unsigned traits, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (format_has((enum feed_format)i, traits))
            append(out, size, str_from(formats[i].name));
}

void format_bare_types(unsigned traits, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (format_has((enum feed_format)i, traits))
            append(out, size, format_bare_type((enum feed_format)i));
}
