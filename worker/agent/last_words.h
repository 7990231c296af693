// last_words.h: the last output of an attempt's process, as evidence of why it ended.
//
// Role:  pure. Belongs to one attempt: another attempt starts with an empty one.
// Tests: tests/worker/agent/last_words_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

enum class LogPipe { kOutput, kErrors };

// Returns whether `line` names an error, as the last line of a traceback does.
bool SaysError(std::string_view line);

class LastWords {
 public:
  // Takes the next line of a pipe. Ignores a blank one, and a warning of Python with its line of
  // code.
  void Take(LogPipe pipe, std::string_view line);
  // Returns "its last line: …", with the newest error in front if other lines follow it, and what
  // to do about an error that is known; "" if nothing was printed. Prefers standard error as
  // evidence.
  std::string Text() const;
  // Returns the newest error, or the last line if no line near the end names one: a program may
  // have handled an error and gone on.
  const std::string& Evidence() const;

 private:
  struct OfPipe {
    std::string line;     // the newest
    std::string error;    // the newest that reports an error
    int since_error = 0;  // lines after it, as far as they matter
    bool warned = false;  // the newest line was a warning of Python
  };
  const OfPipe& Newest() const { return errors_.line.empty() ? output_ : errors_; }

  OfPipe output_;
  OfPipe errors_;
};

}  // namespace dt
