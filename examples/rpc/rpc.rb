# rpc.rb PORT FILE: an XML-RPC server to which entries are pushed. FILE has the last state of each.
# Needs webrick and xmlrpc, which Debian's Ruby has.
#
# The entries are on disk before the call is answered. A fault would count as delivered, so when something
# fails the answer is 500: then the call comes again. An entry that comes twice changes nothing.
require "json"
require "webrick"
require "xmlrpc/marshal"

$stdout.sync = true
port, file = ARGV
entries = File.exist?(file) ? JSON.parse(File.read(file)) : {} # by feed and id
one_at_a_time = Mutex.new

feed_received = lambda do |_subscription, url, new|
  new.each do |entry|
    entries["#{url} #{entry["id"]}"] = entry
    puts entry["title"] || entry["id"]
  end
  File.open("#{file}.new", "w") do |out|
    out.write(JSON.generate(entries))
    out.fsync
  end
  File.rename("#{file}.new", file)
end

server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: port.to_i, AccessLog: [])
server.mount_proc("/") do |request, answer|
  method, params = XMLRPC::Marshal.load_call(request.body)
  answer["Content-Type"] = "text/xml"
  if method == "feedReceived"
    one_at_a_time.synchronize { feed_received.call(*params) }
    answer.body = XMLRPC::Marshal.dump_response(true)
  else
    answer.body = XMLRPC::Marshal.dump_response(XMLRPC::FaultException.new(1, "there is no method #{method}"))
  end
end
server.start
