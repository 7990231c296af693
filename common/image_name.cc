// image_name.cc: see image_name.h.
#include "common/image_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace dt {
namespace {

constexpr std::string_view kImageHash = "sha256:";
constexpr size_t kImageHexDigits = 64;
constexpr size_t kImageNameBytes = 255;
constexpr size_t kImageTagBytes = 128;

bool IsHexDigest(std::string_view digest) {
  return digest.starts_with(kImageHash) && digest.size() == kImageHash.size() + kImageHexDigits &&
         std::all_of(digest.begin() + kImageHash.size(), digest.end(),
                     [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
}

// Accepts "train" and "my-team.net", and not "-x", "x-" and "".
bool IsImagePart(std::string_view part) {
  const auto ends_well = [](char c) { return absl::ascii_isdigit(c) || absl::ascii_islower(c); };
  return !part.empty() && ends_well(part.front()) && ends_well(part.back()) &&
         std::all_of(part.begin(), part.end(),
                     [&](char c) { return ends_well(c) || c == '.' || c == '_' || c == '-'; });
}

// Accepts a registry: "Registry.example:5000", "localhost".
bool IsImageHost(std::string_view host) {
  const size_t colon = host.find(':');
  const std::string_view name = host.substr(0, colon);
  const std::string_view port = colon == host.npos ? "0" : host.substr(colon + 1);
  return !name.empty() && name.front() != '-' && name.front() != '.' && !port.empty() &&
         std::all_of(port.begin(), port.end(), absl::ascii_isdigit) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '-'; });
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
