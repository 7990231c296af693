// alive_file.h: a file whose age shows whether a worker's loop runs, for health checks of a
// container: a worker listens on no port that could be asked.
//
// Threads: only the loop's; another thread would go on touching it while the loop stands still.
// Errors:  a file that cannot be written gives one warning until it can be written again. Health
//          checks then fail, but the worker goes on.
// Tests:   tests/worker/shell/alive_file_test.cc, tests/worker/dtworker_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"

namespace dt {

class AliveFile {
 public:
  // Empty: there is no file, and no touch is ever due.
  explicit AliveFile(std::string path);
  // Touches the file, and creates it if absent, once that is due.
  void Touch(absl::Duration now);
  // Returns the steady time of the next touch.
  absl::Duration due() const { return due_; }

 private:
  const std::string path_;
  absl::Duration due_;
  bool failed_ = false;
};

}  // namespace dt
