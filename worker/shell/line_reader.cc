// line_reader.cc: a carriage return ends a line as well: progress bars use it.
#include "worker/shell/line_reader.h"

#include <algorithm>

namespace dt {

bool LineRate::Admit(absl::Duration now) {
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    lines_ = 0;
  }
  return ++lines_ <= limits::kLogLinesPerSecond;
}

void LineReader::Emit(Lines& out, LineRate& rate, absl::Duration now) {
  if (rate.Admit(now)) {
    out.lines.push_back(std::exchange(line_, {}));
  } else {
    ++out.dropped;
    line_.clear();
  }
}

LineReader::Lines LineReader::Take(std::string_view bytes, LineRate& rate, absl::Duration now) {
  Lines out;
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\n\r");
    const std::string_view piece = bytes.substr(0, end);
    line_ += piece.substr(0, limits::kLogLineBytes - std::min(line_.size(), limits::kLogLineBytes));
    if (end == std::string_view::npos) break;
    // "\r\n" is one end, and a bar's empty line says nothing.
    if (bytes[end] == '\n' || !line_.empty()) Emit(out, rate, now);
    const bool both = bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n';
    bytes.remove_prefix(end + (both ? 2 : 1));
  }
  return out;
}

LineReader::Lines LineReader::Finish(LineRate& rate, absl::Duration now) {
  Lines out;
  if (!line_.empty()) Emit(out, rate, now);
  return out;
}

}  // namespace dt
