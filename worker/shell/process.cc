// process.cc: the trainer behind three descriptors.
#include "worker/shell/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "common/files.h"
#include "common/oom.h"
#include "common/spawn.h"
#include "common/status.h"

namespace dt {
namespace {

// Bytes read from one descriptor in one turn: a flood from a trainer must not starve the stream.
constexpr size_t kReadShare = 256 << 10;
// Bytes read from one descriptor to empty it: more than the kernel lets anybody put into a pipe. A
// bound, since a process that a trainer left behind may write for ever.
constexpr size_t kReadAll = 4 << 20;
// The descriptor of the trainer's socket to us.
constexpr int kLinkFd = 3;
// Bytes of frames that wait for a trainer that does not read. The agent sends a handful for each
// attempt.
constexpr size_t kUnwrittenBytes = 4 * frames::kFrameBytes;

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

// Moves a descriptor to 10 or above, so that the child's 0 to 3 can be set in any order.
absl::StatusOr<UniqueFd> MoveUp(int fd) {
  UniqueFd low(fd);
  UniqueFd high(fcntl(fd, F_DUPFD_CLOEXEC, 10));
  if (!high.valid()) return SystemError("duplicate", "a descriptor");
  return high;
}

enum class PairKind { kSocket, kPipe };

absl::StatusOr<Pair> MakePair(PairKind kind) {
  int ends[2];
  const int result = kind == PairKind::kSocket
                         ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                         : pipe2(ends, O_CLOEXEC);
  if (result != 0) return SystemError("make", "a pair of descriptors");
  auto ours = MoveUp(ends[0]);
  auto theirs = MoveUp(ends[1]);
  if (!ours.ok()) return ours.status();
  if (!theirs.ok()) return theirs.status();
  fcntl(ours->get(), F_SETFL, fcntl(ours->get(), F_GETFL) | O_NONBLOCK);
  return Pair{*std::move(ours), *std::move(theirs)};
}

FileVersion VersionOf(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino, static_cast<uint64_t>(facts.st_size),
          absl::ToUnixNanos(absl::TimeFromTimespec(facts.st_mtim))};
}

bool IsEnd(const AgentEvent& event) {
  const auto* frame = std::get_if<FrameReceived>(&event);
  return frame != nullptr && std::holds_alternative<frames::End>(frame->frame);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Start(
    const TrainerCommand& command) {
  auto link = MakePair(PairKind::kSocket);
  if (!link.ok()) return link.status();
  auto out = MakePair(PairKind::kPipe);
  if (!out.ok()) return out.status();
  auto err = MakePair(PairKind::kPipe);
  if (!err.ok()) return err.status();
  std::unique_ptr<TrainerProcess> process(new TrainerProcess);
  process->oom_kills_before_ = OomKills();
  process->path_ = command.path;
  process->began_ = VersionOf(command.path);
  DT_ASSIGN_OR_RETURN(process->pid_, Spawn({.path = command.path,
                                            .arguments = command.arguments,
                                            .environment = EnvironmentWith(command.env),
                                            .descriptors = {{out->theirs.get(), STDOUT_FILENO},
                                                            {err->theirs.get(), STDERR_FILENO},
                                                            {link->theirs.get(), kLinkFd}},
                                            .group = ProcessGroup::kOwn}));
  process->link_ = std::move(link->ours);
  process->out_ = std::move(out->ours);
  process->err_ = std::move(err->ours);
  return process;
}

TrainerProcess::~TrainerProcess() {
  if (pid_ < 0 || reaped_) return;
  Kill();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool TrainerProcess::IsReplaced() const {
  const FileVersion now = VersionOf(path_);
  return now != FileVersion{} && now != began_;
}

std::vector<pollfd> TrainerProcess::Descriptors() const {
  std::vector<pollfd> descriptors;
  for (const UniqueFd* fd : {&link_, &out_, &err_}) {
    if (!fd->valid()) continue;
    short events = POLLIN;
    if (fd == &link_ && !unwritten_.empty()) events |= POLLOUT;
    descriptors.push_back({fd->get(), events, 0});
  }
  return descriptors;
}

std::vector<AgentEvent> TrainerProcess::Serve(absl::Duration now) {
  std::vector<AgentEvent> events = std::exchange(early_, {});
  WritePending();
  // Frames are read first and reported last, so that all output printed before a frame is already
  // known.
  std::vector<AgentEvent> heard;
  ReadFrames(now, heard);
  const bool ends = std::any_of(heard.begin(), heard.end(), &IsEnd);
  ReadLogs(ends ? Extent::kAll : Extent::kShare, now, events);
  std::move(heard.begin(), heard.end(), std::back_inserter(events));
  if (now >= astray_at_) {
    astray_at_ = absl::InfiniteDuration();
    Misbehaved("it closed descriptor 3 but did not exit", events);
  }
  return events;
}

void TrainerProcess::ReadFrames(absl::Duration now, std::vector<AgentEvent>& events) {
  char chunk[65536];
  for (size_t total = 0; link_.valid() && total < kReadShare;) {
    const ssize_t got = recv(link_.get(), chunk, sizeof(chunk), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      link_.Reset();  // usually its death follows at once
      astray_at_ = now + limits::kTrainerExitGrace;
      break;
    }
    total += static_cast<size_t>(got);
    unread_.append(chunk, static_cast<size_t>(got));
    size_t start = 0;
    for (size_t end; (end = unread_.find('\n', start)) != std::string::npos; start = end + 1) {
      TakeFrameLine(std::string_view(unread_).substr(start, end - start), events);
    }
    unread_.erase(0, start);
    if (unread_.size() > frames::kFrameBytes) {
      Misbehaved("frame longer than 1 MiB", events);
      unread_.clear();
    }
  }
}

void TrainerProcess::TakeFrameLine(std::string_view line, std::vector<AgentEvent>& events) {
  if (misbehaved_) return;
  auto parsed = frames::ParseFromTrainer(line);
  if (auto* invalid = std::get_if<frames::InvalidFrame>(&parsed)) {
    Misbehaved(invalid->reason, events);
  } else {
    events.push_back(FrameReceived{std::get<frames::FromTrainer>(std::move(parsed))});
  }
}

void TrainerProcess::Misbehaved(std::string reason, std::vector<AgentEvent>& events) {
  if (std::exchange(misbehaved_, true)) return;
  events.push_back(TrainerMisbehaved{std::move(reason)});
}

absl::Duration TrainerProcess::NextDeadline() const {
  const absl::Duration held = std::min(out_lines_.NextDeadline(), err_lines_.NextDeadline());
  return std::min({astray_at_, held, early_.empty() ? held : -absl::InfiniteDuration()});
}

void TrainerProcess::ReadLogs(Extent extent, absl::Duration now, std::vector<AgentEvent>& events) {
  ReadLog(LogPipe::kOutput, extent, now, events);
  ReadLog(LogPipe::kErrors, extent, now, events);
}

void TrainerProcess::ReadLog(LogPipe which, Extent extent, absl::Duration now,
                             std::vector<AgentEvent>& events) {
  UniqueFd& pipe = which == LogPipe::kOutput ? out_ : err_;
  LineReader& reader = which == LogPipe::kOutput ? out_lines_ : err_lines_;
  char chunk[65536];
  const auto tell = [&events, which](LineReader::Lines&& more) {
    if (more.Empty()) return;
    events.push_back(LogLines{.lines = std::move(more.lines),
                              .dropped = more.dropped,
                              .pipe = which,
                              .dropped_error = std::move(more.dropped_error)});
  };
  tell(reader.Take({}, now));
  const size_t most = extent == Extent::kAll ? kReadAll : kReadShare;
  for (size_t total = 0; pipe.valid() && total < most;) {
    const ssize_t got = read(pipe.get(), chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      tell(reader.Finish());
      pipe.Reset();
      break;
    }
    total += static_cast<size_t>(got);
    tell(reader.Take({chunk, static_cast<size_t>(got)}, now));
  }
  if (extent == Extent::kAll) tell(reader.Finish());
}

void TrainerProcess::Send(const frames::ToTrainer& frame, absl::Duration now) {
  if (std::holds_alternative<frames::Start>(frame)) {
    oom_kills_before_ = OomKills();  // earlier ones are no evidence about this attempt
    ReadLogs(Extent::kAll, now, early_);
    for (AgentEvent& event : early_) std::get<LogLines>(event).before_start = true;
  }
  unwritten_ += frames::ToLine(frame);
  unwritten_ += '\n';
  WritePending();
  // The trainer left megabytes unread, so it never will read.
  if (unwritten_.size() > kUnwrittenBytes) Kill();
}

void TrainerProcess::WritePending() {
  while (!unwritten_.empty() && link_.valid()) {
    const ssize_t put = send(link_.get(), unwritten_.data(), unwritten_.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;  // full, or the process ended: Reap reports its death
    unwritten_.erase(0, static_cast<size_t>(put));
  }
}

void TrainerProcess::Kill() {
  if (!reaped_ && pid_ > 0) kill(-pid_, SIGKILL);
}

std::vector<AgentEvent> TrainerProcess::Reap(absl::Duration now) {
  std::vector<AgentEvent> events;
  siginfo_t info{};
  // Seen but not yet reaped: while it is a zombie its group's number cannot be reused.
  if (reaped_ || waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return events;
  }
  Kill();  // also kills its children, if any
  int wait_status = 0;
  if (waitpid(pid_, &wait_status, WNOHANG) != pid_) return events;
  reaped_ = true;
  // A pipe that a stray descendant keeps open is read once more, never waited for.
  events = Serve(now);
  ReadLogs(Extent::kAll, now, events);
  const OomEvidence oom =
      OomKills() > oom_kills_before_ ? OomEvidence::kCgroupKill : OomEvidence::kNone;
  events.push_back(TrainerExited{wait_status, oom});
  return events;
}

}  // namespace dt
