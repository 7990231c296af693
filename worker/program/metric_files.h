// metric_files.h: follows files to which a program writes its metrics.
//
// Role:      reads what is new: rows of CSV or JSON lines (`metrics.file`), and TensorBoard's event
//            files (`metrics.tensorboard`). Returns the lines that the program could have reported.
// Invariant: what was in a file before the program started is not read, only a CSV's header. A row
//            is read once, also if the file is written again from its beginning. An event file of
//            before the start is not read at all, since a writer of events makes a new one.
// Bounds:    limits::kMetricFiles new files and as many older ones, kMetricReadBytes of each in a
//            turn, kLastBytes of all together at the end. A search looks at kScanEntries of a
//            folder and as many for a pattern; the one before the start at kFirstEntries, so that
//            no later one takes an old file for a new one.
// Errors:    a file that is damaged, or no regular file, costs only itself.
// Threads:   one. Reads block, as the program's own writes do.
// Tests:     tests/worker/program/metric_files_test.cc
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/unique_fd.h"
#include "worker/program/event_records.h"
#include "worker/program/metric_rows.h"
#include "worker/program/samples.h"

namespace dt::program {

// Where the metrics are, relative to the program's folder, or absolute.
struct MetricPaths {
  std::string file;         // a path, or a pattern of paths as a shell has it; "": none
  std::string tensorboard;  // a folder; "": none
  bool any() const { return !file.empty() || !tensorboard.empty(); }
};

class MetricFiles {
 public:
  static constexpr size_t kScanEntries = 2000;
  static constexpr size_t kFirstEntries = 10 * kScanEntries;
  static constexpr size_t kLastBytes = 16 << 20;

  struct Taken {
    std::vector<std::string> lines;       // for Reports::Take
    std::vector<std::string> complaints;  // for the trial's log
  };
  // Notes which files are there, so call it before the program starts.
  MetricFiles(const std::string& folder, const MetricPaths& paths, uint64_t resumed_step);

  // Which files to read.
  enum class Paths {
    kSearch,  // also those that are there since the last search
    kKnown
  };
  // Reads a share of what is new.
  Taken Read(Paths paths = Paths::kSearch);
  // Reads the rest, after the program's end.
  Taken Finish();
  // Returns whether the program made a file, or wrote to one.
  bool found() const { return found_rows_ || found_events_; }
  bool found_rows() const { return found_rows_; }
  bool found_events() const { return found_events_; }

 private:
  // The state of a file, from stat. Equal states: nothing was written.
  struct State {
    uint64_t device = 0, inode = 0, size = 0;
    int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const State&) const = default;
  };
  struct Followed {
    bool events = false;
    State seen;           // when it was last read
    bool behind = false;  // it had more than was read then
    uint64_t offset = 0;
    std::string head,
        tail;  // the first bytes, and those before the offset: a change means that the
               // file was written again
    bool left_out = false;
    MetricRows rows;
    uint64_t taken = 0;     // rows
    uint64_t skip = 0;      // rows without a step that were taken before the file was written again
    double newest = -1;     // step of its rows
    bool overlong = false;  // the current line is overlong
  };
  enum class Last { kNo, kYes };
  // State of one look at all files.
  struct Turn {
    Last last = Last::kNo;
    uint64_t left = 0;  // bytes to read
    std::vector<ScalarEvent> events;
    Taken out;
  };
  static std::optional<State> StateAt(const std::string& path);
  static State StateOf(const struct stat& status);
  static UniqueFd Open(const std::string& path, State& state);
  static void NoteSigns(const UniqueFd& fd, Followed& file);
  void Scan(Taken& out);
  void ScanFolder(size_t most, Taken& out);
  void Follow(const std::string& path, bool events, Taken& out);
  void FollowOld(const std::string& path);
  void Catch(const std::string& path, Followed& file, Turn& turn);
  bool WasWrittenAgain(const UniqueFd& fd, const Followed& file, uint64_t size) const;
  uint64_t TakeRows(std::string_view bytes, Followed& file, Last last, Taken& out);
  uint64_t TakeEvents(const std::string& path, std::string_view bytes, Followed& file, Turn& turn);
  void PassEvents(Turn& turn);
  Taken Take(Last last, Paths paths);

  const std::string pattern_, tree_;
  Samples row_samples_, event_samples_;
  std::map<std::string, Followed> files_;
  std::set<std::string> left_alone_;  // of before the start
  size_t new_files_ = 0;              // of files_
  bool begun_ = false, found_rows_ = false, found_events_ = false, complained_ = false;
};

}  // namespace dt::program
