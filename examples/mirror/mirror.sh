#!/bin/sh
# mirror.sh BASE FILE [QUESTION]: FILE has all entries as they are now, and follows the log. Needs curl and jq.
#
# FILE has the entries and the cursor up to which they are known, so both change in one step: after a
# crash nothing is lost and nothing comes twice. The server holds a request until there is news.
#
# QUESTION: which entries, as view=NAME or "folder=News&q=crane"; an edited one may leave them (`left`).
# When the server cannot go on from the cursor (410), the mirror begins anew. FEEDMILL_TOKEN: the token.
set -eu
base=$1 file=$2 question=${3:-}
auth=${FEEDMILL_TOKEN:+header=\"Authorization: Bearer $FEEDMILL_TOKEN\"}
ask() { printf '%s\n' "$auth" | curl -K - "$@"; } # not as an argument, which ps shows

[ -s "$file" ] || echo '{"cursor":"start","entries":{}}' >"$file"
while true; do
    status=$(ask -sS -G "$base/log?$question" --data-urlencode "since=$(jq -r .cursor "$file")" \
        -d max=1000 -d timeout=55 -o "$file.log" -w '%{http_code}') || { sleep 2; continue; }
    if [ "$status" != 200 ]; then
        echo "status $status" >&2
        [ "$status" != 410 ] || { jq '{cursor: (.horizon // "start"), entries: {}}' "$file.log" >"$file.new" && mv "$file.new" "$file"; }
        sleep 2
        continue
    fi
    jq -c --slurpfile mirror "$file" '
        .cursor as $cursor | reduce .revisions[] as $r ($mirror[0];
            "\($r.feed) \($r.uid)" as $key
            | if $r.kind == "deleted" or $r.kind == "left" then del(.entries[$key]) else .entries[$key] = $r.entry end)
        | .cursor = $cursor' "$file.log" >"$file.new"
    mv "$file.new" "$file"
    jq -r '.revisions[] | "\(.kind) \(.entry.title // .uid)"' "$file.log"
done
