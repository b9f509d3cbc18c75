#!/bin/sh
# events.sh BASE FOLDER: writes each event to FOLDER/news.jsonl as it happens. Needs curl.
#
# FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
# after a crash it may come twice, but none is lost.
set -eu
base=$1 folder=$2

mkdir -p "$folder"
[ -s "$folder/position" ] || echo start >"$folder/position"
while true; do
    # less than a byte a second for a minute: the connection is dead, because comments come every 15 s
    curl -sSN --fail --speed-limit 1 --speed-time 60 -G "$base/events" \
        --data-urlencode "since=$(cat "$folder/position")" | while IFS= read -r line; do
        case $line in
        'id: '*) id=${line#id: } ;;
        'data: '*) printf '%s\n' "${line#data: }" >>"$folder/news.jsonl" ;;
        '') # the end of an event
            [ -z "${id:-}" ] || { echo "$id" >"$folder/position.new" && mv "$folder/position.new" "$folder/position"; }
            ;;
        esac
    done
    sleep 2
done
