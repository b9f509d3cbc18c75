/* api/backup.h - the copy of the database that POST /backup gives: one at a time. */
#pragma once

struct backups;

struct backups *backups_new(void);

/* Give up the copy that is being made, if there is one, and make no more: whoever waits for one is
 * told to ask again. Before the store is closed. Any thread but the loops. */
void backups_stop(struct backups *b);

/* After backups_stop(). */
void backups_free(struct backups **bp);
