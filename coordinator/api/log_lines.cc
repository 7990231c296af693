#include "coordinator/api/log_lines.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/api_limits.h"
#include "common/limits.h"
#include "common/status.h"

namespace dt {
namespace {

class Newest {
 public:
  explicit Newest(const ApiCall& call) : call_(call) {}

  void Add(const v1::LogLineChunk& chunk) {
    if (chunk.log().wall_time_ms() < call_.since_wall_ms) return;
    std::vector<std::string> texts = absl::StrSplit(chunk.log().text(), '\n');
    if (texts.back().empty()) texts.pop_back();
    for (std::string& text : texts) {
      if (!absl::StrContains(text, call_.grep)) continue;
      Push({chunk.attempt(), chunk.log().rank(), chunk.log().wall_time_ms(), std::move(text), 0});
    }
    AddDropped(chunk);
  }
  LogLines Take(std::string token) {
    found_.next_page_token = std::move(token);
    return std::move(found_);
  }

 private:
  // Puts the count after the newest line of the same rank and attempt, or on a line of its own if
  // another line is newer. With --grep nobody knows the place, as in `dtctl logs --grep`.
  void AddDropped(const v1::LogLineChunk& chunk) {
    const uint64_t dropped = chunk.log().dropped_lines();
    if (dropped == 0 || !call_.grep.empty()) return;
    const bool follows = !found_.lines.empty() && found_.lines.back().attempt == chunk.attempt() &&
                         found_.lines.back().rank == chunk.log().rank();
    if (!follows) {
      Push({chunk.attempt(), chunk.log().rank(), chunk.log().wall_time_ms(), "", 0});
    }
    found_.lines.back().dropped_lines += dropped;
  }
  void Push(LogLine line) {
    bytes_ += line.text.size();
    found_.lines.push_back(std::move(line));
    while (found_.lines.size() > call_.tail ||
           (bytes_ > limits::kApiLogBytes && found_.lines.size() > 1)) {
      bytes_ -= found_.lines.front().text.size();
      found_.lines.pop_front();
      ++found_.left_out;
    }
  }

  const ApiCall& call_;
  LogLines found_;
  size_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<LogLines> ReadLogLines(StoreReader& reader, ExperimentId experiment,
                                      const ApiCall& call) {
  v1::ReadLogsRequest request;
  request.set_experiment(experiment);
  request.set_trial(call.trial);
  request.set_rank(call.rank);
  request.set_page_token(call.page_token);
  request.set_page_size(static_cast<int32_t>(limits::kPageMax));
  Newest newest(call);
  while (true) {
    DT_ASSIGN_OR_RETURN(const v1::ReadLogsResponse page, reader.ReadLogs(request));
    for (const v1::LogLineChunk& chunk : page.chunks()) newest.Add(chunk);
    request.set_page_token(page.next_page_token());
    if (page.at_end()) return newest.Take(page.next_page_token());
  }
}

}  // namespace dt
