// mark.cc: two slots with one line of text each, a disk block apart.
#include "coordinator/store/mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "coordinator/store/checksum.h"

namespace dt {
namespace {

constexpr size_t kSlots = 2;
constexpr size_t kSlotBytes = 4096;  // a disk block, so that a torn write damages only one slot
constexpr char kFormat[] = "dtrain-mark-1";

std::string ToText(const HighWaterMark& mark) {
  const std::string text = absl::StrCat(kFormat, " ", mark.store, " ", mark.commits, " ",
                                        mark.sequence, " ", mark.hash, " ", mark.experiment);
  return absl::StrCat(text, " ", Checksum().Add(text).Sum(), "\n");
}

std::optional<HighWaterMark> Parse(std::string_view slot) {
  const size_t end = slot.find('\n');
  if (end == slot.npos) return std::nullopt;
  const std::string line(slot.substr(0, end));
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  HighWaterMark mark;
  int64_t checksum = 0;
  if (words.size() != 7 || words[0] != kFormat || !absl::SimpleAtoi(words[2], &mark.commits) ||
      !absl::SimpleAtoi(words[3], &mark.sequence) ||
      !absl::SimpleAtoi(words[5], &mark.experiment) || !absl::SimpleAtoi(words[6], &checksum)) {
    return std::nullopt;
  }
  mark.store = words[1];
  mark.hash = words[4];
  if (ToText(mark) != line + "\n") return std::nullopt;
  return mark;
}

}  // namespace

std::optional<HighWaterMark> ReadMark(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadFile(path, kSlots * kSlotBytes);
  if (!content.ok()) return std::nullopt;
  std::optional<HighWaterMark> newest;
  for (size_t slot = 0; slot < kSlots && slot * kSlotBytes < content->size(); ++slot) {
    std::optional<HighWaterMark> mark =
        Parse(std::string_view(*content).substr(slot * kSlotBytes, kSlotBytes));
    if (mark && (!newest || mark->commits > newest->commits)) newest = std::move(mark);
  }
  return newest;
}

absl::StatusOr<MarkFile> MarkFile::Open(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return SystemError("open", path);
  // Writes zeros instead of leaving a hole, which a later write would have to allocate.
  const off_t bytes = lseek(fd.get(), 0, SEEK_END);
  const std::string zeros(kSlots * kSlotBytes - std::min<size_t>(bytes, kSlots * kSlotBytes), 0);
  if (!zeros.empty() &&
      pwrite(fd.get(), zeros.data(), zeros.size(), bytes) != static_cast<ssize_t>(zeros.size())) {
    return SystemError("write", path);
  }
  if (fsync(fd.get()) != 0) return SystemError("sync", path);
  DT_RETURN_IF_ERROR(SyncFolder(std::filesystem::path(path).parent_path()));
  return MarkFile(std::move(fd), path);
}

absl::Status MarkFile::Write(const HighWaterMark& mark) {
  const std::string text = ToText(mark);
  const off_t at = static_cast<off_t>(static_cast<size_t>(mark.commits) % kSlots * kSlotBytes);
  if (pwrite(fd_.get(), text.data(), text.size(), at) != static_cast<ssize_t>(text.size())) {
    return SystemError("write", path_);
  }
  if (fdatasync(fd_.get()) != 0) return SystemError("sync", path_);
  return absl::OkStatus();
}

}  // namespace dt
