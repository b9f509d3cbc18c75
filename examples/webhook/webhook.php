<?php
// webhook.php: receives the deliveries of a webhook. It is a page, for any server that runs PHP:
//
//     mkdir inbox
//     WEBHOOK_SECRET=whsec_... INBOX=inbox php -S 127.0.0.1:9001 webhook.php
//
// A delivery is verified; its entries go to INBOX/news.jsonl; then INBOX/taken.json notes that they are
// there; then it is acknowledged. What was not acknowledged comes again, with the same id: after a crash an
// entry may come twice, but none is lost.
ini_set('display_errors', '0'); // they would begin the answer, with status 200
http_response_code(500);        // unless all goes well: then the delivery comes again
$inbox = getenv('INBOX');
$key = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')));
if ($key === '') {
    error_log('WEBHOOK_SECRET is not a secret');
    exit;
}
$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$at = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';

$wanted = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
$signed = false;
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $one)
    $signed = $signed || hash_equals($wanted, $one);
if (!$signed || abs(time() - (int) $at) >= 300) {
    http_response_code(401);
    exit;
}

// Write to a file; it is on disk when this returns.
function write(string $path, string $mode, string $text): void
{
    $file = fopen($path, $mode);
    if (!$file || fwrite($file, $text) !== strlen($text) || !fsync($file) || !fclose($file))
        exit;
}

['type' => $type, 'data' => $data] = json_decode($body, true);
// of each subscription: the last delivery, as its id and the cursor where it ends
$taken = is_file("$inbox/taken.json") ? json_decode(file_get_contents("$inbox/taken.json"), true) : [];
$last = $taken[$data['subscription']] ?? null;
if ($type !== 'test' && ($last['id'] ?? null) !== $id) {
    if ($last !== null && $data['prev_cursor'] !== $last['cursor'])
        error_log('something is missing: see /log?since=' . $last['cursor']);
    $lines = '';
    foreach ($data['entries'] ?? [] as $entry)
        $lines .= json_encode($entry, JSON_THROW_ON_ERROR) . "\n";
    write("$inbox/news.jsonl", 'a', $lines);
    $taken[$data['subscription']] = ['id' => $id, 'cursor' => $data['last_cursor']];
    write("$inbox/taken.json.new", 'w', json_encode($taken));
    rename("$inbox/taken.json.new", "$inbox/taken.json");
}
http_response_code(204);
