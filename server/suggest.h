/* server/suggest.h - finds the word that a user probably meant. Pure.
 *
 * struct suggestion s = {.typed = "improt"};
 * suggest_consider(&s, "import"); ... once for each candidate
 * Then s.best is the nearest candidate, or NULL if none is near.
 */
#pragma once

struct suggestion {
    const char *typed;
    const char *best;  /* borrowed from suggest_consider() */
    unsigned distance; /* how many letters to insert, remove, change, or swap with the next one; case does not count */
};

/* Compare `typed` with one more candidate. */
void suggest_consider(struct suggestion *s, const char *candidate);
