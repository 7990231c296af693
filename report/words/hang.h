// hang.h: where the processes of a hung attempt stood, from the lines of its log.
//
// Role:    worker/program/stacks.h writes the stacks into the log of each rank; a person first
//          wants the innermost frames. They are read from the log, since the end of the gang is
//          decided before the other ranks have written theirs.
// Bounds:  kHungProcesses of a rank, kHungFrames of a process, kHungRanks; limits::kNameBytes of a
//          line. A program may print such lines itself: they are shown as text.
// Source:  py-spy's `dump`; gdb's `thread apply all backtrace`; Python's faulthandler.
// Tests:   tests/report/words/hang_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "api/json.h"
#include "dtrain/v1/control.pb.h"

namespace dt::report {

namespace v1 = ::dtrain::v1;

inline constexpr size_t kHungRanks = 16;
inline constexpr size_t kHungProcesses = 4;
inline constexpr size_t kHungFrames = 3;

struct HungProcess {
  std::string doing;                // "process 12 (python3) sleeps in futex_wait_queue"
  std::vector<std::string> frames;  // "wait (threading.py:320)", the innermost first
};
struct HungRank {
  int32_t rank = 0;
  std::vector<HungProcess> processes;
};

// Takes the log of a trial, in order, and keeps what one attempt says of a hang.
class HangReader {
 public:
  explicit HangReader(uint32_t attempt) : attempt_(attempt) {}

  void Add(const v1::LogLineChunk& chunk);
  // Returns the ranks that logged stacks, in ascending order.
  std::vector<HungRank> ranks() const;

 private:
  // The listing of one rank.
  struct Listing {
    bool begun = false;
    std::vector<HungProcess> processes;
    std::vector<HungProcess> printed;  // by Python itself, which does not name the process
    std::vector<std::string> order;    // the numbers of the processes that print
    HungProcess* listed = nullptr;     // the process whose lines follow; null: one left out
    bool main = false;                 // its main thread has begun
    bool takes = false;                // the frames that follow count
    bool takes_printed = false;        // the same of Python's print
  };

  static void TakeListed(Listing& listing, std::string_view line);
  static void TakePrinted(Listing& listing, std::string_view line);

  const uint32_t attempt_;
  std::map<int32_t, Listing> listings_;
};

// Returns the number of the newest attempt that has ended, if it hung; otherwise 0.
uint32_t HungAttempt(const v1::ExplainTrialResponse& found);
// Returns "process 12 (python3) sleeps: wait (threading.py:320), called by main (train.py:7)".
std::string HungText(const HungProcess& process);

// Returns {"attempt", "ranks": [{"rank", "processes": [{"doing", "frames"}]}]}; null of attempt 0.
api::Json HangJson(uint32_t attempt, const std::vector<HungRank>& ranks);

// Reads the log of the trial for the hang of its newest ended attempt; none if that did not hang.
// `reader` has ReadLogs.
template <typename Reader>
absl::StatusOr<std::vector<HungRank>> ReadHang(Reader& reader,
                                               const v1::ExplainTrialResponse& found) {
  constexpr int kChunksPerPage = 64;  // of at most limits::kLogChunkBytes: they fit into a message
  const uint32_t attempt = HungAttempt(found);
  if (attempt == 0) return std::vector<HungRank>();
  v1::ReadLogsRequest request;
  request.set_experiment(found.trial().experiment());
  request.set_trial(found.trial().trial());
  request.set_rank(-1);
  request.set_page_size(kChunksPerPage);
  HangReader hang(attempt);
  for (;;) {
    const absl::StatusOr<v1::ReadLogsResponse> page = reader.ReadLogs(request);
    if (!page.ok()) return page.status();
    for (const v1::LogLineChunk& chunk : page->chunks()) hang.Add(chunk);
    if (page->at_end()) return hang.ranks();
    request.set_page_token(page->next_page_token());
  }
}

}  // namespace dt::report
