<?php
// mirror.php BASE FILE: FILE has all entries as they are now, and follows the log.
//
// FILE has the entries and the cursor up to which they are known, so both change in one step: after a
// crash nothing is lost and nothing comes twice. The server holds a request until there is news.
[, $base, $file] = $argv;
$mirror = is_file($file) ? json_decode(file_get_contents($file), true)
    : ['cursor' => 'start', 'entries' => []];

function pull(string $base, string $cursor): ?array
{
    $query = http_build_query(['since' => $cursor, 'max' => 1000, 'timeout' => 55]);
    $body = file_get_contents("$base/log?$query", false,
        stream_context_create(['http' => ['timeout' => 90]]));
    return $body === false ? null : json_decode($body, true); // PHP has said why there is none
}

while (true) {
    $log = pull($base, $mirror['cursor']);
    if ($log === null) {
        sleep(2);
        continue;
    }
    foreach ($log['revisions'] as $revision) {
        $key = "$revision[feed] $revision[uid]";
        if ($revision['kind'] === 'deleted')
            unset($mirror['entries'][$key]);
        else
            $mirror['entries'][$key] = $revision['entry'];
    }
    $mirror['cursor'] = $log['cursor'];
    $text = json_encode($mirror, JSON_THROW_ON_ERROR);
    if (file_put_contents("$file.new", $text) !== strlen($text) || !rename("$file.new", $file))
        exit(1); // PHP has said why
    foreach ($log['revisions'] as $revision)
        echo $revision['kind'], ' ', $revision['entry']['title'] ?? $revision['uid'], "\n";
}
