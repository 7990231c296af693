// read_output.cc: see read_output.h.
#include "common/read_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/clock.h"
#include "common/unique_fd.h"

namespace dt {
namespace {

// Reads until the end, `bytes_max` or the deadline.
std::string ReadSome(int fd, size_t bytes_max, absl::Duration patience) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + patience;
  std::string text;
  char chunk[65536];
  while (text.size() < bytes_max) {
    const absl::Duration left = std::max(absl::ZeroDuration(), until - clock.Now().steady);
    pollfd readable = {fd, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = read(fd, chunk, sizeof(chunk));
    if (got <= 0) break;
    text.append(chunk, static_cast<size_t>(got));
  }
  if (text.size() > bytes_max) text.resize(bytes_max);
  return text;
}

}  // namespace

ProgramOutput ReadOutput(SpawnOptions options, size_t bytes_max, absl::Duration patience,
                         StandardError errors) {
  ProgramOutput output;
  int ends[2];
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null.valid() || pipe2(ends, O_CLOEXEC) != 0) return output;
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const int error_fd = errors == StandardError::kRead ? in.get() : null.get();
  // Before those of the caller, whose numbers may be the numbers of ours.
  options.descriptors.insert(options.descriptors.begin(),
                             {{in.get(), STDOUT_FILENO}, {error_fd, STDERR_FILENO}});
  const auto pid = Spawn(options);
  in.Reset();
  if (!pid.ok()) return output;
  output.text = ReadSome(out.get(), bytes_max, patience);
  // A program that prints more, or is silent, is of no more use. A kill cannot hurt an ended one.
  char more = 0;
  pollfd end = {out.get(), POLLIN, 0};
  output.ended = poll(&end, 1, 0) == 1 && read(out.get(), &more, 1) == 0;
  if (!output.ended) kill(*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.ok = output.ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return output;
}

}  // namespace dt
