/* storage/pages.h - where the pages of the log begin, for sets of feeds: kept in memory.
 *
 * A page is a fixed number of revisions in order of addition, so the log alone says where it
 * begins. Counting from the start would cost more with every page. So what was counted once is
 * kept, one number a page, and counting goes on from there. Any thread.
 */
#pragma once

#include "storage/store.h"

struct pages;
struct pages *pages_new(void);
void pages_free(struct pages **pp);

/* Forget all: two feeds were merged, which changes the past of their logs. */
void pages_forget(struct pages *p);
