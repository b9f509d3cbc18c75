/* api/http/paths.h - the paths of our own URLs, for routes, topics and links. */
#pragma once

#define PATH_FEED "/feed"
#define PATH_FEEDS "/feeds"
#define PATH_OPML "/opml"
#define PATH_SMART "/smart"
#define PATH_SIMPLE "/simple"
#define PATH_SIMPLE_RECENT "/simple/recent"
#define PATH_ARCHIVE "/archive"
#define PATH_HISTORY "/history"
#define PATH_PMH "/pmh"
#define PATH_ITEM "/item"
#define PATH_HUB "/hub"
#define PATH_WEBSUB "/websub"
