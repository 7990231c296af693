// live_view.h: a running experiment and its results, as lines.
//
// Role:  pure: summaries and the time in, lines out. follow.cc fetches and draws.
// Tests: tests/cli/view/live_view_test.cc, with the expected text in full
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/view/glyphs.h"
#include "cli/view/standstill.h"
#include "cli/view/table.h"
#include "cli/view/words.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

struct LiveState {
  v1::ExperimentSummary experiment;
  // All trials, or in a very large experiment only the running ones.
  std::vector<v1::TrialSummary> trials;
  Early early = Early::kAmongOthers;  // order of the trials
  bool program = false;               // the trials run a program, which may report any metrics
  std::string notice;                 // "no answer from the coordinator for 12 s", or ""
};

struct LiveOptions {
  int width = 100;
  int rows = 30;  // of the terminal
  Glyphs glyphs = Glyphs::kUnicode;
  int64_t now_wall_ms = 0;
};

// Returns a frame: the experiment with its bar, a row per trial, and reasons of waits and failures.
// It has at most options.rows - 1 lines.
std::vector<Line> LiveFrame(const LiveState& state, const LiveOptions& options);

// Log for a file or a pipe: a line per change of state, and a summary every ten seconds.
class LiveLog {
 public:
  std::vector<std::string> Update(const LiveState& state, int64_t now_wall_ms);

 private:
  struct Seen {
    v1::TrialState state = v1::TRIAL_STATE_UNSPECIFIED;
    uint32_t attempts = 0;
  };
  std::map<uint32_t, Seen> seen_;
  std::string notice_;
  Standstill standstill_;
  int64_t next_summary_wall_ms_ = 0;
};

struct Results {
  LiveState state;
  std::optional<v1::CheckpointSummary> best_checkpoint;
  std::string page;  // the experiment's page, "http://…", or ""
};
// Returns the lines after the end: the table of results, best first, the best trial with its
// checkpoint, and the commands to type next.
std::vector<Line> ResultLines(const Results& results, const LiveOptions& options);
// Returns only the table, with at most `count` rows; `dtctl best` uses it too.
Table ResultTable(const LiveState& state, size_t count);

}  // namespace dt::cli
