// program_fixture.h: dtprogram with real programs; the test plays its agent.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "checkpoint/checkpoint.h"
#include "common/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"
#include "worker/frames/frames.h"

namespace dt {

namespace fs = std::filesystem;
using testing::Await;
using testing::ProcessAlive;

inline constexpr char kToken[] = "0123";

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    log_ =
        UniqueFd(open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    fs::create_directory(folder_ / "run");
    StartRunner();
  }
  // Starts dtprogram, and waits until it is idle.
  void StartRunner() {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    link_ = UniqueFd(fcntl(ends[0], F_DUPFD_CLOEXEC, 10));
    const UniqueFd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
    close(ends[0]);
    close(ends[1]);
    const UniqueFd log(fcntl(log_.get(), F_DUPFD_CLOEXEC, 10));
    unread_.clear();
    frames_.clear();
    runner_ = testing::ChildProcess(
        {.path = DTPROGRAM,
         .arguments = {"--lock", folder_ / "lock", "--scratch", folder_ / "run/scratch",
                       "--threads", "3", "--environments", folder_ / "environments"},
         .environment = Variables(),
         .descriptors = {{log.get(), 1}, {log.get(), 2}, {theirs.get(), 3}},
         .group = ProcessGroup::kOwn});
    ASSERT_TRUE(AwaitFrame<frames::Idle>());
    frames_.clear();
  }
  void TearDown() override {
    if (HasFailure()) std::cerr << "its log:\n" << Log();
    link_.Reset();
    runner_.AwaitExit();
  }

  // Returns the variables of dtprogram, as its worker has them.
  virtual Environment Variables() const { return EnvironmentWith({}); }
  frames::Start StartOf(const nlohmann::json& spec, int rank = 0, int world_size = 1) {
    frames::Start start;
    start.token = kToken;
    start.experiment = 7;
    start.trial = 3;
    start.attempt = 1;
    start.rank = rank;
    start.world_size = world_size;
    start.spec = spec;
    start.storage = folder_ / "storage";
    start.data_address = "127.0.0.1";
    return start;
  }
  void Run(const std::string& script, const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json spec = more;
    spec["run"] = script;
    Say(StartOf(spec));
  }
  void Say(const frames::ToTrainer& frame) {
    const std::string line = frames::ToLine(frame) + "\n";
    ASSERT_EQ(send(link_.get(), line.data(), line.size(), MSG_NOSIGNAL), std::ssize(line));
  }
  void Hear() {
    char chunk[65536];
    for (ssize_t got; (got = recv(link_.get(), chunk, sizeof(chunk), MSG_DONTWAIT)) > 0;) {
      unread_.append(chunk, static_cast<size_t>(got));
    }
    for (size_t end; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
      auto parsed = frames::ParseFromTrainer(unread_.substr(0, end));
      ASSERT_TRUE(std::holds_alternative<frames::FromTrainer>(parsed)) << unread_.substr(0, end);
      frames_.push_back(std::get<frames::FromTrainer>(parsed));
    }
  }
  template <typename Frame>
  const Frame* Find() const {
    for (const frames::FromTrainer& frame : frames_) {
      if (const auto* found = std::get_if<Frame>(&frame)) return found;
    }
    return nullptr;
  }
  template <typename Frame>
  std::vector<Frame> All() const {
    std::vector<Frame> all;
    for (const frames::FromTrainer& frame : frames_) {
      if (const auto* found = std::get_if<Frame>(&frame)) all.push_back(*found);
    }
    return all;
  }
  template <typename Frame>
  bool AwaitFrame() {
    return Await([this] {
      Hear();
      return Find<Frame>() != nullptr;
    });
  }
  // Waits until the program is idle, and returns its end.
  frames::End AwaitEnd() {
    EXPECT_TRUE(AwaitFrame<frames::Idle>());
    const auto* end = Find<frames::End>();
    EXPECT_NE(end, nullptr);
    return end == nullptr ? frames::End{} : *end;
  }
  bool AwaitFile(const std::string& name) {
    return Await([&] { return fs::exists(folder_ / name); });
  }
  pid_t PidIn(const std::string& name) const {
    pid_t pid = 0;
    std::ifstream(folder_ / name) >> pid;
    return pid;
  }
  std::string Log() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string In(const std::string& name) const { return "'" + (folder_ / name) + "'"; }
  // Returns a shell script that starts a daemon: a process in another session, whose parent ends.
  std::string Daemon() const {
    return "setsid sh -c 'echo $$ > " + (folder_ / "d.tmp") + "; mv " + (folder_ / "d.tmp") + " " +
           (folder_ / "daemon") + "; exec tail -f /dev/null' &\n";
  }

  const testing::TempFolder folder_;
  UniqueFd link_, log_;
  testing::ChildProcess runner_;
  std::string unread_;
  std::vector<frames::FromTrainer> frames_;
};

}  // namespace dt
