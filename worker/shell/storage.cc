// storage.cc: link(2) lets exactly one writer win, also on a network file system.
#include "worker/shell/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/host_files.h"
#include "common/unique_fd.h"

namespace dt {
namespace {

absl::Status Problem(const std::string& folder, const std::string& what, int error) {
  return absl::FailedPreconditionError(absl::StrCat("--storage ", folder, ": ", what, ": ",
                                                    strerror(error),
                                                    "; name a folder this worker can write to"));
}

absl::StatusOr<std::string> ReadMarker(const std::string& path) {
  std::ifstream file(path);
  std::string id;
  file >> id;
  if (!IsStorageId(id)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " holds no id of ", kStorageIdDigits,
                     " digits; if no checkpoint in this folder is needed, delete the file"));
  }
  return id;
}

}  // namespace

absl::StatusOr<std::string> OpenStorage(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return Problem(folder, "making it", code.value());
  const std::string marker = folder + kStorageIdFile;
  if (access(marker.c_str(), F_OK) == 0) return ReadMarker(marker);
  std::array<char, kStorageIdDigits / 2> random{};
  if (getentropy(random.data(), random.size()) != 0) return Problem(folder, "random id", errno);
  const std::string id = absl::BytesToHexString({random.data(), random.size()});
  // The id is in the name, so that two writers do not share the file.
  const std::string temporary = marker + "." + id;
  UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return Problem(folder, "writing its marker", errno);
  const std::string line = id + "\n";
  const bool written =
      write(file.get(), line.data(), line.size()) == std::ssize(line) && fsync(file.get()) == 0;
  const int write_error = errno;
  const bool linked = written && link(temporary.c_str(), marker.c_str()) == 0;
  const int link_error = errno;
  unlink(temporary.c_str());
  if (!written) return Problem(folder, "writing its marker", write_error);
  if (!linked && link_error != EEXIST) return Problem(folder, "writing its marker", link_error);
  return ReadMarker(marker);
}

bool IsGone(const std::string& folder, const std::string& id, const std::string& path) {
  const std::filesystem::path inside(path);
  const bool climbs = std::find(inside.begin(), inside.end(), "..") != inside.end();
  if (inside.empty() || inside.is_absolute() || climbs) return false;
  std::error_code code;
  const auto status = std::filesystem::symlink_status(folder / inside, code);
  if (status.type() != std::filesystem::file_type::not_found) return false;
  const absl::StatusOr<std::string> marker = ReadMarker(folder + kStorageIdFile);
  return marker.ok() && *marker == id;
}

}  // namespace dt
