# mirror.rb BASE FILE: FILE has all entries as they are now, and follows the log.
#
# FILE has the entries and the cursor up to which they are known, so both change in one step: after a
# crash nothing is lost and nothing comes twice. The server holds a request until there is news.
require "json"
require "net/http"

$stdout.sync = true
base, file = ARGV
mirror = File.exist?(file) ? JSON.parse(File.read(file)) : { "cursor" => "start", "entries" => {} }

def pull(base, cursor)
  query = URI.encode_www_form(since: cursor, max: 1000, timeout: 55)
  uri = URI("#{base}/log?#{query}")
  # as it is, the answer has the length that its head says: many versions of Ruby do not tell when it ends too early
  answer = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", read_timeout: 90) do |http|
    http.get(uri.request_uri, "Accept-Encoding" => "identity")
  end
  answer.value # raises unless it is a success
  raise EOFError, "the answer ends too early" if answer.body.bytesize < answer.content_length.to_i
  JSON.parse(answer.body)
end

loop do
  begin
    log = pull(base, mirror["cursor"])
  rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError => error
    warn error.message
    sleep 2
    next
  end
  log["revisions"].each do |revision|
    key = "#{revision["feed"]} #{revision["uid"]}"
    if revision["kind"] == "deleted"
      mirror["entries"].delete(key)
    else
      mirror["entries"][key] = revision["entry"]
    end
  end
  mirror["cursor"] = log["cursor"]
  File.write("#{file}.new", JSON.generate(mirror))
  File.rename("#{file}.new", file)
  log["revisions"].each do |revision|
    puts "#{revision["kind"]} #{revision.dig("entry", "title") || revision["uid"]}"
  end
end
