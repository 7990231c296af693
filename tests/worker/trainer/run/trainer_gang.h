// trainer_gang.h: real dttrain processes under a test that plays their agents: it starts them,
// relays the store's address, and keeps their frames.
//
// Ownership: the processes. They are killed and reaped with the object, or, between WarmTrainers,
//            with the program.
// Threads:   thread-compatible.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/testing/child_process.h"
#include "tests/worker/trainer/run/trainer_logs.h"
#include "tests/worker/trainer/small_trial.h"
#include "worker/frames/frames.h"

namespace dt::testing {

// Long on purpose: several ranks share few cores with other tests.
inline constexpr std::chrono::seconds kTrainingPatience{120};

// Time for the other ranks of a broken attempt to leave by themselves before they are killed. Only
// a rank that Gloo leaves waiting for ever takes this long.
inline constexpr std::chrono::seconds kAbandonPatience{60};

// dttrain as an agent starts it: with a socket as descriptor 3. A failed test shows what it
// printed. `within`: a command that runs another one, such as nsenter.
class TrainerProcess {
 public:
  explicit TrainerProcess(const std::vector<std::string>& flags = {"--threads", "1"},
                          const std::vector<std::string>& within = {}) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      ADD_FAILURE() << "socketpair";
      return;
    }
    fd_ = pair[0];
    log_ = memfd_create("dttrain-log", MFD_CLOEXEC);
    std::vector<std::string> words = within;
    words.insert(words.end(), {DTTRAIN_PROGRAM, "--agent"});
    words.insert(words.end(), flags.begin(), flags.end());
    // Our descriptor may have a number that the child needs for its own.
    const int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    close(pair[1]);
    process_ = ChildProcess({.path = words[0],
                             .arguments = {words.begin() + 1, words.end()},
                             .descriptors = {{log_, 2}, {theirs, 3}}});
    close(theirs);
  }
  ~TrainerProcess() {
    if (fd_ >= 0) close(fd_);
    process_.KillAndReap();
    TrainerLogs::Get().Add(LogTail());
    if (log_ >= 0) close(log_);
  }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  pid_t pid() const { return process_.pid(); }
  int fd() const { return fd_; }
  void Send(const frames::ToTrainer& frame) {
    if (std::holds_alternative<frames::Start>(frame)) ++starts_;
    SendText(frames::ToLine(frame) + "\n");
  }
  void SendText(const std::string& text) {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
  // Sends to a process that may have been killed just before.
  void SendIfAlive(const frames::ToTrainer& frame) {
    const std::string text = frames::ToLine(frame) + "\n";
    const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(sent == std::ssize(text) || errno == EPIPE || errno == ECONNRESET) << errno;
  }
  void CloseSocket() {
    close(fd_);
    fd_ = -1;
  }
  // Returns the frames that have arrived. Sets `ended` if the process closed its end.
  std::vector<frames::FromTrainer> Receive() {
    std::vector<frames::FromTrainer> frames;
    char chunk[65536];
    const ssize_t got = recv(fd_, chunk, sizeof(chunk), MSG_DONTWAIT);
    if (got == 0) ended_ = true;
    if (got <= 0) return frames;
    buffer_.append(chunk, static_cast<size_t>(got));
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos; buffer_.erase(0, end + 1)) {
      auto parsed = frames::ParseFromTrainer(std::string_view(buffer_).substr(0, end));
      if (auto* frame = std::get_if<frames::FromTrainer>(&parsed)) {
        if (std::holds_alternative<frames::Idle>(*frame)) ++idles_;
        frames.push_back(std::move(*frame));
      } else {
        ADD_FAILURE() << std::get<frames::InvalidFrame>(parsed).reason;
      }
    }
    return frames;
  }
  bool ended() const { return ended_; }
  // Returns whether it has reported itself idle after the attempts that were sent.
  bool idle() const { return idles_ > starts_; }
  // Returns false if it ended, or still trains after `limit`.
  bool AwaitIdle(std::chrono::steady_clock::duration limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!idle() && !ended_ && std::chrono::steady_clock::now() < until) {
      pollfd waiting{fd_, POLLIN, 0};
      poll(&waiting, 1, 100);
      Receive();
    }
    return idle() && !ended_;
  }
  // Returns the end of its output.
  std::string LogTail() const {
    char text[3000];
    const off_t size = lseek(log_, 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(sizeof(text)));
    const ssize_t got = pread(log_, text, sizeof(text), from);
    return {text, static_cast<size_t>(std::max<ssize_t>(0, got))};
  }
  // Returns the wait status, or nothing if it still lives at the deadline.
  std::optional<int> AwaitExit() { return process_.AwaitExit(kTrainingPatience); }

 private:
  ChildProcess process_;
  int fd_ = -1;
  int log_ = -1;
  bool ended_ = false;
  int starts_ = 0, idles_ = 0;
  std::string buffer_;
};

