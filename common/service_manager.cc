// service_manager.cc: the datagram of sd_notify(3) and the variables of the watchdog.
#include "common/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "common/unique_fd.h"

namespace dt {

void NotifyServiceManager(const std::string& lines) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string path = variable == nullptr ? "" : variable;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // '@' begins a name in the abstract namespace, whose first byte is 0.
  const bool known = !path.empty() && (path[0] == '/' || path[0] == '@');
  if (!known || path.size() >= sizeof(name.sun_path)) return;
  path.copy(name.sun_path, path.size());
  if (path[0] == '@') name.sun_path[0] = '\0';
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  sendto(fd.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&name), size);
}

absl::Duration WatchdogPeriod() {
  const char* const period = std::getenv("WATCHDOG_USEC");
  const char* const process = std::getenv("WATCHDOG_PID");
  int64_t microseconds = 0;
  if (period == nullptr || !absl::SimpleAtoi(period, &microseconds) || microseconds <= 0) {
    return absl::ZeroDuration();
  }
  int64_t pid = 0;
  const bool ours =
      process == nullptr || (absl::SimpleAtoi(process, &pid) && pid == int64_t{getpid()});
  return ours ? absl::Microseconds(microseconds) : absl::ZeroDuration();
}

}  // namespace dt
