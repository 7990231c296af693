// output.h: stdout as a stream that knows why a write failed.
//
// Role:    the buffer behind Terminal::out. A stream alone says that something failed, not what.
// Threads: one thread.
// Errors:  the first failing write ends the stream: it goes bad, error() keeps the reason, and
//          nothing is written after it, so that no later part follows a gap.
// Tests:   tests/cli/commands/output_test.cc, with /dev/full and a closed pipe
#pragma once

#include <streambuf>
#include <vector>

namespace dt::cli {

class OutputBuffer : public std::streambuf {
 public:
  explicit OutputBuffer(int fd);  // borrows `fd`
  ~OutputBuffer() override;       // writes what is left
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;

  // errno of the write that failed; 0 while all succeeded.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  bool WriteOut();

  const int fd_;
  int error_ = 0;
  std::vector<char> buffer_;
};

}  // namespace dt::cli
