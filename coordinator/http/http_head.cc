#include "coordinator/http/http_head.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace dt {
namespace {

// Returns whether each line after the first is a name, a colon and a value. Programs read other
// lines in different ways: RFC 9112, 2.2, 5.1 and 5.2.
bool HasWellFormedLines(std::string_view head) {
  bool first = true;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(head.data(), head.size()), "\r\n")) {
    const bool control = std::any_of(line.begin(), line.end(), [](unsigned char c) {
      return (absl::ascii_iscntrl(c) && c != '\t');
    });
    if (control) return false;
    if (std::exchange(first, false) || line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || colon == 0) return false;
    if (line.substr(0, colon).find_first_of(" \t") != absl::string_view::npos) return false;
  }
  return true;
}

// Returns the number of lines with this name.
size_t CountHeaders(std::string_view head, absl::string_view name) {
  size_t count = 0;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(head.data(), head.size()), "\r\n")) {
    if (line.size() > name.size() && line[name.size()] == ':' &&
        absl::EqualsIgnoreCase(line.substr(0, name.size()), name)) {
      ++count;
    }
  }
  return count;
}

// Returns whether `text` is a host with or without a port: a name, an IPv4 address, or an IPv6
// address in brackets.
bool IsHostAndPort(absl::string_view text) {
  constexpr char kOfName[] = "-._~%!$&'()*+,;=";
  size_t end = 0;
  if (absl::StartsWith(text, "[")) {
    end = text.find(']');
    if (end == absl::string_view::npos || ++end < 4) return false;
    for (const char c : text.substr(1, end - 2)) {
      if (!absl::ascii_isxdigit(static_cast<unsigned char>(c)) && c != ':' && c != '.')
        return false;
    }
  } else {
    end = std::min(text.find(':'), text.size());
    for (const char c : text.substr(0, end)) {
      if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
          absl::string_view(kOfName).find(c) == absl::string_view::npos) {
        return false;
      }
    }
  }
  if (end == 0) return false;
  text.remove_prefix(end);
  if (text.empty()) return true;
  return text[0] == ':' && std::all_of(text.begin() + 1, text.end(),
                                       [](unsigned char c) { return absl::ascii_isdigit(c); });
}

}  // namespace

size_t HeadBytes(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  return end == std::string::npos ? 0 : end + 4;
}

RequestLine ParseRequestLine(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return {};
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const size_t mark = std::min(target.find('?'), target.size());
  return {line.substr(0, first), target.substr(0, mark),
          target.substr(std::min(mark + 1, target.size())), line.substr(last + 1)};
}

std::string HeaderOf(std::string_view head, absl::string_view name) {
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(head.data(), head.size()), "\r\n")) {
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (!absl::EqualsIgnoreCase(line.substr(0, name.size()), name)) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(name.size() + 1)));
  }
  return "";
}

bool IsOfThisHost(std::string host) {
  if (absl::StartsWith(host, "[")) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  in6_addr address{};
  return host.empty() || absl::EqualsIgnoreCase(host, "localhost") ||
         inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::string DefectOf(std::string_view head, const RequestLine& line) {
  if (!HasWellFormedLines(head)) return "a line of the head is malformed";
  for (const char* once : {"Content-Length", "Transfer-Encoding"}) {
    if (CountHeaders(head, once) > 1) return absl::StrCat("the head has several lines of ", once);
  }
  const size_t hosts = CountHeaders(head, "Host");
  if (hosts == 0 && line.version == "HTTP/1.0") return "";
  if (hosts == 1 && IsHostAndPort(HeaderOf(head, "Host"))) return "";
  return absl::StrCat("a request has one Host, a name or an address; this one has ",
                      hosts == 0   ? "none"
                      : hosts == 1 ? "a malformed one"
                                   : "several");
}

}  // namespace dt
