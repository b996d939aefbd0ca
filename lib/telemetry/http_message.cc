#include "lib/telemetry/http_message.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "lib/base/lower_case.h"

namespace paceline::telemetry {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

HttpRefusal Refused(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A name of a header or method.
bool IsToken(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (LowerCase(c) >= 'a' && LowerCase(c) <= 'z') ||
           kSigns.find(c) != std::string_view::npos;
  });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = LowerCase(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// What is no valid escape stays as it is.
std::string Decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

void ReadTarget(std::string_view target, HttpRequest& request) {
  const size_t mark = std::min(target.find('?'), target.size());
  request.path = Decoded(target.substr(0, mark), /*plus_is_space=*/false);
  std::string_view query = target.substr(std::min(mark + 1, target.size()));
  query = query.substr(0, query.find('#'));
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      request.query.emplace(Decoded(pair.substr(0, equals), true),
                            Decoded(pair.substr(std::min(equals + 1, pair.size())), true));
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

std::optional<HttpRefusal> ReadRequestLine(std::string_view line, HttpHead& head) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !IsToken(line.substr(0, first)))
    return Refused(400, "a request begins with METHOD PATH HTTP/1.1");
  head.request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return Refused(505, "this server speaks HTTP/1.1");
  head.is_last = version == "HTTP/1.0";
  const bool is_visible =
      std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c != 127; });
  if (target.empty() || target.front() != '/' || !is_visible)
    return Refused(400, "a request's path begins with /");
  ReadTarget(target, head.request);
  return std::nullopt;
}

std::optional<HttpRefusal> ReadLength(std::string_view value, HttpHead& head, bool& has_length) {
  size_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (error != std::errc() || end != value.data() + value.size())
    return Refused(400, "Content-Length must be a number");
  if (has_length && length != head.body_bytes) return Refused(400, "two values of Content-Length");
  has_length = true;
  head.body_bytes = length;
  return std::nullopt;
}

}  // namespace

std::optional<size_t> FindHeadEnd(std::string_view bytes, size_t seen) {
  const size_t from = seen < kHeadEnd.size() ? 0 : seen - kHeadEnd.size() + 1;
  const size_t found = bytes.find(kHeadEnd, from);
  if (found == std::string_view::npos) return std::nullopt;
  return found + kHeadEnd.size();
}

std::optional<HttpRefusal> ReadHead(std::string_view bytes, HttpHead& head) {
  bytes.remove_suffix(2);  // Each line ends with CRLF now.
  size_t end = bytes.find("\r\n");
  if (std::optional<HttpRefusal> refusal = ReadRequestLine(bytes.substr(0, end), head))
    return refusal;
  bool has_length = false;
  for (bytes.remove_prefix(end + 2); !bytes.empty(); bytes.remove_prefix(end + 2)) {
    end = bytes.find("\r\n");
    const std::string_view line = bytes.substr(0, end);
    const size_t colon = std::min(line.find(':'), line.size());
    const bool is_clean = line.find_first_of(std::string_view("\0\r\n", 3)) == line.npos;
    if (colon == line.size() || !IsToken(line.substr(0, colon)) || !is_clean)
      return Refused(400, "a header is NAME: VALUE");
    const std::string name = LowerCase(line.substr(0, colon));
    const std::string_view value = Trimmed(line.substr(colon + 1));
    if (name == "content-length") {
      if (std::optional<HttpRefusal> refusal = ReadLength(value, head, has_length)) return refusal;
    }
    if (name == "transfer-encoding") return Refused(411, "a body needs a Content-Length");
    if (name == "connection") head.is_last = head.is_last || LowerCase(value) == "close";
    if (name == "expect") head.waits = LowerCase(value) == "100-continue";
    std::string& all = head.request.headers[name];
    all += all.empty() ? "" : ", ";
    all += value;
  }
  return std::nullopt;
}

namespace {

std::string_view Phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 206:
      return "Partial Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

}  // namespace

std::string WriteAnswer(const HttpAnswer& answer, std::string_view method, bool is_last) {
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n\r\n",
      answer.status, Phrase(answer.status), answer.content_type, answer.body.size(),
      is_last ? "close" : "keep-alive");
  if (method != "HEAD") bytes += answer.body;
  return bytes;
}

}  // namespace paceline::telemetry
