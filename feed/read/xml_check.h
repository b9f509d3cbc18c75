/* feed/read/xml_check.h - checks whether a document is well-formed XML. Used for lists, which are
 * then read by their tags whether they are well-formed or not. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct xml_verdict {
    bool is_well_formed;
    bool is_crowded; /* an element has more than LIMIT_XML_ATTRIBUTES attributes; the check ended */
};

/* Check `text`, which must be valid UTF-8. The time is proportional to its length, whatever it
 * contains: a DOCTYPE is skipped, and attributes and depth are limited. Any thread. */
struct xml_verdict xml_check(struct str text);
