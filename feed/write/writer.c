/* feed/write/writer.c - see writer.h. */
#include "feed/write/writer.h"

#include "base/assert.h"
#include "base/compiler.h"
#include "feed/write/writer_priv.h"

static void (*const writers[])(struct buf *out, const struct out_doc *doc) = {
#define FORMAT(id, name, media_type, accepts, suffix, writer, traits) [FORMAT_##id] = writer,
#include "model/formats.def"
#undef FORMAT
};

void feed_write(struct buf *out, enum feed_format format, const struct out_doc *doc)
{
    ASSERT((size_t)format < ARRAY_LEN(writers));
    writers[format](out, doc);
}
