/* base/limits.h - fixed limits that several files use, or that the documents name.
 *
 * Sizes are in bytes and times in milliseconds, unless the comment says otherwise. A limit that
 * only one file uses is a macro in that file. A limit that an administrator may change is an option
 * (server/options.def). */
#pragma once

/* Incoming HTTP */
#define LIMIT_REQUEST_TARGET (64 * 1024)      /* request line */
#define LIMIT_REQUEST_HEADER (128 * 1024)     /* request line and all fields */
#define LIMIT_REQUEST_FIELDS 128              /* number of fields */
#define LIMIT_REQUEST_BODY (16 * 1024 * 1024) /* of any request; some paths accept less */
#define LIMIT_RPC_BODY (512 * 1024)           /* an XML-RPC call */
#define LIMIT_READ_RATE 4096                  /* bytes a second that a client must read at least */

/* Outgoing HTTP (requirements: SCHED-15) */
#define LIMIT_FETCH_BODY (16 * 1024 * 1024) /* decoded body of a fetched document */
#define LIMIT_FETCH_CONTENT (1024 * 1024)   /* decoded content of a metadata record */
#define LIMIT_FETCH_HEADER (64 * 1024)      /* all fields of one answer */
#define LIMIT_FETCH_REDIRECTS 5
#define LIMIT_FETCH_MS 30000          /* one document, redirects included */
#define LIMIT_PUSH_ANSWER (64 * 1024) /* body of an endpoint's answer */

/* Documents */
#define LIMIT_XML_DEPTH 256
#define LIMIT_XML_ATTRIBUTES 100 /* of one element; libxml2 compares each with each */
#define LIMIT_JSON_DEPTH 64
#define LIMIT_JSON_VALUES 1000000     /* in one document; estimated by its commas and brackets */
#define LIMIT_BASE 2048               /* a base URL (xml:base), which is stored with each text */
#define LIMIT_FEED_ENTRIES 20000      /* entries taken from one document */
#define LIMIT_ENTRY (4 * 1024 * 1024) /* one serialized entry */
#define LIMIT_OPML_OUTLINES 10000
#define LIMIT_OPML_DEPTH 64
#define LIMIT_LISTS 32       /* OPML lists that are read for one list, itself included */
#define LIMIT_LISTS_DEPTH 3  /* lists within lists */
#define LIMIT_LISTS_MS 20000 /* after this time no further list is fetched */
#define LIMIT_URL (16 * 1024)

/* Requests */
#define LIMIT_URLS 10000 /* feeds named in one request */
#define LIMIT_LEN 1000   /* entries in one answer */
#define DEFAULT_LEN 50   /* entries in one answer when the request does not say how many */
