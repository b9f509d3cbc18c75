#!/bin/sh
# pull.sh URL FILE: keeps FILE the same as the document at URL. Needs curl 7.68 or later.
#
# The ETag of the document is kept in FILE.etag. While nothing is new, the answer is 304, without a
# body. Try: sh pull.sh 'http://localhost:8080/feed?type=json&url=http://localhost:8090/news.rss' news.json
set -eu
url=$1 file=$2
auth=${FEEDMILL_TOKEN:+header=\"Authorization: Bearer $FEEDMILL_TOKEN\"}
ask() { printf '%s\n' "$auth" | curl -K - "$@"; } # not as an argument, which ps shows

status=$(ask -sS --fail --compressed --etag-compare "$file.etag" --etag-save "$file.etag.new" \
    -o "$file.new" -w '%{http_code}' "$url")
if [ "$status" = 304 ]; then
    echo unchanged
else
    mv "$file.new" "$file" # first the document, then its tag: a crash in between costs one download
    mv "$file.etag.new" "$file.etag"
    echo changed
fi
