// alive_file.h: a file whose age says whether a worker's loop turns, for a container that wants to
// know its health: a worker listens on nothing that could be asked.
//
// Threads: the loop's alone; another would go on touching it while the loop stands still.
// Errors:  one that cannot be written is a warning, once until it can be again. Health checks fail
//          then, and the worker goes on.
// Tests:   tests/worker/shell/alive_file_test.cc, tests/worker/dtworker_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"

namespace dt {

class AliveFile {
 public:
  // Empty: there is none, and nothing is ever due.
  explicit AliveFile(std::string path);
  // Makes the file young, and makes it where it is not there, once that is due.
  void Touch(absl::Duration now);
  // Steady time of the next touch.
  absl::Duration due() const { return due_; }

 private:
  const std::string path_;
  absl::Duration due_;
  bool failed_ = false;
};

}  // namespace dt
