#include "cli/remote/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "absl/time/clock.h"
#include "common/check.h"

namespace dt::cli {

Interrupt::Interrupt() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  DT_CHECK(event_fd_ >= 0);
}

Interrupt::~Interrupt() { close(event_fd_); }

void Interrupt::Trigger() {
  const int saved = errno;
  triggered_.store(true);
  const uint64_t one = 1;
  // A full counter is fine: it is readable already.
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
  errno = saved;
}

Interrupt::Woken Interrupt::Wait(absl::Duration duration, int fd) const {
  const absl::Time deadline = absl::Now() + duration;
  while (true) {
    const int64_t left = std::max<int64_t>(0, absl::ToInt64Milliseconds(deadline - absl::Now()));
    std::array<pollfd, 2> fds = {pollfd{event_fd_, POLLIN, 0}, pollfd{fd, POLLIN, 0}};
    const int ready =
        poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(left, 60000)));
    if (Triggered()) return Woken::kByInterrupt;
    if (ready > 0 && fds[1].revents != 0) return Woken::kByDescriptor;
    if (absl::Now() >= deadline) return Woken::kByTime;
  }
}

}  // namespace dt::cli
