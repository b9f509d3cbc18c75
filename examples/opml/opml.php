<?php
// opml.php BASE LIST: subscribes to all feeds of an OPML list.
//
// With known=skip, what is subscribed already is not subscribed again, so it can be called each time that
// the list has changed.
[, $base, $list] = $argv;

$fields = ['Content-Type: text/x-opml'];
if (getenv('FEEDMILL_TOKEN'))
    $fields[] = 'Authorization: Bearer ' . getenv('FEEDMILL_TOKEN');

$answer = file_get_contents("$base/sub?known=skip", false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => $fields,
    'content' => file_get_contents($list),
    'ignore_errors' => true,
]]));
if ($answer === false)
    exit(1); // PHP has said why
$result = json_decode($answer, true);
if (!isset($result['urls'])) {
    fwrite(STDERR, $result['detail'] . "\n");
    exit(1);
}
printf("subscribed to %d feeds, %d were known\n", count($result['urls']), count($result['known'] ?? []));
foreach ($result['problems'] ?? [] as $problem)
    echo "outline $problem[outline]: $problem[detail]\n";
