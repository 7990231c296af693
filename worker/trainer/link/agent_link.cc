// agent_link.cc: reads and writes descriptor 3.
#include "worker/trainer/link/agent_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dt::trainer {
namespace {

// Grace period, well below the two seconds after which an agent kills.
constexpr std::chrono::milliseconds kLeaveByItself{300};

// Ends the process without running destructors, since the training thread may be inside a
// collective that never returns.
[[noreturn]] void Leave(int status, const char* reason) {
  if (status != 0) std::fprintf(stderr, "dttrain: %s\n", reason);
  std::fflush(nullptr);
  _exit(status);
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

// State of one attempt, shared by the reader and the training thread.
class AgentLink::AttemptConversation final : public Conversation {
 public:
  AttemptConversation(AgentLink& link, std::string token) : link_(link), token_(std::move(token)) {}

  const std::string& token() const { return token_; }
  void Say(const frames::FromTrainer& frame) override { link_.Say(frame); }
  StopRequest CurrentStopRequest() const override {
    std::lock_guard lock(mutex_);
    return stop_request_;
  }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] {
      return !store_address_.empty() || stop_request_ != StopRequest::kNone;
    });
    if (stop_request_ != StopRequest::kNone)
      return CancelledError("stopped while waiting for rank 0");
    if (store_address_.empty()) {
      return CollectiveError("rank 0's store did not appear within " +
                             std::to_string(limit.count() / 1000) + " s");
    }
    return store_address_;
  }
  void AbortWith(std::function<void()> abort) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !aborting_; });
    abort_ = std::move(abort);
    changed_.notify_all();
    if (abort_ && (stop_request_ == StopRequest::kStop || peer_is_lost_)) abort_();
  }

  std::optional<uint64_t> RegisteredStep() const override {
    std::lock_guard lock(mutex_);
    return registered_;
  }
  void AwaitRegistered(uint64_t step, std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] {
      return (registered_ && *registered_ >= step) || stop_request_ != StopRequest::kNone;
    });
  }

  bool PeerIsLost() const override {
    std::lock_guard lock(mutex_);
    return peer_is_lost_;
  }
  std::optional<frames::Rescue> AwaitRescue(std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit,
                      [&] { return rescue_.has_value() || stop_request_ != StopRequest::kNone; });
    return stop_request_ == StopRequest::kNone ? rescue_ : std::nullopt;
  }

  void TakeRescue(const frames::Rescue& rescue) {
    std::lock_guard lock(mutex_);
    rescue_ = rescue;
    peer_is_lost_ = false;  // the ranks that save are here
    changed_.notify_all();
  }
  // Ends the wait for a peer at once. After an order to save, ranks wait only for those that are
  // left.
  void LosePeer() {
    std::unique_lock lock(mutex_);
    if (rescue_) return;
    peer_is_lost_ = true;
    if (abort_) Abort(lock);
  }
  void NoteRegistered(uint64_t step) {
    std::lock_guard lock(mutex_);
    if (!registered_ || *registered_ < step) registered_ = step;
    changed_.notify_all();
  }
  void TakeStoreAddress(const std::string& address) {
    std::lock_guard lock(mutex_);
    store_address_ = address;
    changed_.notify_all();
  }
  void Stop(StopRequest stop_request) {
    std::unique_lock lock(mutex_);
    if (stop_request_ == StopRequest::kStop) return;
    stop_request_ = stop_request;
    changed_.notify_all();
    if (stop_request != StopRequest::kStop || !abort_) return;
    // A rank that leaves between two steps disturbs nobody. Abort only a rank that cannot leave.
    if (changed_.wait_for(lock, kLeaveByItself, [&] { return !abort_; })) return;
    Abort(lock);
  }

 private:
  // REQUIRES: `lock` holds mutex_, and abort_ is set.
  void Abort(std::unique_lock<std::mutex>& lock) {
    aborting_ = true;
    const std::function<void()> abort = abort_;
    lock.unlock();
    abort();
    lock.lock();
    aborting_ = false;
    changed_.notify_all();
  }

  AgentLink& link_;
  const std::string token_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  StopRequest stop_request_ = StopRequest::kNone;
  std::string store_address_;
  std::optional<uint64_t> registered_;
  bool peer_is_lost_ = false;
  std::optional<frames::Rescue> rescue_;
  std::function<void()> abort_;
  bool aborting_ = false;
};

AgentLink::AgentLink(int fd) : fd_(fd), reader_([this] { Read(); }) {}

AgentLink::Order AgentLink::AwaitStart() {
  std::unique_lock lock(mutex_);
  started_.wait(lock, [&] { return next_.has_value(); });
  Order order = *std::move(next_);
  next_.reset();
  return order;
}

void AgentLink::Say(const frames::FromTrainer& frame) {
  const std::string line = frames::ToLine(frame) + "\n";
  std::lock_guard lock(write_mutex_);
  if (!WriteAll(fd_, line)) Leave(1, "the agent is gone");
}

void AgentLink::Read() {
  std::string buffer;
  char chunk[16384];
  for (;;) {
    const ssize_t got = recv(fd_, chunk, sizeof(chunk), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) Leave(1, "the agent is gone");
    buffer.append(chunk, static_cast<size_t>(got));
    size_t start = 0;
    for (size_t end; (end = buffer.find('\n', start)) != std::string::npos; start = end + 1) {
      TakeLine(std::string_view(buffer).substr(start, end - start));
    }
    buffer.erase(0, start);
    if (buffer.size() > frames::kFrameBytes) Leave(1, "the agent sent a frame above 1 MiB");
  }
}

void AgentLink::TakeLine(std::string_view line) {
  auto parsed = frames::ParseToTrainer(line);
  if (const auto* invalid = std::get_if<frames::InvalidFrame>(&parsed)) {
    Leave(1, ("the agent sent an invalid frame: " + invalid->reason).c_str());
  }
  auto& frame = std::get<frames::ToTrainer>(parsed);
  if (std::holds_alternative<frames::Exit>(frame)) Leave(0, "");
  std::shared_ptr<AttemptConversation> current;
  {
    std::lock_guard lock(mutex_);
    if (auto* start = std::get_if<frames::Start>(&frame)) {
      current_ = std::make_shared<AttemptConversation>(*this, start->token);
      if (!start->store_address.empty()) current_->TakeStoreAddress(start->store_address);
      next_ = Order{std::move(*start), current_};
      started_.notify_one();
      return;
    }
    current = current_;
  }
  if (current == nullptr) return;
  // A frame for another attempt is late: that attempt has ended here.
  if (const auto* connect = std::get_if<frames::Connect>(&frame)) {
    if (connect->token == current->token()) current->TakeStoreAddress(connect->store_address);
  } else if (const auto* registered = std::get_if<frames::Registered>(&frame)) {
    if (registered->token == current->token()) current->NoteRegistered(registered->step);
  } else if (const auto* lost = std::get_if<frames::PeerLost>(&frame)) {
    if (lost->token == current->token()) current->LosePeer();
  } else if (const auto* rescue = std::get_if<frames::Rescue>(&frame)) {
    if (rescue->token == current->token()) current->TakeRescue(*rescue);
  } else if (const auto* stop = std::get_if<frames::Stop>(&frame)) {
    if (stop->token == current->token()) {
      current->Stop(stop->checkpoint ? StopRequest::kStopAfterCheckpoint : StopRequest::kStop);
    }
  }
}

}  // namespace dt::trainer
