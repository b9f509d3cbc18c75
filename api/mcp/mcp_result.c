/* api/mcp/mcp_result.c - see mcp_result.h.
 *
 * The object is sent twice, as it is and as text within JSON: clients of the older versions read the
 * text only. A byte of a text becomes six bytes at most, when it is a quotation mark. */
#include "api/mcp/mcp_result.h"

#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "feed/text/json.h"

#define PIECE_MAX (24 * 1024)      /* bytes of a text in one result: 144 KB as sent */
#define ITEMS_MAX (240 * 1024)     /* bytes of the items, as sent: room for what is around them */

struct mcp_mark mcp_mark_of(const struct str *texts, size_t n)
{
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    unsigned char hash[16];
    struct mcp_mark mark;

    for (size_t i = 0; i < n; i++) {
        buf_str(&all, texts[i]);
        buf_putc(&all, '\0');
    }
    digest_content(buf_view(&all), hash);
    digest_hex(hash, MCP_MARK / 2, mark.hex);
    mark.hex[MCP_MARK] = '\0';
    return mark;
}

bool mcp_mark_same(const struct mcp_mark *a, const struct mcp_mark *b)
{
    return memcmp(a->hex, b->hex, MCP_MARK) == 0;
}

bool mcp_mark_read(struct str hex, struct mcp_mark *out)
{
    *out = (struct mcp_mark){""};
    if (hex.len != MCP_MARK)
        return false;
    memcpy(out->hex, hex.ptr, MCP_MARK);
    return true;
}

void mcp_cursor_read(struct str cursor, struct str *position, struct mcp_part *part)
{
    size_t at = cursor.len;
    struct str mark, rest;
    int64_t n;

    *position = cursor;
    *part = (struct mcp_part){.offset = 0};
    while (at > 0 && cursor.ptr[at - 1] != '#')
        at--;
    rest = str_slice(cursor, at, cursor.len);
    mark = str_split(&rest, '.');
    if (at == 0 || !mcp_mark_read(mark, &part->mark) || !str_to_i64(rest, &n) || n < 0)
        return;
    *position = str_slice(cursor, 0, at - 1);
    part->offset = (size_t)n;
}

/* Returns the beginning of the rest of a text after `offset`. *end: where it ends; 0: at the end of
 * the text. */
static struct str piece_of(struct str text, size_t offset, size_t *end)
{
    struct str rest = str_slice(text, offset, text.len), piece;

    while (offset > 0 && rest.len > 0 && ((unsigned char)rest.ptr[0] & 0xC0) == 0x80)
        rest = str_slice(rest, 1, rest.len); /* the cursor is not one of ours: go to a character */
    piece = str_beginning(rest, PIECE_MAX);
    *end = piece.len < rest.len ? (size_t)(piece.ptr - text.ptr) + piece.len : 0;
    return piece;
}

static size_t sent_size(const struct value *v)
{
    AUTO(buf_release) struct buf once = BUF_INIT(BUF_ANY), twice = BUF_INIT(BUF_ANY);

    json_write(&once, v);
    json_write_text(&twice, buf_view(&once));
    return once.len + twice.len + 4; /* commas */
}

/* The mark of an item with its whole text. */
static struct mcp_mark mark_of(const struct value *item)
{
    const struct str texts[] = {value_get_textz(item, "id"),
                                value_get_textz(value_getz(item, "feed"), "url"),
                                value_get_textz(item, "text")};

    return mcp_mark_of(texts, ARRAY_LEN(texts));
}

/* How much of the text of the first item was told before? */
static size_t told_before(const struct mcp_part *part, const struct value *item)
{
    struct mcp_mark mark;

    if (part->offset == 0)
        return 0;
    mark = mark_of(item);
    return mcp_mark_same(&mark, &part->mark) ? part->offset : 0;
}

/* Leave in an item the piece of its text after `offset`. *part: for the cursor of what follows. */
static void cut_text(struct arena *a, struct value *item, size_t offset, struct mcp_part *part)
{
    struct value *text = value_getz(item, "text");
    struct str piece;

    *part = (struct mcp_part){.offset = 0};
    if (text == NULL)
        return;
    if (text->kind == VAL_TEXT) {
        piece = piece_of(text->s, offset, &part->offset);
        if (part->offset > 0)
            part->mark = mark_of(item);
        value_set_textz(a, item, "text", piece);
    }
    value_setz(a, item, "text_continues", value_bool(a, part->offset > 0));
}

static struct value *cursor_of(struct arena *a, struct str position, const struct mcp_part *part)
{
    return value_text(a, str_printf(a, "%.*s#%s.%zu", STR_ARG(position), part->mark.hex,
                                    part->offset));
}

/* Append the items that fit. Returns the cursor of the rest; NULL: there is none in the list. */
static struct value *fit(struct arena *a, const struct mcp_page *page, struct value *list)
{
    size_t used = 0;

    for (size_t i = 0; i < value_len(page->items); i++) {
        struct value *item = value_at(page->items, i);
        struct mcp_part part;
        size_t size;

        cut_text(a, item, i == 0 ? told_before(&page->part, item) : 0, &part);
        size = sent_size(item);
        if (i > 0 && used + size > ITEMS_MAX)
            return value_text(a, page->at[i]);
        used += size;
        value_push(a, list, item);
        if (part.offset > 0)
            return cursor_of(a, page->at[i], &part);
    }
    return NULL;
}

struct value *mcp_page_fit(struct arena *a, const struct mcp_page *page)
{
    struct value *list = value_list(a), *next = fit(a, page, list);
    struct str end = page->at[value_len(page->items)];

    value_set(a, page->told, str_from(page->name), list);
    if (page->tells_end)
        value_setz(a, page->told, "cursor", next != NULL ? next : value_text(a, end));
    if (next == NULL)
        next = page->has_more ? value_text(a, end) : value_null(a);
    value_setz(a, page->told, "next_cursor", next);
    return page->told;
}

static void write_text(struct buf *out, struct str text)
{
    buf_puts(out, "{\"content\":[{\"type\":\"text\",\"text\":");
    json_write_text(out, text);
    buf_puts(out, "}],");
}

struct str mcp_result(struct arena *a, const struct value *structured)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY), text = BUF_INIT(BUF_ANY);

    json_write(&text, structured);
    write_text(&out, buf_view(&text));
    buf_puts(&out, "\"structuredContent\":");
    buf_str(&out, buf_view(&text));
    buf_puts(&out, ",\"isError\":false}");
    return str_dup(a, buf_view(&out));
}

struct str mcp_result_error(struct arena *a, struct str sentence)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    write_text(&out, sentence);
    buf_puts(&out, "\"isError\":true}");
    return str_dup(a, buf_view(&out));
}
