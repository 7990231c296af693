// flight_recorder.cc: see flight_recorder.h.
#include "worker/program/flight_recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/unique_fd.h"

namespace dt::program {
namespace {

constexpr char kBuffer[] = "TORCH_FR_BUFFER_SIZE", kFormerBuffer[] = "TORCH_NCCL_TRACE_BUFFER_SIZE";
constexpr char kRecord[] = "TORCH_FR_DUMP_TEMP_FILE",
               kFormerRecord[] = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE";
constexpr char kPipe[] = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE";
constexpr char kEvents[] = "2000";  // PyTorch's own default

std::string ValueOf(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    if (found != environment.end()) return found->second;
  }
  return "";
}

// Writes to the pipe if it is one with a reader.
bool Ask(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) return false;
  ssize_t written = -1;
  do {
    written = write(fd.get(), "1", 1);
  } while (written < 0 && errno == EINTR);
  return written == 1;
}

// Returns the size of a regular file; -1: there is none.
int64_t SizeOf(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  return status.st_size;
}

}  // namespace

void SetFlightRecorder(const FlightFiles& files, Environment& to) {
  if (to.find(kFormerBuffer) == to.end()) to.emplace(kBuffer, kEvents);
  if (to.find(kFormerRecord) == to.end()) to.emplace(kRecord, files.record);
  to.emplace(kPipe, files.pipe);
  to.emplace("TORCH_NCCL_DUMP_ON_TIMEOUT", "1");
}

FlightFiles FlightFilesIn(const Environment& environment) {
  return {.record = ValueOf(environment, {kRecord, kFormerRecord}),
          .pipe = ValueOf(environment, {kPipe})};
}

std::string TakeFlightRecord(const FlightFiles& files, int32_t rank) {
  if (files.record.empty()) return "";
  const std::string record = absl::StrCat(files.record, rank);
  if (files.pipe.empty() || !Ask(absl::StrCat(files.pipe, rank, ".pipe"))) {
    return SizeOf(record) > 0 ? record : "";  // of a collective that timed out before
  }
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + kFlightPatience;
  // Two looks with equal sizes: it is complete.
  constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);
  for (int64_t before = -1; clock.Now().steady < until; absl::SleepFor(kBetweenLooks)) {
    const int64_t size = SizeOf(record);
    if (size > 0 && size == before) break;
    before = size;
  }
  return SizeOf(record) > 0 ? record : "";
}

}  // namespace dt::program
