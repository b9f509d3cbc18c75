/* api/views/seen.c - see seen.h. */
#include "api/views/seen.h"

#include "api/views/log_rows.h"

/* Have the book refreshed once, before it is asked for the first time. */
struct asked {
    struct sub_book *book;
    struct reader *reader;
    bool is_fresh;
};

static enum rc freshen(struct asked *asked, struct err *err)
{
    enum rc rc = asked->is_fresh ? RC_OK : sub_book_refresh(asked->book, asked->reader, err);

    asked->is_fresh = rc == RC_OK;
    return rc;
}

enum rc seen_keep(struct store *s, struct sub_book *b, struct reader *r, const struct caller *c, struct revision *rows,
                  size_t n, size_t *kept, struct err *err)
{
    struct asked asked = {b, r, false};
    int64_t last = 0;
    bool is_seen = false;
    enum rc rc = RC_OK;

    *kept = 0;
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        if (i == 0 || rows[i].feed_id != last) {
            last = rows[i].feed_id;
            is_seen = log_feed_is_public(s, last);
            if (!is_seen)
                rc = freshen(&asked, err);
            is_seen = is_seen || (rc == RC_OK && sub_book_has(b, c, last));
        }
        if (is_seen)
            rows[(*kept)++] = rows[i];
    }
    return rc;
}

enum rc seen_read(struct store *s, struct sub_book *b, struct reader *r, const struct revision *rows, size_t n,
                  struct arena *a, struct seen *out, struct err *err)
{
    struct asked asked = {b, r, false};
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        int64_t *owners;

        if (i > 0 && rows[i].feed_id == rows[i - 1].feed_id) {
            out[i] = out[i - 1];
            continue;
        }
        out[i] = (struct seen){.by_all = log_feed_is_public(s, rows[i].feed_id)};
        if (out[i].by_all)
            continue;
        rc = freshen(&asked, err);
        out[i].n_owners = sub_book_owners(b, rows[i].feed_id, a, &owners);
        out[i].owners = owners;
    }
    return rc;
}

bool seen_by(const struct seen *seen, const struct caller *c)
{
    for (size_t i = 0; i < seen->n_owners && !seen->by_all; i++)
        if (caller_has(c, seen->owners[i]))
            return true;
    return seen->by_all || c->role == ROLE_ADMIN;
}
