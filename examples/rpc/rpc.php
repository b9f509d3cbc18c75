<?php
// rpc.php: an XML-RPC server to which entries are pushed. FILE has the last state of each. It is a page,
// for any server that runs PHP. Needs the package php-xmlrpc.
//
//     FILE=entries.json php -S 127.0.0.1:9001 rpc.php
//
// The entries are on disk before the call is answered. A fault would count as delivered, so when something
// fails the answer is 500: then the call comes again. An entry that comes twice changes nothing.
ini_set('display_errors', '0'); // they would begin the answer, with status 200
http_response_code(500);        // unless all goes well
$file = getenv('FILE');
$params = xmlrpc_decode_request(file_get_contents('php://input'), $method, 'UTF-8');
header('Content-Type: text/xml');
if ($method !== 'feedReceived') {
    http_response_code(200);
    echo xmlrpc_encode_request(null, ['faultCode' => 1, 'faultString' => "there is no method $method"]);
    exit;
}

[, $url, $new] = $params;
$entries = is_file($file) ? json_decode(file_get_contents($file), true) : []; // by feed and id
foreach ($new as $entry)
    $entries["$url $entry[id]"] = $entry;
$text = json_encode($entries, JSON_THROW_ON_ERROR);
$out = fopen("$file.new", 'w');
if (!$out || fwrite($out, $text) !== strlen($text) || !fsync($out) || !rename("$file.new", $file))
    exit;
http_response_code(200);
echo xmlrpc_encode_request(null, true, ['encoding' => 'UTF-8']);
