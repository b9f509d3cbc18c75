/* api/views/page_fields.h - the fields of an answer with a page for browsers. */
#pragma once

/* A text by a publisher must not run scripts in our origin, nor send forms, nor tell anybody which
 * page it was read on. */
#define PAGE_FIELDS                                                                                \
    "Content-Security-Policy: sandbox; default-src 'none'; img-src *; media-src *; "               \
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\r\n"                           \
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
