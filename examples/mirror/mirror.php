<?php
// mirror.php BASE FILE [QUESTION]: FILE has all entries as they are now, and follows the log.
//
// FILE has the entries and the cursor up to which they are known, so both change in one step: after a
// crash nothing is lost and nothing comes twice. The server holds a request until there is news.
//
// QUESTION: which entries, as view=NAME or "folder=News&q=crane"; an edited one may leave them (`left`).
// When the server cannot go on from the cursor (410), the mirror begins anew. FEEDMILL_TOKEN: the token.
[, $base, $file, $question] = $argv + [3 => ''];
$mirror = is_file($file) ? json_decode(file_get_contents($file), true)
    : ['cursor' => 'start', 'entries' => []];

// The answer, and its status; null: none came whole.
function pull(string $base, string $question, string $cursor): ?array
{
    $query = http_build_query(['since' => $cursor, 'max' => 1000, 'timeout' => 55]);
    $token = getenv('FEEDMILL_TOKEN');
    $body = file_get_contents("$base/log?$query&$question", false, stream_context_create(['http' => [
        'timeout' => 90, 'ignore_errors' => true, 'header' => $token ? ["Authorization: Bearer $token"] : []]]));
    $answer = $body === false ? null : json_decode($body, true); // PHP has said why there is none
    return $answer === null ? null : ['status' => (int) explode(' ', $http_response_header[0])[1]] + $answer;
}

while (true) {
    $log = pull($base, $question, $mirror['cursor']);
    if ($log === null || $log['status'] !== 200) {
        if ($log !== null)
            fwrite(STDERR, "status $log[status]\n");
        if ($log !== null && $log['status'] === 410)
            $mirror = ['cursor' => $log['horizon'] ?? 'start', 'entries' => []];
        sleep(2);
        continue;
    }
    foreach ($log['revisions'] as $revision) {
        $key = "$revision[feed] $revision[uid]";
        if (in_array($revision['kind'], ['deleted', 'left']))
            unset($mirror['entries'][$key]);
        else
            $mirror['entries'][$key] = $revision['entry'];
    }
    $mirror['cursor'] = $log['cursor'];
    // an object also when it is empty
    $text = json_encode(['entries' => (object) $mirror['entries']] + $mirror, JSON_THROW_ON_ERROR);
    if (file_put_contents("$file.new", $text) !== strlen($text) || !rename("$file.new", $file))
        exit(1); // PHP has said why
    foreach ($log['revisions'] as $revision)
        echo $revision['kind'], ' ', $revision['entry']['title'] ?? $revision['uid'], "\n";
}