// Processes that the gangs of one fixture leave for later gangs of any fixture, since starting one
// takes longer than most trainings here. They are warm and idle, like an agent's.
class WarmTrainers final : public ::testing::EmptyTestEventListener {
 public:
  using Flags = std::vector<std::string>;
  // While it lives, gangs take processes from here and leave theirs.
  class Use {
   public:
    Use() { ++Get().uses_; }
    ~Use() { --Get().uses_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };
  static WarmTrainers& Get() {
    static WarmTrainers* const warm = [] {
      TrainerLogs::Get();            // outlives them
      auto made = new WarmTrainers;  // GoogleTest owns it from here on
      ::testing::UnitTest::GetInstance()->listeners().Append(made);
      return made;
    }();
    return *warm;
  }
  std::unique_ptr<TrainerProcess> Take(const Flags& flags) {
    std::vector<std::unique_ptr<TrainerProcess>>& idle = idle_[flags];
    if (uses_ == 0 || idle.empty()) return std::make_unique<TrainerProcess>(flags);
    std::unique_ptr<TrainerProcess> taken = std::move(idle.back());
    idle.pop_back();
    return taken;
  }
  // Ends a process that does not become idle soon after its attempt's end.
  void Leave(const Flags& flags, std::unique_ptr<TrainerProcess> process) {
    if (uses_ == 0 || !process->AwaitIdle(kIdlePatience)) return;
    TrainerLogs::Get().Add(process->LogTail());
    idle_[flags].push_back(std::move(process));
  }

 private:
  static constexpr std::chrono::seconds kIdlePatience{5};
  void OnTestProgramEnd(const ::testing::UnitTest& /*unit*/) override { idle_.clear(); }

  int uses_ = 0;
  std::map<Flags, std::vector<std::unique_ptr<TrainerProcess>>> idle_;
};

// Processes that train one attempt after another.
class TrainerGang {
 public:
  explicit TrainerGang(int ranks, const std::vector<std::string>& flags = {"--threads", "1"})
      : flags_(flags) {
    for (int r = 0; r < ranks; ++r) ranks_.push_back(WarmTrainers::Get().Take(flags_));
  }
  ~TrainerGang() {
    if (of_own_commands_) return;
    for (auto& rank : ranks_) {
      if (!rank->ended()) WarmTrainers::Get().Leave(flags_, std::move(rank));
    }
  }
  TrainerGang(const TrainerGang&) = delete;
  TrainerGang& operator=(const TrainerGang&) = delete;
  // Starts a rank inside each of these commands.
  explicit TrainerGang(const std::vector<std::vector<std::string>>& within)
      : of_own_commands_(true) {
    for (const std::vector<std::string>& command : within) {
      ranks_.push_back(
          std::make_unique<TrainerProcess>(std::vector<std::string>{"--threads", "1"}, command));
    }
  }

  TrainerProcess& rank(int r) { return *ranks_.at(r); }

