// output.h: stdout as a stream that keeps the reason of a failed write.
//
// Role:    the buffer behind Terminal::out. A plain stream knows that a write failed, but not why.
// Threads: one thread.
// Errors:  the first failing write ends the stream. It goes bad, error() keeps the reason, and
//          nothing more is written, so that no later part follows a gap.
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

  // Returns the errno of the failed write; 0 while all succeeded.
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
