#include "common/url.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/view.h"

namespace dt {
namespace {

constexpr std::string_view kRefused = "\"<>\\^`{|}#";
constexpr int kPortMax = 65535;

bool IsPlain(char c) { return c > ' ' && c < 0x7f && kRefused.find(c) == std::string_view::npos; }

absl::Status Wrong(const char* what) { return absl::InvalidArgumentError(what); }

bool IsName(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return std::all_of(host.begin(), host.end(),
                       [](char c) { return absl::ascii_isxdigit(c) || c == ':' || c == '.'; });
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-';
  });
}

int DefaultPort(const std::string& scheme) { return scheme == "https" ? 443 : 80; }

// Returns the end of the word that begins at `from`, and takes too much rather than too little: a
// comma may be part of an address, and a backslash part of one written with escapes.
size_t EndOfWord(std::string_view text, size_t from) {
  size_t end = std::min(text.find_first_of(" \t\r\n\"'}", from), text.size());
  if (text[end - 1] == ',') --end;
  return end;
}

// Returns where the value after a key `url` begins: after its colon, spaces and quotes; npos if the
// key is another.
size_t ValueOfKey(std::string_view text, size_t key) {
  constexpr std::string_view kKey = "url";
  if (key > 0 && (absl::ascii_isalnum(text[key - 1]) || text[key - 1] == '_')) {
    return std::string_view::npos;
  }
  size_t at = key + kKey.size();
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  while (at < text.size() && text[at] == ' ') ++at;
  if (at >= text.size() || text[at] != ':') return std::string_view::npos;
  at = text.find_first_not_of(" \t\r\n\"'>|-+", at + 1);
  return at != std::string_view::npos && text.substr(at, 4) == "http" ? at : std::string_view::npos;
}

}  // namespace

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), IsPlain)) {
    return Wrong("has a character that no address has, such as a space or a '#'");
  }
  Url url;
  const size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    url.scheme = absl::AsciiStrToLower(View(text.substr(0, scheme)));
  }
  if (url.scheme != "https" && url.scheme != "http") {
    return Wrong("must begin with https:// or http://");
  }
  const std::string_view behind = text.substr(scheme + 3);
  const std::string_view authority = behind.substr(0, behind.find_first_of("/?"));
  url.rest = std::string(behind.substr(authority.size()));
  if (authority.find('@') != std::string_view::npos) {
    return Wrong("has a name or a password before its host; write a token behind it");
  }
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  const std::string_view host = authority.substr(0, has_port ? colon : authority.size());
  if (!IsName(host)) return Wrong("has no host that is a name or an address");
  url.host = absl::AsciiStrToLower(View(host));
  url.port = DefaultPort(url.scheme);
  if (has_port && (!absl::SimpleAtoi(View(authority.substr(colon + 1)), &url.port) ||
                   url.port < 1 || url.port > kPortMax)) {
    return Wrong("has a port that is not from 1 to 65535");
  }
  return url;
}

std::string OriginOf(const Url& url) {
  std::string origin = absl::StrCat(url.scheme, "://", url.host);
  if (url.port != DefaultPort(url.scheme)) absl::StrAppend(&origin, ":", url.port);
  return origin;
}

std::string ShownUrl(std::string_view text) {
  const absl::StatusOr<Url> url = ParseUrl(text);
  if (!url.ok()) return "(hidden)";
  return absl::StrCat(OriginOf(*url), url->rest.size() > 1 ? kHiddenRest : url->rest);
}

std::string HideUrl(std::string_view text, std::string_view url) {
  if (text.empty() || url.empty()) return std::string(text);
  bool found = text.find(url) != std::string_view::npos;
  std::string rest = absl::StrReplaceAll(View(text), {{View(url), ShownUrl(url)}});
  std::string hidden;
  size_t done = 0;
  for (size_t key = rest.find("url"); key != std::string::npos; key = rest.find("url", key + 3)) {
    const size_t begin = ValueOfKey(rest, key);
    if (begin == std::string_view::npos) continue;
    found = true;
    const size_t end = EndOfWord(rest, begin);
    absl::StrAppend(&hidden, rest.substr(done, begin - done),
                    ShownUrl(std::string_view(rest).substr(begin, end - begin)));
    done = key = end;
  }
  if (!found) return "# hidden: it writes the address of notify.url in a form that cannot be cut\n";
  return hidden + rest.substr(done);
}

}  // namespace dt
