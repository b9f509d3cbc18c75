# pull.rb URL FILE: keeps FILE the same as the document at URL.
#
# The ETag of the document is kept in FILE.etag. While nothing is new, the answer is 304, without a body.
require "net/http"

url, file = ARGV

# The file has the old content or the new one, also after a crash.
def replace(path, content)
  File.binwrite("#{path}.new", content)
  File.rename("#{path}.new", path)
end

# as it is, the answer has the length that its head says: many versions of Ruby do not tell when it ends too early
fields = { "Accept-Encoding" => "identity" }
fields["If-None-Match"] = File.read("#{file}.etag") if File.exist?("#{file}.etag")
fields["Authorization"] = "Bearer #{ENV["FEEDMILL_TOKEN"]}" if ENV["FEEDMILL_TOKEN"]
uri = URI(url)
answer = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") do |http|
  http.get(uri.request_uri, fields)
end
case answer
when Net::HTTPNotModified
  puts "unchanged"
when Net::HTTPSuccess
  abort "the answer ends too early" if answer.body.bytesize < answer.content_length.to_i
  # first the document, then its tag: a crash in between costs one download
  replace(file, answer.body)
  replace("#{file}.etag", answer["ETag"])
  puts "changed"
else
  abort "status #{answer.code}"
end
