// image_name.cc: see image_name.h.
#include "common/image_name.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace dt {
namespace {

constexpr std::string_view kImageHash = "sha256:";
constexpr size_t kImageHexDigits = 64;
constexpr size_t kImageNameBytes = 255;
constexpr size_t kImageTagBytes = 128;
constexpr int kPortMost = 65535;
constexpr size_t kPortShown = 32;  // bytes of a wrong one in a message

bool IsHexDigest(std::string_view digest) {
  return digest.starts_with(kImageHash) && digest.size() == kImageHash.size() + kImageHexDigits &&
         std::all_of(digest.begin() + kImageHash.size(), digest.end(),
                     [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
}

// Separators between the parts of a name; hyphens may also be repeated.
bool IsSeparator(std::string_view between) {
  return between == "." || between == "_" || between == "__" ||
         between.find_first_not_of('-') == between.npos;
}

// Accepts "train", "my-team.net" and "a__b", and not "-x", "x-", "a..b" and "".
bool IsImagePart(std::string_view part) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz0123456789";
  if (part.empty() || kPlain.find(part.back()) == kPlain.npos) return false;
  while (!part.empty()) {
    const size_t plain = part.find_first_not_of(kPlain);
    if (plain == 0) return false;
    part.remove_prefix(std::min(plain, part.size()));
    const size_t separator = part.find_first_of(kPlain);
    if (!part.empty() && !IsSeparator(part.substr(0, separator))) return false;
    part.remove_prefix(std::min(separator, part.size()));
  }
  return true;
}

// Accepts a label of a host's name: "example", "A-1", and not "-a" and "".
bool IsHostLabel(std::string_view label) {
  return !label.empty() && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '-'; });
}

// Returns the place of the colon before a registry's port; npos: it names none.
size_t PortAt(std::string_view host) {
  const size_t bracket = host.rfind(']');  // the colons before it are those of an IPv6 address
  return host.find(':', bracket == host.npos ? 0 : bracket);
}

bool IsHostName(std::string_view name) {
  if (name.starts_with('[') && name.ends_with(']')) {
    const std::string_view address = name.substr(1, name.size() - 2);
    return !address.empty() && std::all_of(address.begin(), address.end(), [](char c) {
      return absl::ascii_isxdigit(c) || c == ':';
    });
  }
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('.', start), name.size());
    if (!IsHostLabel(name.substr(start, end - start))) return false;
    start = end + 1;
  }
  return true;
}

bool IsPort(std::string_view port) {
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && number >= 1 &&
         number <= kPortMost;
}

// Accepts a registry with any port: "Registry.example:5000", "localhost", "[::1]:5000".
bool IsImageHost(std::string_view host) {
  return !host.ends_with(':') && IsHostName(host.substr(0, PortAt(host)));
}

bool IsImageTag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kImageTagBytes && tag.front() != '.' && tag.front() != '-' &&
         std::all_of(tag.begin(), tag.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

// Returns the place of the tag's colon; a colon before a slash is that of a port.
size_t TagAt(std::string_view name) {
  const size_t colon = name.rfind(':');
  const size_t slash = name.rfind('/');
  return colon != name.npos && (slash == name.npos || colon > slash) ? colon : name.npos;
}

std::string RepositoryProblem(std::string_view name) {
  if (name.empty()) return "has no name; write NAME:TAG, such as docker.io/library/python:3.12";
  if (name.size() > kImageNameBytes) {
    return absl::StrCat("has a name of ", name.size(), " bytes; at most ", kImageNameBytes,
                        " are allowed");
  }
  bool first = true;
  for (size_t start = 0; start <= name.size(); first = false) {
    const size_t end = std::min(name.find('/', start), name.size());
    const std::string_view part = name.substr(start, end - start);
    const bool host = first && end < name.size() && IsImageHost(part);
    const size_t colon = host ? PortAt(part) : part.npos;
    if (colon != part.npos && !IsPort(part.substr(colon + 1))) {
      return absl::StrCat("has the port '",
                          Printable(CleanText(part.substr(colon + 1), kPortShown)),
                          "'; a port is a number from 1 to ", kPortMost);
    }
    if (!host && !IsImagePart(part)) {
      return std::any_of(part.begin(), part.end(), absl::ascii_isupper)
                 ? "has a capital letter in its name; registries know small ones alone"
                 : "is no name of an image; write NAME:TAG, such as ghcr.io/me/train:1";
    }
    start = end + 1;
  }
  return "";
}

}  // namespace

std::string_view ImageDigest(std::string_view image) {
  const size_t at = image.find('@');
  return at == image.npos ? std::string_view() : image.substr(at + 1);
}

std::string_view ImageRepository(std::string_view image) {
  const std::string_view name = image.substr(0, image.find('@'));
  return name.substr(0, TagAt(name));
}

std::string ImageNameProblem(std::string_view image) {
  if (image.find("://") != image.npos) {
    return "begins with a scheme, such as docker://; write the name alone";
  }
  const std::string_view name = image.substr(0, image.find('@'));
  if (name.size() < image.size() && !IsHexDigest(ImageDigest(image))) {
    return "has a digest that is not sha256: and 64 small hexadecimal digits";
  }
  const size_t tag = TagAt(name);
  if (tag != name.npos && !IsImageTag(name.substr(tag + 1))) {
    return absl::StrCat("has a tag that is no tag: at most ", kImageTagBytes,
                        " letters, digits, '_', '.' and '-'");
  }
  return RepositoryProblem(ImageRepository(image));
}

}  // namespace dt
