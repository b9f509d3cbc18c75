# webhook.rb PORT: receives the deliveries of a webhook. Needs webrick, which Debian's Ruby has.
#
#     WEBHOOK_SECRET=whsec_... INBOX=inbox ruby webhook.rb 9001
#
# A delivery is verified; its entries go to INBOX/news.jsonl; then INBOX/taken.json notes that they are
# there; then it is acknowledged. What was not acknowledged comes again, with the same id: after a crash an
# entry may come twice, but none is lost.
require "fileutils"
require "json"
require "openssl"
require "webrick"

KEY = ENV.fetch("WEBHOOK_SECRET").delete_prefix("whsec_").unpack1("m")
abort "WEBHOOK_SECRET is not a secret" if KEY.empty?
NEWS = "#{ENV.fetch("INBOX")}/news.jsonl"
TAKEN = "#{ENV.fetch("INBOX")}/taken.json"

def genuine?(request)
  signed = "#{request["webhook-id"]}.#{request["webhook-timestamp"]}.#{request.body}"
  wanted = "v1," + [OpenSSL::HMAC.digest("SHA256", KEY, signed)].pack("m0")
  request["webhook-signature"].to_s.split.any? { |one| OpenSSL.secure_compare(wanted, one) } &&
    (Time.now.to_i - request["webhook-timestamp"].to_i).abs < 300
end

# Write to a file; it is on disk when this returns.
def write(path, mode, text)
  File.open(path, mode) do |file|
    file.write(text)
    file.fsync
  end
end

def receive(taken, id, message)
  data = message["data"]
  last = taken[data["subscription"].to_s]
  return if message["type"] == "test" || (last && last["id"] == id)

  warn "something is missing: see /log?since=#{last["cursor"]}" if last && data["prev_cursor"] != last["cursor"]
  write(NEWS, "a", data.fetch("entries", []).map { |entry| JSON.generate(entry) + "\n" }.join)
  taken[data["subscription"].to_s] = { "id" => id, "cursor" => data["last_cursor"] }
  write("#{TAKEN}.new", "w", JSON.generate(taken))
  File.rename("#{TAKEN}.new", TAKEN)
end

FileUtils.mkdir_p(ENV.fetch("INBOX"))
# of each subscription: the last delivery, as its id and the cursor where it ends
taken = File.exist?(TAKEN) ? JSON.parse(File.read(TAKEN)) : {}
one_at_a_time = Mutex.new
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ARGV[0].to_i, AccessLog: [])
server.mount_proc("/") do |request, answer|
  answer.status = 401
  next unless genuine?(request)

  one_at_a_time.synchronize { receive(taken, request["webhook-id"], JSON.parse(request.body)) }
  answer.status = 204
end
server.start
