# mirror.rb BASE FILE [QUESTION]: FILE has all entries as they are now, and follows the log.
#
# FILE has the entries and the cursor up to which they are known, so both change in one step: after a
# crash nothing is lost and nothing comes twice. The server holds a request until there is news.
#
# QUESTION: which entries, as view=NAME or "folder=News&q=crane"; an edited one may leave them (`left`).
# When the server cannot go on from the cursor (410), the mirror begins anew. FEEDMILL_TOKEN: the token.
require "json"
require "net/http"

$stdout.sync = true
base, file, question = ARGV
mirror = File.exist?(file) ? JSON.parse(File.read(file)) : { "cursor" => "start", "entries" => {} }

def pull(base, question, cursor)
  query = URI.encode_www_form(since: cursor, max: 1000, timeout: 55)
  uri = URI("#{base}/log?#{query}&#{question}")
  # as it is, the answer has the length that its head says: many versions of Ruby do not tell when it ends too early
  fields = { "Accept-Encoding" => "identity" }
  fields["Authorization"] = "Bearer #{ENV["FEEDMILL_TOKEN"]}" if ENV["FEEDMILL_TOKEN"]
  answer = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", read_timeout: 90) do |http|
    http.get(uri.request_uri, fields)
  end
  answer.value unless answer.code == "410" # raises unless it is a success
  raise EOFError, "the answer ends too early" if answer.body.bytesize < answer.content_length.to_i
  JSON.parse(answer.body)
end

loop do
  begin
    log = pull(base, question, mirror["cursor"])
    unless log["revisions"]
      mirror = { "cursor" => log["horizon"] || "start", "entries" => {} }
      raise IOError, "begins anew"
    end
  rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError => error
    warn error.message
    sleep 2
    next
  end
  log["revisions"].each do |revision|
    key = "#{revision["feed"]} #{revision["uid"]}"
    if %w[deleted left].include?(revision["kind"])
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
