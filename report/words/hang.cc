// hang.cc: see hang.h.
#include "report/words/hang.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/runner_words.h"
#include "common/text.h"

namespace dt::report {
namespace {

std::string Shown(std::string_view text) {
  return Printable(CleanText(Trimmed(text), limits::kNameBytes));
}

// Returns "poll () from /lib/libc.so.6" of gdb's "#0  0x00007f in poll () from /lib/libc.so.6".
std::string_view WithoutAddress(std::string_view frame) {
  if (!frame.starts_with("#")) return frame;
  frame.remove_prefix(std::min(frame.find(' '), frame.size()));
  frame = Trimmed(frame);
  const size_t in = frame.find(" in ");
  return frame.starts_with("0x") && in != std::string_view::npos ? frame.substr(in + 4) : frame;
}

// Returns "wait (threading.py:320)" of faulthandler's `File "/usr/…/threading.py", line 320 in
// wait`; "" of another line.
std::string PrintedFrame(std::string_view line) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = " in ";
  line = Trimmed(line);
  if (!line.starts_with(kFile)) return "";
  const size_t end = line.rfind(kLine);
  const size_t in = line.find(kIn, end == std::string_view::npos ? end : end + kLine.size());
  if (in == std::string_view::npos) return "";
  std::string_view file = line.substr(kFile.size(), end - kFile.size());
  file.remove_prefix(file.rfind('/') + 1);
  const std::string_view number = line.substr(end + kLine.size(), in - end - kLine.size());
  return absl::StrCat(Shown(line.substr(in + kIn.size())), " (", Shown(file), ":", Shown(number),
                      ")");
}

void AddFrame(std::string frame, std::vector<std::string>& frames) {
  if (!frame.empty() && frames.size() < kHungFrames) frames.push_back(std::move(frame));
}

}  // namespace

void HangReader::TakeListed(Listing& listing, std::string_view line) {
  if (line.ends_with(kProcessesFollow)) {
    listing = {};
    listing.begun = true;
    return;
  }
  if (!listing.begun) return;
  if (line.starts_with("process ")) {
    listing.listed = nullptr;
    listing.main = false;
    listing.takes = true;
    if (listing.processes.size() == kHungProcesses) return;
    listing.processes.reserve(kHungProcesses);  // so that pointers stay valid
    listing.listed =
        &listing.processes.emplace_back(HungProcess{.doing = Shown(line), .frames = {}});
    return;
  }
  if (line.starts_with(kOwnStacks)) {
    const std::string_view rest = line.substr(std::string_view(kOwnStacks).size());
    listing.order = absl::StrSplit(absl::string_view(rest.data(), rest.size()),
                                   absl::MaxSplits(' ', kHungProcesses));
    return;
  }
  if (!line.starts_with("  ") || listing.listed == nullptr) return;
  std::vector<std::string>& frames = listing.listed->frames;
  const std::string_view text = Trimmed(line);
  if (text.starts_with("thread ") || text.starts_with("Process ") || text.starts_with("Python v")) {
    return;
  }
  if (!text.starts_with("Thread ")) {
    if (listing.takes) AddFrame(Shown(WithoutAddress(text)), frames);
    return;
  }
  // The main thread's frames count, else those of the first one.
  const bool main =
      text.starts_with("Thread 1 ") || text.find("MainThread") != std::string_view::npos;
  listing.takes = main || (frames.empty() && !listing.main);
  if (main) frames.clear();
  listing.main |= main;
}

void HangReader::TakePrinted(Listing& listing, std::string_view line) {
  if (line.starts_with("Fatal Python error: ")) {
    listing.takes_printed = false;
    if (listing.printed.size() < kHungProcesses) {
      listing.printed.push_back({.doing = "a Python process", .frames = {}});
    }
    return;
  }
  if (listing.printed.empty()) return;
  std::vector<std::string>& frames = listing.printed.back().frames;
  if (line.starts_with("Current thread 0x")) {
    frames.clear();
    listing.takes_printed = true;
  } else if (line.starts_with("Thread 0x")) {
    listing.takes_printed = frames.empty();
  } else if (listing.takes_printed) {
    AddFrame(PrintedFrame(line), frames);
  }
}

void HangReader::Add(const v1::LogLineChunk& chunk) {
  if (chunk.attempt() != attempt_) return;
  constexpr std::string_view kOurs = kRunnerPrefix;
  for (const absl::string_view each : absl::StrSplit(chunk.log().text(), '\n')) {
    const std::string_view line(each.data(), each.size());
    const auto found = listings_.find(chunk.log().rank());
    if (line.starts_with(kOurs)) {
      const bool begins = found == listings_.end() && listings_.size() < kHungRanks &&
                          line.ends_with(kProcessesFollow);
      if (found == listings_.end() && !begins) continue;
      TakeListed(begins ? listings_[chunk.log().rank()] : found->second, line.substr(kOurs.size()));
    } else if (found != listings_.end()) {
      TakePrinted(found->second, line);
    }
  }
}

std::vector<HungRank> HangReader::ranks() const {
  std::vector<HungRank> ranks;
  for (const auto& [rank, listing] : listings_) {
    HungRank& one = ranks.emplace_back(HungRank{.rank = rank, .processes = listing.processes});
    for (size_t i = 0; i < listing.printed.size(); ++i) {
      const bool known = i < listing.order.size();
      const std::string begin = absl::StrCat("process ", known ? listing.order[i] : "", " (");
      const auto own = std::find_if(
          one.processes.begin(), one.processes.end(),
          [&begin](const HungProcess& process) { return process.doing.starts_with(begin); });
      if (own != one.processes.end()) {
        own->frames = listing.printed[i].frames;
      } else {
        one.processes.push_back(listing.printed[i]);
      }
    }
  }
  return ranks;
}

uint32_t HungAttempt(const v1::ExplainTrialResponse& found) {
  for (int i = found.attempts_size() - 1; i >= 0; --i) {
    const v1::AttemptSummary& attempt = found.attempts(i);
    if (attempt.ended_wall_ms() == 0) continue;
    return attempt.cause() == v1::CAUSE_HANG ? attempt.attempt() : 0;
  }
  return 0;
}

std::string HungText(const HungProcess& process) {
  if (process.frames.empty()) return process.doing;
  return absl::StrCat(process.doing, ": ", absl::StrJoin(process.frames, ", called by "));
}

api::Json HangJson(uint32_t attempt, const std::vector<HungRank>& ranks) {
  if (attempt == 0) return nullptr;
  api::Json list = api::Json::array();
  for (const HungRank& rank : ranks) {
    api::Json processes = api::Json::array();
    for (const HungProcess& process : rank.processes) {
      processes.push_back({{"doing", process.doing}, {"frames", process.frames}});
    }
    list.push_back({{"rank", rank.rank}, {"processes", std::move(processes)}});
  }
  return {{"attempt", attempt}, {"ranks", std::move(list)}};
}

}  // namespace dt::report
