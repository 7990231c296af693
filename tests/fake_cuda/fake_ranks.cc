// fake_ranks.cc: forks the ranks; each writes a file of counts.
#include "tests/fake_cuda/fake_ranks.h"

#include <sys/wait.h>
#include <torch/library.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <utility>

#include "tests/fake_cuda/counted.h"
#include "tests/gpu/device_fixture.h"
#include "tests/testing/await.h"

namespace dt::fake_cuda {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepCounts, work, waits, allocations, collectives)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankCounts, cause, message, steps, collectives, faults, last_row)

namespace {

constexpr std::chrono::seconds kGangPatience{240};

std::string Described(const Call& call) {
  return call.what + " of " + std::to_string(call.bytes) + " bytes";
}

StepCounts CountsOf(const std::vector<Call>& calls) {
  StepCounts counts;
  counts.work = CountIf(calls, IsWork);
  counts.allocations = CountOf(calls, Kind::kAllocation);
  for (const Call& call : calls) {
    if (call.kind == Kind::kCollective) counts.collectives.push_back(Described(call));
    if (call.kind == Kind::kWait || call.pageable) counts.waits.push_back(Described(call));
  }
  return counts;
}

// Rank 0 writes the address of its store into the pipes of all others.
using Pipes = std::vector<std::array<int, 2>>;

class RankConversation final : public trainer::RecordedConversation {
 public:
  RankConversation(const Pipes& pipes, int rank, int sync_every)
      : pipes_(pipes), rank_(rank), sync_every_(sync_every) {
    on_question = [this](int) { CountQuestion(); };
  }
  void Say(const frames::FromTrainer& frame) override {
    if (const auto* store = std::get_if<frames::StoreUp>(&frame)) {
      for (const auto& pipe : pipes_) {
        const std::string line = store->address + "\n";
        EXPECT_EQ(write(pipe[1], line.data(), line.size()), std::ssize(line));
      }
    }
    if (std::holds_alternative<frames::Running>(frame)) runs_ = true;
    RecordedConversation::Say(frame);
  }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds) override {
    std::string address;
    for (char c; read(pipes_.at(static_cast<size_t>(rank_))[0], &c, 1) == 1 && c != '\n';) {
      address += c;
    }
    return address;
  }

  RankCounts Result() {
    Take();
    counts_.cause = told.Cause();
    counts_.message = told.Message();
    if (!told.rows.empty()) counts_.last_row = told.rows.back();
    return counts_;
  }

 private:
  // The attempt asks before each step, and once more after a step that makes ranks equal.
  void CountQuestion() {
    if (!runs_) return;
    const bool equal = sync_every_ > 0 && step_ > 0 && step_ % sync_every_ == 0;
    if (equal && !std::exchange(asked_of_save_, true)) return;
    asked_of_save_ = false;
    const StepCounts counts = Take();
    if (step_++ > 0) counts_.steps.push_back(counts);
  }
  StepCounts Take() {
    const std::vector<Call> calls = TakeCalls();
    for (const Call& call : calls) {
      if (call.kind == Kind::kFault) counts_.faults.push_back(call.what);
    }
    StepCounts counts = CountsOf(calls);
    counts_.collectives.insert(counts_.collectives.end(), counts.collectives.begin(),
                               counts.collectives.end());
    return counts;
  }

  const Pipes& pipes_;
  const int rank_, sync_every_;
  bool runs_ = false, asked_of_save_ = false;
  int step_ = 0;
  RankCounts counts_;
};

// Initial parameters do not matter here; drawing billions of them would take minutes.
at::Tensor& DrawNothing(at::Tensor& self, double, double, std::optional<at::Generator>) {
  return self;
}

void TrainAsRank(const frames::Start& start, const Pipes& pipes, int sync_every,
                 const std::string& file) {
  torch::Library draws(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
  draws.impl("normal_", DrawNothing);
  RankConversation conversation(pipes, start.rank, sync_every);
  const auto& device = trainer::Opened("cuda:0");
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().ToString().c_str());
    _exit(1);
  }
  trainer::RunAttempt(start, **device, conversation, {});
  std::ofstream(file) << nlohmann::json(conversation.Result());
  // Runs no destructor of the process from which this one was forked.
  _exit(0);
}

bool HasEnded(pid_t& process) {
  if (process > 0 && waitpid(process, nullptr, WNOHANG) == process) process = 0;
  return process == 0;
}

}  // namespace

std::vector<RankCounts> TrainOnFakeRanks(const frames::Start& start, int ranks, int sync_every) {
  const testing::TempFolder folder;
  const auto file = [&](int rank) { return folder / ("rank" + std::to_string(rank)); };
  Pipes pipes(static_cast<size_t>(ranks));
  for (auto& pipe : pipes) EXPECT_EQ(::pipe(pipe.data()), 0);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    frames::Start mine = start;
    mine.rank = rank;
    mine.world_size = ranks;
    mine.data_address = "127.0.0.1";
    TrainAsRank(mine, pipes, sync_every, file(rank));
  }
  for (const auto& pipe : pipes) {
    for (const int end : pipe) close(end);
  }
  const auto all_ended = [&] {
    bool all = true;
    for (pid_t& process : processes) all = HasEnded(process) && all;
    return all;
  };
  const bool in_time = testing::Await(all_ended, kGangPatience);
  std::vector<RankCounts> counts;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t& process = processes[static_cast<size_t>(rank)];
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    const nlohmann::json read =
        nlohmann::json::parse(std::ifstream(file(rank)), nullptr, /*allow_exceptions=*/false);
    counts.push_back(read.is_object() ? read.get<RankCounts>() : RankCounts());
    if (!read.is_object()) counts.back().cause = in_time ? "gone" : "hung";
  }
  return counts;
}

}  // namespace dt::fake_cuda
