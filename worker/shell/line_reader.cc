// line_reader.cc: a carriage return also ends a line, since progress bars use it.
#include "worker/shell/line_reader.h"

#include <algorithm>
#include <iterator>

#include "worker/agent/last_words.h"

namespace dt {

void LineReader::End(Lines& out) {
  std::string line = std::exchange(line_, {});
  if (taken_ < limits::kLogLinesPerSecond) {
    ++taken_;
    out.lines.push_back(std::move(line));
    return;
  }
  held_.push_back(std::move(line));
  if (held_.size() <= limits::kLogLinesHeld) return;
  ++dropped_;
  if (SaysError(held_.front())) dropped_error_ = std::move(held_.front());
  held_.pop_front();
}

void LineReader::Release(Lines& out) {
  out.dropped += std::exchange(dropped_, 0);
  if (!dropped_error_.empty()) out.dropped_error = std::exchange(dropped_error_, {});
  std::move(held_.begin(), held_.end(), std::back_inserter(out.lines));
  held_.clear();
}

LineReader::Lines LineReader::Take(std::string_view bytes, absl::Duration now) {
  Lines out;
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    taken_ = static_cast<int>(held_.size());
    Release(out);
  }
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\n\r");
    const std::string_view piece = bytes.substr(0, end);
    line_ += piece.substr(0, limits::kLogLineBytes - std::min(line_.size(), limits::kLogLineBytes));
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    // An empty line of a progress bar has no content.
    if (!after_return_ || !line_.empty()) End(out);
    bytes.remove_prefix(end + 1);
  }
  return out;
}

LineReader::Lines LineReader::Finish() {
  Lines out;
  Release(out);
  if (!line_.empty()) out.lines.push_back(std::exchange(line_, {}));
  after_return_ = false;
  taken_ = 0;
  second_ = -absl::InfiniteDuration();
  return out;
}

absl::Duration LineReader::NextDeadline() const {
  return held_.empty() ? absl::InfiniteDuration() : second_ + absl::Seconds(1);
}

}  // namespace dt
