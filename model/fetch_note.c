/* model/fetch_note.c - see fetch_note.h. A note is a line of numbers. */
#include "model/fetch_note.h"

#include <inttypes.h>

#define NUMBERS 9

enum { IS_OK = 1, IS_GAP = 2 };

struct str fetch_notes_add(struct arena *a, struct str text, const struct fetch_note *note)
{
    size_t len = 0, n = 1;

    while (len < text.len && n < FETCH_NOTES)
        n += text.ptr[len++] == '\n';
    return str_printf(a,
                      "%" PRId64 " %d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d\n%.*s",
                      note->at, (int)note->reason, note->status, (note->ok ? IS_OK : 0) | (note->is_gap ? IS_GAP : 0), note->n_new,
                      note->n_changed, note->n_deleted, note->next_at, (int)note->next_reason,
                      STR_ARG(str_slice(text, 0, len)));
}

static bool read_reason(int64_t number, enum fetch_reason *out)
{
    *out = (enum fetch_reason)number;
    return number >= 0 && number < REASON_COUNT_;
}

static bool read_note(struct str line, struct fetch_note *out)
{
    int64_t n[NUMBERS];
    size_t i = 0;

    for (; i < NUMBERS && !str_is_null(line); i++)
        if (!str_to_i64(str_split(&line, ' '), &n[i]))
            return false;
    if (i < NUMBERS || !str_is_null(line) || n[2] < 0 || n[2] > 999)
        return false;
    *out = (struct fetch_note){.at = n[0],
                               .status = (int)n[2],
                               .ok = (n[3] & IS_OK) != 0,
                               .is_gap = (n[3] & IS_GAP) != 0,
                               .n_new = n[4],
                               .n_changed = n[5],
                               .n_deleted = n[6],
                               .next_at = n[7]};
    return read_reason(n[1], &out->reason) && read_reason(n[8], &out->next_reason);
}

size_t fetch_notes_read(struct str text, struct fetch_note *out)
{
    size_t n = 0;

    while (n < FETCH_NOTES && text.len > 0 && read_note(str_split(&text, '\n'), &out[n]))
        n++;
    return n;
}
