#include "cli/view/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace dt::cli {
namespace {

constexpr size_t kBufferBytes = 64 << 10;  // the size of a pipe: larger writes gain nothing

}  // namespace

OutputBuffer::OutputBuffer(int fd) : fd_(fd), buffer_(kBufferBytes) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

OutputBuffer::~OutputBuffer() { WriteOut(); }

OutputBuffer::int_type OutputBuffer::overflow(int_type c) {
  if (!WriteOut()) return traits_type::eof();
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  return sputc(traits_type::to_char_type(c));
}

int OutputBuffer::sync() { return WriteOut() ? 0 : -1; }

bool OutputBuffer::WriteOut() {
  const char* from = pbase();
  while (error_ == 0 && from < pptr()) {
    const ssize_t written = write(fd_, from, static_cast<size_t>(pptr() - from));
    if (written >= 0) {
      from += written;
    } else if (errno == EAGAIN) {  // another process that shares it made it non-blocking
      pollfd ready = {fd_, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0;
}

}  // namespace dt::cli
