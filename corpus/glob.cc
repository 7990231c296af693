// glob.cc: see glob.h.
#include "corpus/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "corpus/publish.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;

bool HasWildcard(const std::string& component) {
  return component.find_first_of("*?[") != std::string::npos;
}

// Appends the matches of `component` under `folder`.
absl::Status Expand(const fs::path& folder, const std::string& component,
                    std::vector<fs::path>& matches) {
  std::error_code code;
  if (!HasWildcard(component)) {
    fs::path path = folder / component;
    // A link that leads nowhere still counts as a match.
    if (fs::exists(fs::symlink_status(path, code))) matches.push_back(std::move(path));
    return absl::OkStatus();
  }
  fs::directory_iterator entry(folder, code);
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (::fnmatch(component.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    if (matches.size() >= kGlobFilesMax) {
      return ConfigError("it matches more than " + std::to_string(kGlobFilesMax) +
                         " paths; make it narrower");
    }
    matches.push_back(entry->path());
  }
  if (code == std::errc::permission_denied) {
    return DataError("folder '" + folder.string() + "' cannot be read: " + code.message());
  }
  return absl::OkStatus();
}

// Returns whether it is a file to read. Errors: DataError for a dangling link and for a path that
// cannot be inspected: leaving it out would mean to train on other data.
absl::StatusOr<bool> IsFile(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) {
    std::error_code unread;
    const std::string target = fs::read_symlink(path, unread).string();
    if (unread) return false;  // removed since it was listed
    return DataError("'" + path.string() + "' is a link to '" + target +
                     "', which is not there; put the file there, or remove the link");
  }
  if (code) {
    return DataError("'" + path.string() + "' cannot be looked at: " + code.message());
  }
  return fs::is_regular_file(status);
}

// REQUIRES: files is sorted.
absl::Status RefuseHalfPublished(const std::vector<std::string>& files) {
  std::string seen;
  for (const std::string& file : files) {
    const fs::path path(file);
    if (!IsShardName(path.filename().string())) continue;
    std::string folder = path.parent_path().string();
    if (folder == seen) continue;
    if (IsBeingPublished(folder)) {
      return DataError("'" + folder +
                       "' has a part of its shards: 'dtctl data tokenize' was "
                       "interrupted, or is at work; give that command again");
    }
    seen = std::move(folder);
  }
  return absl::OkStatus();
}

// Returns the files that match now, sorted.
absl::StatusOr<std::vector<std::string>> Listed(const fs::path& wanted,
                                                const std::string& data_root) {
  const fs::path here = data_root.empty() ? "." : data_root;
  std::vector<fs::path> matches = {wanted.is_absolute() ? wanted.root_path() : here};
  for (const fs::path& part : wanted.relative_path()) {
    const std::string component = part.string();
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      return ConfigError("it has '..'; write it relative to the worker's --data-root");
    }
    if (component == "**") {
      return ConfigError("it has '**', which is not supported; name each level with '*'");
    }
    std::vector<fs::path> next;
    for (const fs::path& folder : matches) DT_RETURN_IF_ERROR(Expand(folder, component, next));
    matches = std::move(next);
  }
  std::vector<std::string> files;
  for (const fs::path& path : matches) {
    DT_ASSIGN_OR_RETURN(const bool is_file, IsFile(path));
    if (is_file) files.push_back(path.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ResolveGlob(const std::string& data_root,
                                                     const std::string& field,
                                                     const std::string& pattern) {
  const std::string context = field + " '" + pattern + "'";
  const fs::path wanted(pattern);
  if (pattern.empty()) return ConfigError(field + " is empty; name files under the data root");
  if (wanted.is_absolute() && !data_root.empty()) {
    return ConfigError(context + " is an absolute path, which leaves the data root '" + data_root +
                       "'; write it relative to the worker's --data-root");
  }
  absl::StatusOr<std::vector<std::string>> files = Listed(wanted, data_root);
  if (!files.ok()) return Annotate(files.status(), context);
  if (files->empty()) {
    return DataError(context + " matches no file" +
                     (data_root.empty() ? "" : " under the data root '" + data_root + "'"));
  }
  if (absl::Status whole = RefuseHalfPublished(*files); !whole.ok()) {
    return Annotate(whole, context);
  }
  // A move that ended just before this check may have been in progress earlier.
  const absl::StatusOr<std::vector<std::string>> again = Listed(wanted, data_root);
  if (again.ok() && *again == *files) return files;
  return DataError(context +
                   " matches other files than a moment before: is 'dtctl "
                   "data tokenize' at work there? Wait until it has ended");
}

}  // namespace dt::corpus
