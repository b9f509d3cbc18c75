#!/bin/sh
# mirror.sh BASE FILE: FILE has all entries as they are now, and follows the log. Needs curl and jq.
#
# FILE has the entries and the cursor up to which they are known, so both change in one step: after a
# crash nothing is lost and nothing comes twice. The server holds a request until there is news.
set -eu
base=$1 file=$2

[ -s "$file" ] || echo '{"cursor":"start","entries":{}}' >"$file"
while true; do
    curl -sS --fail -G "$base/log" --data-urlencode "since=$(jq -r .cursor "$file")" \
        -d max=1000 -d timeout=55 -o "$file.log" || { sleep 2; continue; }
    jq -c --slurpfile mirror "$file" '
        .cursor as $cursor | reduce .revisions[] as $r ($mirror[0];
            "\($r.feed) \($r.uid)" as $key
            | if $r.kind == "deleted" then del(.entries[$key]) else .entries[$key] = $r.entry end)
        | .cursor = $cursor' "$file.log" >"$file.new"
    mv "$file.new" "$file"
    jq -r '.revisions[] | "\(.kind) \(.entry.title // .uid)"' "$file.log"
done
