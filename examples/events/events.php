<?php
// events.php BASE FOLDER [QUESTION]: writes each event to FOLDER/news.jsonl as it happens.
//
// FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
// after a crash it may come twice, but none is lost.
// QUESTION: which entries, as view=NAME or "folder=News&q=crane". When the server cannot go on from
// the position (410), all that it has comes again. FEEDMILL_TOKEN: the token.
[, $base, $folder, $question] = $argv + [3 => ''];

function note(string $folder, string $id): void
{
    file_put_contents("$folder/position.new", $id);
    rename("$folder/position.new", "$folder/position");
}

function follow(string $base, string $folder, string $question): void
{
    $since = is_file("$folder/position") ? file_get_contents("$folder/position") : 'start';
    // a comment comes every 15 seconds, so a silent connection is dead
    $token = getenv('FEEDMILL_TOKEN');
    $stream = fopen("$base/events?" . http_build_query(['since' => $since]) . "&$question", 'r', false,
        stream_context_create(['http' => ['protocol_version' => 1.0, 'timeout' => 60, 'ignore_errors' => true,
            'header' => $token ? ["Authorization: Bearer $token"] : []]]));
    if ($stream === false)
        return; // PHP has said why
    $status = (int) explode(' ', $http_response_header[0])[1];
    if ($status === 410)
        note($folder, json_decode(stream_get_contents($stream), true)['horizon'] ?? 'start');
    if ($status !== 200) {
        fwrite(STDERR, "status $status\n");
        return;
    }
    $id = null;
    // a line without an end: the connection ended in its middle
    while (($line = fgets($stream)) !== false && str_ends_with($line, "\n")) {
        $line = rtrim($line, "\n");
        if (str_starts_with($line, 'id: ')) {
            $id = substr($line, 4);
        } elseif (str_starts_with($line, 'data: ')) {
            $event = substr($line, 6) . "\n";
            if (file_put_contents("$folder/news.jsonl", $event, FILE_APPEND) !== strlen($event))
                exit(1); // PHP has said why
        } elseif ($line === '' && $id !== null) { // the end of an event
            note($folder, $id);
        }
    }
}

is_dir($folder) || mkdir($folder, 0777, true);
while (true) {
    follow($base, $folder, $question);
    sleep(2);
}
