/* storage/iri.h - when entries of two feeds are the same. Pure. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/* The hash of a uid that is an absolute IRI: a scheme, a colon, some more text, without blanks and
 * quotes. Entries of two feeds with the same absolute IRI are the same entry; other ids are unique
 * only within their feed. 63 bits; 0: it is not an absolute IRI. */
int64_t iri_of_uid(struct str uid);