  // Called for every frame of rank 0, so that the test can interfere.
  using Watch = std::function<void(TrainerGang&, const frames::FromTrainer&)>;
  // Called repeatedly meanwhile, for events without a frame.
  using Look = std::function<void(const Told&)>;
  Told Run(const frames::Start& start, const Watch& watch = {}, const Look& look = {}) {
    broken_.reset();
    token_ = start.token + "-" + std::to_string(++attempts);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      frames::Start mine = start;
      mine.spec = Resolved(start.spec);
      mine.token = token_;
      mine.rank = static_cast<int32_t>(r);
      mine.world_size = static_cast<int32_t>(ranks_.size());
      mine.data_address = "127.0.0.1";
      ranks_[r]->Send(mine);
    }
    Told told;
    told.ends.resize(ranks_.size());
    const auto until = std::chrono::steady_clock::now() + kTrainingPatience;
    while (Pending(told) && std::chrono::steady_clock::now() < until) {
      Turn(told, watch);
      if (look) look(told);
      KillThoseLeftBehind(told);
    }
    EXPECT_FALSE(Pending(told)) << "the attempt did not end in time";
    EXPECT_TRUE(answer_ || told.missing.empty()) << "a rank other than 0 reported rows";
    return told;
  }
  // Waits until each process is ready, as an agent does before the next attempt; starts another one
  // if it left.
  void AwaitReady() {
    const auto until = std::chrono::steady_clock::now() + kTrainingPatience;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r]->AwaitIdle(until - std::chrono::steady_clock::now());
      EXPECT_TRUE(ranks_[r]->idle() || ranks_[r]->ended());
      if (ranks_[r]->ended()) ranks_[r] = std::make_unique<TrainerProcess>(flags_);
    }
  }
  void DropRank(int r) { ranks_.erase(ranks_.begin() + r); }
  // Sends a stop to one rank during Run.
  void Stop(int r, bool checkpoint) { ranks_.at(r)->Send(frames::Stop{token_, checkpoint}); }
  void StopAll(bool checkpoint) {
    for (size_t r = 0; r < ranks_.size(); ++r) Stop(static_cast<int>(r), checkpoint);
  }
  // Orders a rank that holds the state of its gang to save it.
  void Rescue(int r, uint64_t rows_after, const std::string& meet_at) {
    ranks_.at(r)->Send(frames::Rescue{token_, rows_after, meet_at});
  }
  // Calls `answer` for each rank that holds the state of its broken gang. Without this it has to
  // leave.
  using Answer = std::function<void(const Told& told, int rank, const frames::Holds& holds)>;
  void AnswerHolds(Answer answer) { answer_ = std::move(answer); }
  // Registers no checkpoint beyond this step, as if the coordinator were away.
  void RegisterUpTo(uint64_t step) { register_up_to_ = step; }

 private:
  // Waits for the other members once one has failed, and then kills them. An agent would stop them;
  // here tests look at what they notice by themselves. A test whose ranks would go on sends the
  // stop.
  void KillThoseLeftBehind(const Told& told) {
    const auto now = std::chrono::steady_clock::now();
    bool broken = false;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      broken = broken || ranks_[r]->ended() || (told.ends[r] && told.ends[r]->cause != "finished");
    }
    if (!broken) {
      broken_.reset();
      return;
    }
    if (!broken_) {
      broken_ = now;
      if (answer_) TellOfLoss();
    } else if (now > *broken_ + kAbandonPatience) {
      for (size_t r = 0; r < ranks_.size(); ++r) {
        if (!told.ends[r] && !ranks_[r]->ended()) kill(ranks_[r]->pid(), SIGKILL);
      }
    }
  }
  // Ends every wait for the lost peer, as the coordinator does before it lets a survivor save.
  void TellOfLoss() {
    for (const auto& rank : ranks_) {
      if (!rank->ended()) rank->SendIfAlive(frames::PeerLost{token_});
    }
  }
  bool Pending(const Told& told) const {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (!told.ends[r] && !ranks_[r]->ended()) return true;
    }
    return false;
  }
  void Turn(Told& told, const Watch& watch) {
    std::vector<pollfd> waiting;
    for (const auto& rank : ranks_) {
      waiting.push_back({rank->ended() ? -1 : rank->fd(), POLLIN, 0});
    }
    poll(waiting.data(), waiting.size(), 100);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (const frames::FromTrainer& frame : ranks_[r]->Receive()) {
        Note(static_cast<int>(r), frame, told);
        if (r == 0 && watch) watch(*this, frame);
      }
    }
  }
  void Note(int r, const frames::FromTrainer& frame, Told& told) {
    if (const auto* store = std::get_if<frames::StoreUp>(&frame)) {
      for (size_t peer = 1; peer < ranks_.size(); ++peer) {
        if (!ranks_[peer]->ended()) ranks_[peer]->Send(frames::Connect{token_, store->address});
      }
    }
    if (const auto* saved = std::get_if<frames::CheckpointDone>(&frame)) {
      if (saved->step <= register_up_to_) {
        ranks_[r]->Send(frames::Registered{token_, saved->step});
      }
    }
    if (const auto* holds = std::get_if<frames::Holds>(&frame)) {
      if (answer_) {
        answer_(told, r, *holds);
      } else {
        Stop(r, /*checkpoint=*/false);
      }
    }
    if (const auto* end = std::get_if<frames::End>(&frame)) {
      EXPECT_EQ(end->token, token_);
    }
    told.Note(r, frame);
  }

  const std::vector<std::string> flags_;
  std::vector<std::unique_ptr<TrainerProcess>> ranks_;
  std::string token_;
  static inline int attempts = 0;  // of all gangs: processes go from one to another
  const bool of_own_commands_ = false;
  uint64_t register_up_to_ = UINT64_MAX;
  Answer answer_;
  std::optional<std::chrono::steady_clock::time_point> broken_;
};

// Calls `act` once rank 0 has made this step.
inline TrainerGang::Watch AfterStep(int step, std::function<void(TrainerGang&)> act) {
  return [step, act = std::move(act)](TrainerGang& gang, const frames::FromTrainer& frame) {
    const auto* done = std::get_if<frames::StepDone>(&frame);
    if (done != nullptr && done->row.at("step").get<int>() == step) act(gang);
  };
}
inline TrainerGang::Watch KillAfterStep(int step, int rank) {
  return AfterStep(step, [rank](TrainerGang& gang) { kill(gang.rank(rank).pid(), SIGKILL); });
}

}  // namespace dt::testing
