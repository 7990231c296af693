// pack.cc: writes and reads the format.
#include "common/pack/pack.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "common/view.h"

namespace dt::pack {
namespace {

constexpr std::string_view kMagic = "dtrain code 1\n";
constexpr size_t kPartOfPathBytes = 255;  // limit of file systems for one name
constexpr size_t kLargestNamed = 3;
constexpr char kFix[] = "leave it out with .gitignore, or name a smaller folder";

std::string Quoted(std::string_view path) {
  return absl::StrCat("'", Printable(CleanText(path, limits::kCodePathBytes)), "'");
}

absl::Status Wrong(std::string_view path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the file ", Quoted(path), " ", what));
}

void AppendNumber(uint64_t number, int bytes, std::string& to) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t Number(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return number;
}

// A path with control characters would break lists and logs that name it.
bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

absl::Status CheckFile(const FileView& file) {
  DT_RETURN_IF_ERROR(CheckPath(file.path));
  return file.kind == Kind::kLink ? CheckLink(file.path, file.content) : absl::OkStatus();
}

// Checks that no path has a file or a link as a folder.
absl::Status CheckNotUnderFiles(const std::vector<FileView>& files) {
  absl::flat_hash_set<std::string_view> paths;
  for (const FileView& file : files) paths.insert(file.path);
  for (const FileView& file : files) {
    for (size_t slash = file.path.find('/'); slash != file.path.npos;
         slash = file.path.find('/', slash + 1)) {
      if (!paths.contains(file.path.substr(0, slash))) continue;
      return Wrong(file.path, absl::StrCat("lies under ", Quoted(file.path.substr(0, slash)),
                                           ", which is not a folder"));
    }
  }
  return absl::OkStatus();
}

// Takes fields off the front of the remaining bytes.
class Input {
 public:
  explicit Input(std::string_view left) : left_(left) {}
  bool Done() const { return left_.empty(); }
  bool Take(uint64_t bytes, std::string_view& field) {
    if (left_.size() < bytes) return false;
    field = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return true;
  }

