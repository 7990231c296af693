// run_files.cc: see run_files.h.
#include "cli/local/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/host_files.h"
#include "common/pack/pack.h"
#include "common/status.h"

namespace dt::cli {
namespace {

namespace fs = std::filesystem;

// Accepts a folder of this user, and no link, that has none of the rights in `refused`.
bool IsOurs(const std::string& folder, mode_t refused) {
  struct stat facts {};
  return lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == geteuid() && (facts.st_mode & refused) == 0;
}

// Returns the names in a folder.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator each(folder, code), end; !code && each != end; each.increment(code)) {
    names.push_back(each->path().filename());
  }
  return names;
}

// Accepts "slot-NAME-ID" and "slot-NAME-ID.lock".
bool IsOfStorage(std::string_view name, const std::string& id) {
  if (!name.starts_with(kSlotPrefix)) return false;
  const std::string_view slot = name.substr(0, name.find('.'));
  return slot.ends_with("-" + id);
}

}  // namespace

std::string StorageIdIn(const std::string& storage) {
  const absl::StatusOr<std::string> text = ReadFile(storage + kStorageIdFile, kStorageIdDigits + 1);
  if (!text.ok()) return "";
  const std::string id(absl::StripAsciiWhitespace(*text));
  return IsStorageId(id) ? id : "";
}

std::vector<std::string> DigestsIn(const std::string& coordinator) {
  std::vector<std::string> digests = NamesIn(coordinator + "/code");  // coordinator/code/
  std::erase_if(digests, [](const std::string& name) { return !pack::IsDigest(name); });
  return digests;
}

absl::Status RemoveRunFiles(const std::string& run_folder, const std::string& storage_id,
                            const std::vector<std::string>& digests) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (!IsOurs(run_folder, kOthersWrite) || !IsStorageId(storage_id)) return absl::OkStatus();
  const std::string code = run_folder + kCodeFolder;
  for (const std::string& folder : {code, run_folder}) {
    if (!IsOurs(folder, 0)) continue;
    for (const std::string& name : NamesIn(folder)) {
      const bool packed =
          folder == code && std::find(digests.begin(), digests.end(), name) != digests.end();
      if (!packed && !IsOfStorage(name, storage_id)) continue;
      DT_RETURN_IF_ERROR(RemoveAll(absl::StrCat(folder, "/", name)));
    }
    static_cast<void>(rmdir(folder.c_str()));  // not empty: others use it
  }
  return absl::OkStatus();
}

}  // namespace dt::cli
