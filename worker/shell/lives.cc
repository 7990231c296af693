// lives.cc: see lives.h.
#include "worker/shell/lives.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/limits.h"

namespace dt {
namespace {

// A number and a line end each; a longer file is not ours.
constexpr uint64_t kFileBytes = limits::kEndedInstances * 24;

}  // namespace

Lives::Lives(std::string path, uint64_t instance) : path_(std::move(path)), instance_(instance) {}

const std::vector<uint64_t>& Lives::Ended() {
  if (lock_.valid()) return ended_;
  absl::StatusOr<UniqueFd> lock = LockFile(path_ + ".lock");
  if (lock.ok()) {
    lock_ = *std::move(lock);
    Begin();
  }
  return ended_;
}

void Lives::Begin() {
  for (const absl::string_view line :
       absl::StrSplit(ReadFile(path_, kFileBytes).value_or(""), '\n', absl::SkipEmpty())) {
    uint64_t instance = 0;
    if (absl::SimpleAtoi(line, &instance) && instance != instance_) ended_.push_back(instance);
  }
  // Includes this one, to which the next life adds itself.
  while (ended_.size() >= limits::kEndedInstances) ended_.erase(ended_.begin());
  std::string text;
  for (const uint64_t instance : ended_) absl::StrAppend(&text, instance, "\n");
  absl::StrAppend(&text, instance_, "\n");
  if (const absl::Status kept = WriteFileAtomically(path_, text); !kept.ok()) {
    spdlog::warn("{}; if this worker is killed, the next one waits for its lease",
                 std::string(kept.message()));
  }
}

}  // namespace dt
