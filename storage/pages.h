/* storage/pages.h - where the pages of the log begin, for sets of feeds: kept in memory.
 *
 * A page is a fixed number of revisions in order of addition, so its first seq follows from the log
 * alone; counting from the start would cost more with every page. What was counted once is kept,
 * a number a page, and counting goes on from there. Any thread.
 */
#pragma once

#include "storage/store.h"

struct pages;
struct pages *pages_new(void);
void pages_free(struct pages **pp);

/* Forget all: the log of some feed has changed its past (records were merged). */
void pages_forget(struct pages *p);
