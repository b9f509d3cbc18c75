/* model/media_types.h - the media types in which Feedmill sends, and which it tells from others in
 * what clients send. Those that only the readers of feeds know stand with these readers. */
#pragma once

#define MEDIA_UTF8 "; charset=utf-8"

#define MEDIA_ATOM "application/atom+xml"
#define MEDIA_ATOM_DELETED "application/atomdeleted+xml" /* RFC 6721 section 4 */
#define MEDIA_RSS "application/rss+xml"
#define MEDIA_JSON_FEED "application/feed+json"
#define MEDIA_JSON "application/json"
#define MEDIA_PROBLEM "application/problem+json" /* RFC 9457 */
#define MEDIA_JAVASCRIPT "application/javascript"
#define MEDIA_HTML "text/html"
#define MEDIA_XML "text/xml"
#define MEDIA_OPML "text/x-opml"
#define MEDIA_SQLITE "application/vnd.sqlite3"
#define MEDIA_URLENCODED "application/x-www-form-urlencoded"
