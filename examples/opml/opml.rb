# opml.rb BASE LIST: subscribes to all feeds of an OPML list.
#
# With known=skip, what is subscribed already is not subscribed again, so it can be called each time that
# the list has changed.
require "json"
require "net/http"

base, list = ARGV
fields = { "Content-Type" => "text/x-opml" }
fields["Authorization"] = "Bearer #{ENV["FEEDMILL_TOKEN"]}" if ENV["FEEDMILL_TOKEN"]
answer = Net::HTTP.post(URI("#{base}/sub?known=skip"), File.binread(list), fields)
result = JSON.parse(answer.body)
abort result["detail"] unless answer.is_a?(Net::HTTPSuccess)
puts "subscribed to #{result["urls"].size} feeds, #{result.fetch("known", []).size} were known"
result.fetch("problems", []).each { |problem| puts "outline #{problem["outline"]}: #{problem["detail"]}" }
