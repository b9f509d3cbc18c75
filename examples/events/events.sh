#!/bin/sh
# events.sh BASE FOLDER [QUESTION]: writes each event to FOLDER/news.jsonl as it happens. Needs curl.
#
# FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
# after a crash it may come twice, but none is lost.
# QUESTION: which entries, as view=NAME or "folder=News&q=crane". When the server cannot go on from
# the position (410), all that it has comes again. FEEDMILL_TOKEN: the token.
set -eu
base=$1 folder=$2 question=${3:-}
auth=${FEEDMILL_TOKEN:+header=\"Authorization: Bearer $FEEDMILL_TOKEN\"}
ask() { printf '%s\n' "$auth" | curl -K - "$@"; } # not as an argument, which ps shows

mkdir -p "$folder"
[ -s "$folder/position" ] || echo start >"$folder/position"
while true; do
    # less than a byte a second for a minute: the connection is dead, because comments come every 15 s
    ask -sSN --fail-with-body --speed-limit 1 --speed-time 60 -G "$base/events?$question" \
        --data-urlencode "since=$(cat "$folder/position")" | while IFS= read -r line; do
        case $line in
        'id: '*) id=${line#id: } ;;
        'data: '*) printf '%s\n' "${line#data: }" >>"$folder/news.jsonl" ;;
        *problem:history-gone* | *problem:view-changed*)
            horizon=$(printf '%s\n' "$line" | sed -n 's/.*"horizon":"\([^"]*\)".*/\1/p')
            echo "${horizon:-start}" >"$folder/position.new" && mv "$folder/position.new" "$folder/position"
            ;;
        '') # the end of an event
            [ -z "${id:-}" ] || { echo "$id" >"$folder/position.new" && mv "$folder/position.new" "$folder/position"; }
            ;;
        esac
    done
    sleep 2
done
