# events.rb BASE FOLDER [QUESTION]: writes each event to FOLDER/news.jsonl as it happens.
#
# FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
# after a crash it may come twice, but none is lost.
# QUESTION: which entries, as view=NAME or "folder=News&q=crane". When the server cannot go on from
# the position (410), all that it has comes again. FEEDMILL_TOKEN: the token.
require "fileutils"
require "json"
require "net/http"

BASE, FOLDER, QUESTION = ARGV
FIELDS = ENV["FEEDMILL_TOKEN"] ? { "Authorization" => "Bearer #{ENV["FEEDMILL_TOKEN"]}" } : {}

def note(id)
  File.write("#{FOLDER}/position.new", id)
  File.rename("#{FOLDER}/position.new", "#{FOLDER}/position")
end

# Yields each line of the stream, without its end.
def lines(uri)
  # a comment comes every 15 seconds, so a silent connection is dead
  Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", read_timeout: 60) do |http|
    http.request_get(uri.request_uri, FIELDS) do |answer|
      note(JSON.parse(answer.read_body)["horizon"] || "start") if answer.code == "410"
      answer.value if answer.code != "200" # raises
      rest = +""
      answer.read_body do |piece|
        rest << piece
        yield rest.slice!(0..rest.index("\n")).chomp while rest.include?("\n")
      end
    end
  end
end

def follow
  since = File.exist?("#{FOLDER}/position") ? File.read("#{FOLDER}/position") : "start"
  id = nil
  lines(URI("#{BASE}/events?#{URI.encode_www_form(since: since)}&#{QUESTION}")) do |line|
    if line.start_with?("id: ")
      id = line.delete_prefix("id: ")
    elsif line.start_with?("data: ")
      File.write("#{FOLDER}/news.jsonl", line.delete_prefix("data: ") + "\n", mode: "a")
    elsif line.empty? && id # the end of an event
      note(id)
    end
  end
end

FileUtils.mkdir_p(FOLDER)
loop do
  begin
    follow
  rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError => error
    warn error.message
  end
  sleep 2
end
