/* server/suggest.h - finds the word that a user probably meant. Pure.
 *
 * struct suggestion s = {.typed = "improt"}; suggest_consider(&s, "import"); ... then s.best is the
 * nearest candidate, or NULL: none is near.
 */
#pragma once

struct suggestion {
    const char *typed;
    const char *best;  /* borrowed from suggest_consider() */
    unsigned distance; /* letters to insert, drop, change, or swap with the next one */
};

void suggest_consider(struct suggestion *s, const char *candidate);
