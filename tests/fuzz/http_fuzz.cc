// http_fuzz.cc: any bytes from a client to the page's port, over a socket: one complete answer, or
// none, and in time.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "common/unique_fd.h"
#include "coordinator/api/api.h"
#include "coordinator/http/http_server.h"
#include "tests/testing/temp_folder.h"

namespace {

constexpr int kPatienceMs = 20'000;  // for a loaded machine

struct World {
  const dt::testing::TempFolder folder;
  const std::string path = folder / "socket";
  const absl::StatusOr<std::unique_ptr<dt::HttpServer>> server = dt::HttpServer::Start(
      "unix:" + path, [](const dt::HttpRequest& request, const dt::HttpReply& reply) {
        const auto call = dt::ReadApiCall(request.path, request.query);
        reply(dt::Share({call.ok() ? 200 : 400, std::string(call.status().message())}));
      });
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const World world;
  if (!world.server.ok()) std::abort();
  const dt::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(world.path.begin(), world.path.end(), address.sun_path);
  // libFuzzer measures an input's time by a signal, which may interrupt a call.
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EINTR) return 0;
    std::abort();
  }
  send(fd.get(), data, std::min<size_t>(size, 64 << 10), MSG_NOSIGNAL);
  shutdown(fd.get(), SHUT_WR);
  std::string answer;
  while (true) {
    pollfd wait{fd.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) std::abort();
    char buffer[4096];
    const ssize_t got = recv(fd.get(), buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  if (!answer.empty() && !answer.starts_with("HTTP/1.1 ")) std::abort();
  return 0;
}
