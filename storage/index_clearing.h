/* storage/index_clearing.h - an index of words that is being emptied, in steps (storage/index.h). */
#pragma once

/* As its cut: it holds nothing that counts, and is emptied further before anything is added. */
#define INDEX_CLEARING (-1)