 private:
  std::string_view left_;
};

}  // namespace

bool IsDigest(std::string_view digest) {
  return digest.size() == 64 && std::all_of(digest.begin(), digest.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status CheckPath(std::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("a file of the packed code has no path");
  if (path.size() > limits::kCodePathBytes) {
    return Wrong(path, absl::StrCat("has a path of ", path.size(), " bytes; the limit is ",
                                    limits::kCodePathBytes, "; ", kFix));
  }
  if (path.front() == '/') return Wrong(path, "has an absolute path; it must be relative");
  if (HasControl(path)) {
    return Wrong(path,
                 absl::StrCat("has a line break or another control character in its path; ", kFix));
  }
  for (const absl::string_view part : absl::StrSplit(View(path), '/')) {
    if (part.empty() || part == "." || part == "..") {
      return Wrong(path, "has a path with an empty part, '.' or '..' in it");
    }
    if (part.size() > kPartOfPathBytes) {
      return Wrong(path,
                   absl::StrCat("has a name of ", part.size(), " bytes in its path; the limit is ",
                                kPartOfPathBytes, "; ", kFix));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLink(std::string_view path, std::string_view target) {
  const std::string link = absl::StrCat("is a link to ", Quoted(target));
  if (target.empty() || target.size() > limits::kCodePathBytes || HasControl(target)) {
    return Wrong(path, absl::StrCat(link, ", which is not a path of 1 to ", limits::kCodePathBytes,
                                    " bytes without control characters"));
  }
  if (target.front() == '/') {
    return Wrong(path, absl::StrCat(link, ", which leaves the folder; ", kFix));
  }
  auto above = std::count(path.begin(), path.end(), '/');
  bool went_down = false;
  for (const absl::string_view part : absl::StrSplit(View(target), '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      went_down = true;
    } else if (went_down || --above < 0) {
      return Wrong(path, absl::StrCat(link, ", which leaves the folder, or may; ", kFix));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const std::vector<Sized>& files) {
  if (files.size() > limits::kCodeFiles) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the folder of the code has ", files.size(), " files; the limit is ", limits::kCodeFiles,
        "; leave some out with .gitignore, or name a smaller folder"));
  }
  uint64_t bytes = kMagic.size();
  for (const Sized& file : files) bytes += kHeaderBytes + file.path.size() + file.bytes;
  if (bytes <= limits::kCodeBytes) return absl::OkStatus();
  std::vector<Sized> largest = files;
  const size_t named = std::min(kLargestNamed, largest.size());
  std::partial_sort(largest.begin(), largest.begin() + static_cast<ptrdiff_t>(named), largest.end(),
                    [](const Sized& a, const Sized& b) {
                      return a.bytes != b.bytes ? a.bytes > b.bytes : a.path < b.path;
                    });
  std::string list;
  for (size_t i = 0; i < named; ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", Quoted(largest[i].path), " (",
                    FormatBytes(static_cast<double>(largest[i].bytes)), ")");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the code has ", FormatBytes(static_cast<double>(bytes)), "; the limit is ",
      FormatBytes(static_cast<double>(limits::kCodeBytes)), ". Its largest files: ", list,
      ". Data and weights do not travel: leave them out with .gitignore, or name a smaller "
      "folder"));
}

absl::StatusOr<std::string> Pack(std::vector<File> files) {
  std::vector<Sized> sizes;
  sizes.reserve(files.size());
  for (const File& file : files) sizes.push_back({file.path, file.content.size()});
  DT_RETURN_IF_ERROR(CheckSizes(sizes));
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  std::vector<FileView> views;
  views.reserve(files.size());
  std::string packed(kMagic);
  for (const File& file : files) {
    views.push_back({file.path, file.kind, file.content});
    DT_RETURN_IF_ERROR(CheckFile(views.back()));
    packed.push_back(static_cast<char>(file.kind));
    AppendNumber(file.path.size(), 4, packed);
    AppendNumber(file.content.size(), 8, packed);
    packed += file.path;
    packed += file.content;
  }
  for (size_t i = 1; i < views.size(); ++i) {
    if (views[i].path == views[i - 1].path) return Wrong(views[i].path, "is there twice");
  }
  DT_RETURN_IF_ERROR(CheckNotUnderFiles(views));
  return packed;
}

absl::StatusOr<std::vector<FileView>> Read(std::string_view packed) {
  const absl::Status cut =
      absl::InvalidArgumentError("the packed code ends in the middle of a file: it is damaged");
  if (packed.size() > limits::kCodeBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the packed code has ", packed.size(),
                                                   " bytes; the limit is ", limits::kCodeBytes));
  }
  if (!packed.starts_with(kMagic)) {
    return absl::InvalidArgumentError(
        "these bytes are not packed code, or a newer version packed them");
  }
  Input input(packed.substr(kMagic.size()));
  std::vector<FileView> files;
  while (!input.Done()) {
    std::string_view kind, path_bytes, content_bytes;
    FileView file;
    if (!input.Take(1, kind) || !input.Take(4, path_bytes) || !input.Take(8, content_bytes) ||
        !input.Take(Number(path_bytes), file.path) ||
        !input.Take(Number(content_bytes), file.content)) {
      return cut;
    }
    if (kind != "f" && kind != "x" && kind != "l") {
      return Wrong(file.path, "has a kind that this version does not know");
    }
    file.kind = static_cast<Kind>(kind.front());
    DT_RETURN_IF_ERROR(CheckFile(file));
    if (!files.empty() && files.back().path >= file.path) {
      return Wrong(file.path, absl::StrCat("follows ", Quoted(files.back().path),
                                           ", out of order or for the second time"));
    }
    files.push_back(file);
    if (files.size() > limits::kCodeFiles) {
      return absl::InvalidArgumentError(
          absl::StrCat("the packed code has more than ", limits::kCodeFiles, " files, the limit"));
    }
  }
  DT_RETURN_IF_ERROR(CheckNotUnderFiles(files));
  return files;
}

}  // namespace dt::pack
