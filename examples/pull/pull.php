<?php
// pull.php URL FILE: keeps FILE the same as the document at URL.
//
// The ETag of the document is kept in FILE.etag. While nothing is new, the answer is 304, without a body.
[, $url, $file] = $argv;

// The file has the old content or the new one, also after a crash.
function replace(string $path, string $content): void
{
    if (file_put_contents("$path.new", $content) !== strlen($content) || !rename("$path.new", $path))
        exit(1); // PHP has said why
}

$fields = is_file("$file.etag") ? ['If-None-Match: ' . file_get_contents("$file.etag")] : [];
if (getenv('FEEDMILL_TOKEN'))
    $fields[] = 'Authorization: Bearer ' . getenv('FEEDMILL_TOKEN');
$body = file_get_contents($url, false, stream_context_create(
    ['http' => ['header' => $fields, 'ignore_errors' => true]]));
if ($body === false)
    exit(1); // PHP has said why
$status = (int) explode(' ', $http_response_header[0])[1];
if ($status === 304) {
    echo "unchanged\n";
} elseif ($status === 200) {
    foreach ($http_response_header as $field) {
        if (stripos($field, 'Content-Length:') === 0 && strlen($body) !== (int) substr($field, 15)) {
            fwrite(STDERR, "the answer ended too early\n"); // PHP does not look
            exit(1);
        }
    }
    // first the document, then its tag: a crash in between costs one download
    replace($file, $body);
    foreach ($http_response_header as $field)
        if (stripos($field, 'ETag:') === 0)
            replace("$file.etag", trim(substr($field, 5)));
    echo "changed\n";
} else {
    fwrite(STDERR, "status $status\n");
    exit(1);
}
