<?php
// events.php BASE FOLDER: writes each event to FOLDER/news.jsonl as it happens.
//
// FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
// after a crash it may come twice, but none is lost.
[, $base, $folder] = $argv;

function follow(string $base, string $folder): void
{
    $since = is_file("$folder/position") ? file_get_contents("$folder/position") : 'start';
    // a comment comes every 15 seconds, so a silent connection is dead
    $stream = fopen("$base/events?" . http_build_query(['since' => $since]), 'r', false,
        stream_context_create(['http' => ['protocol_version' => 1.0, 'timeout' => 60]]));
    if ($stream === false)
        return; // PHP has said why
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
            file_put_contents("$folder/position.new", $id);
            rename("$folder/position.new", "$folder/position");
        }
    }
}

is_dir($folder) || mkdir($folder, 0777, true);
while (true) {
    follow($base, $folder);
    sleep(2);
}
