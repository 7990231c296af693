// metric_files.h: follows files to which a program writes its metrics.
//
// Role:      reads what is new: rows of CSV or JSON lines (`metrics.file`), and TensorBoard's event
//            files (`metrics.tensorboard`). Returns the lines that the program could have reported.
// Invariant: what was in a file before the program started is not read, only a CSV's header. A row
//            is read once, also if the file is written again from its beginning.
// Bounds:    limits::kMetricFiles files, kMetricReadBytes of each in a turn, kScanEntries of a
//            folder.
// Errors:    a file that is damaged, or no regular file, costs only itself.
// Threads:   one. Reads block, as the program's own writes do.
// Tests:     tests/worker/program/metric_files_test.cc
#pragma once

#include <cstdint>
#include <map>
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

  struct Taken {
    std::vector<std::string> lines;       // for Reports::Take
    std::vector<std::string> complaints;  // for the trial's log
  };
  // Notes which files are there, so call it before the program starts.
  MetricFiles(const std::string& folder, const MetricPaths& paths, uint64_t resumed_step);

  // Reads a share of what is new.
  Taken Read();
  // Reads the rest, after the program's end.
  Taken Finish();
  bool found() const { return found_; }  // the program made a file, or wrote to one

 private:
  struct Followed {
    bool events = false;
    uint64_t device = 0, inode = 0;
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
  void Scan(Taken& out);
  void ScanFolder(Taken& out);
  void Follow(const std::string& path, bool events, Taken& out);
  void Catch(const std::string& path, Followed& file, Last last, Taken& out);
  bool WasWrittenAgain(const UniqueFd& fd, const Followed& file, uint64_t size) const;
  uint64_t TakeRows(std::string_view bytes, Followed& file, Last last, Taken& out);
  uint64_t TakeEvents(const std::string& path, std::string_view bytes, Followed& file, Taken& out);
  void TakeWaiting(Taken& out);
  Taken Turn(Last last);

  const std::string pattern_, tree_;
  Samples row_samples_, event_samples_;
  std::map<std::string, Followed> files_;
  std::vector<ScalarEvent> waiting_;  // of this turn
  bool begun_ = false, found_ = false, complained_ = false;
};

}  // namespace dt::program
