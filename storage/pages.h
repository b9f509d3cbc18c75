/* storage/pages.h - remembers where the pages of the log begin, for each set of feeds.
 *
 * A page has a fixed number of revisions, in the order in which they were added. To find its first
 * revision, all revisions before it must be counted. So the first seq of each counted page is kept
 * in memory, and counting goes on from the last one. Any thread. reader_page() in store.h uses it.
 */
#pragma once

#include "storage/store.h"

struct pages;
struct pages *pages_new(void);
void pages_free(struct pages **pp);

/* Forget all pages. This is necessary when two feeds were merged, or may have been, because that
 * changes the past of their logs. */
void pages_forget(struct pages *p);
