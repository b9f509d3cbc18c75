#!/bin/sh
# opml.sh BASE LIST: subscribes to all feeds of an OPML list. Needs curl and jq.
#
# With known=skip, what is subscribed already is not subscribed again, so it can be called each time that
# the list has changed.
set -eu
base=$1 list=$2
auth=${FEEDMILL_TOKEN:+header=\"Authorization: Bearer $FEEDMILL_TOKEN\"}
ask() { printf '%s\n' "$auth" | curl -K - "$@"; } # not as an argument, which ps shows

answer=$(ask -sS --fail-with-body -H 'Content-Type: text/x-opml' --data-binary "@$list" "$base/sub?known=skip") ||
    { printf '%s\n' "$answer" | jq -r .detail >&2; exit 1; }
printf '%s\n' "$answer" | jq -r '
    "subscribed to \(.urls | length) feeds, \(.known // [] | length) were known",
    (.problems // [] | .[] | "outline \(.outline): \(.detail)")'
