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

fields = File.exist?("#{file}.etag") ? { "If-None-Match" => File.read("#{file}.etag") } : {}
uri = URI(url)
# ignore_eof: false makes it an error that an answer ends too early
answer = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https", ignore_eof: false) do |http|
  http.get(uri.request_uri, fields)
end
case answer
when Net::HTTPNotModified
  puts "unchanged"
when Net::HTTPSuccess
  # first the document, then its tag: a crash in between costs one download
  replace(file, answer.body)
  replace("#{file}.etag", answer["ETag"])
  puts "changed"
else
  abort "status #{answer.code}"
end
