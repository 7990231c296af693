// measure.cc: buffers, rounds and timing around the collectives of parallel/.
#include "worker/trainer/network/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <utility>

#include "common/network_bench.h"
#include "common/text.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/link/cause.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/shared_buckets.h"
#include "worker/trainer/parallel/shared_rows.h"
#include "worker/trainer/parallel/swap.h"
#include "worker/trainer/parallel/transfer.h"
#include "worker/trainer/run/membership.h"

namespace dt::trainer {
namespace {

using Clock = std::chrono::steady_clock;

// Length of one round of operations in a row: long compared with the time to start them together.
constexpr double kRoundSeconds = 0.05;
constexpr double kRepeatsMax = 200;
constexpr auto kTellEvery = std::chrono::seconds(1);

double SecondsSince(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

std::vector<std::string> CommandOf(const frames::Start& start) {
  const auto command = start.spec.find("command");
  if (command == start.spec.end() || !command->is_array()) return {};
  std::vector<std::string> words;
  for (const auto& word : *command) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

// An operation on a buffer along an axis; `once` runs it once.
struct Timed {
  CollectiveOp op;
  Axis axis;
  std::string over;
  uint64_t bytes = 0;
  std::function<absl::Status()> once;
};

class Measurement {
 public:
  Measurement(const frames::Start& start, Device& device, Conversation& conversation)
      : start_(start), device_(device), conversation_(conversation) {}
  ~Measurement() { conversation_.AbortWith({}); }

  frames::End Run();

 private:
  absl::Status Go();
  // Shares memory between the ranks of a host, large enough for the largest buffer, where training
  // would do so.
  void ShareMemory(Axis axis);
  absl::Status MeasureOp(CollectiveOp op, Axis axis, uint64_t bytes);
  // Returns whether training would run this operation in shared memory.
  bool IsShared(CollectiveOp op, Axis axis) const;
  Timed InMemory(CollectiveOp op, Axis axis, int64_t part);
  Timed OverBackend(CollectiveOp op, Axis axis, int64_t part);
  // Returns whether every rank of the axis has a partner.
  bool Pairs(Axis axis) const { return mesh_->size(axis) % 2 == 0; }
  absl::Status MeasureRounds(const Timed& timed);
  // Runs `repeats` operations in a row on all ranks, started together. Returns the seconds of one,
  // on the slowest rank.
  absl::StatusOr<double> Round(const Timed& timed, int repeats);
  void Tell(const Timed& timed, std::vector<double> seconds);
  std::vector<Axis> Axes() const;
  uint32_t HostsAlong(Axis axis) const;

  const frames::Start& start_;
  Device& device_;
  Conversation& conversation_;
  NetworkBench bench_;
  int of_host_ = 0;  // ranks per host; 0: no groups within and between hosts
  std::shared_ptr<Mesh> mesh_ = std::make_shared<Mesh>();
  std::shared_ptr<Timeline> timeline_;
  std::shared_ptr<CommTimes> times_;
  std::map<Axis, std::shared_ptr<HostReduce>> shared_;
  uint64_t planned_ = 0, done_ = 0;
  Clock::time_point told_{};
};

frames::End Measurement::Run() {
  absl::Status result = Guarded([&] { return Go(); });
  if (!result.ok() && conversation_.CurrentStopRequest() != StopRequest::kNone &&
      (result.code() == kCancelledError || result.code() == kCollectiveError)) {
    result = CancelledError("stopped after " + std::to_string(done_) + " of " +
                            std::to_string(planned_) + " measurements");
  }
  if (!result.ok() && result.code() == kOutOfMemoryError) {
    result = OutOfMemoryError(DescribeOutOfMemory(
        std::string(result.message()), device_.Facts().memory_bound,
        "rank " + std::to_string(start_.rank) + " of " + std::to_string(start_.world_size)));
  }
  frames::End end;
  end.token = start_.token;
  end.step = done_;
  end.cause = CauseWord(result);
  end.message = std::string(result.message());
  std::fprintf(stderr, "%s after %llu of %llu measurements%s%s\n", end.cause.c_str(),
               static_cast<unsigned long long>(done_), static_cast<unsigned long long>(planned_),
               end.message.empty() ? "" : ": ", end.message.c_str());
  // Report before the group ends: the cause must not arrive after its symptoms.
  conversation_.Say(end);
  if (!result.ok()) mesh_->Abort();
  return end;
}

absl::Status Measurement::Go() {
  const absl::StatusOr<NetworkBench> bench = ParseNetworkBench(CommandOf(start_));
  if (!bench.ok()) return ConfigError(std::string(bench.status().message()));
  bench_ = *bench;
  if (start_.world_size < 2) return ConfigError("a network measurement needs at least 2 ranks");
  frames::Prepared prepared;
  prepared.token = start_.token;
  conversation_.Say(prepared);

  of_host_ = RanksOfEachHost(start_.node_ranks);
  TrialSpec shape;
  shape.sharing = of_host_ > 0 ? Sharing::kHsdp : Sharing::kDdp;
  shape.shard = of_host_;
  DT_RETURN_IF_ERROR(Meet(start_, shape, device_, conversation_, {}, mesh_));
  timeline_ = device_.NewTimeline();
  times_ = std::make_shared<CommTimes>(timeline_);
  const std::vector<Axis> axes = Axes();
  for (const Axis axis : axes) ShareMemory(axis);
  for (const Axis axis : axes) {
    for (const CollectiveOp op : bench_.ops) {
      const int ways = (op == CollectiveOp::kSend && !Pairs(axis) ? 0 : 1) + IsShared(op, axis);
      planned_ += bench_.sizes.size() * static_cast<size_t>(ways);
    }
  }
  conversation_.Say(frames::Running{start_.token, 0});
  for (const Axis axis : axes) {
    for (const CollectiveOp op : bench_.ops) {
      for (const uint64_t bytes : bench_.sizes) {
        DT_RETURN_IF_ERROR(MeasureOp(op, axis, bytes));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<Axis> Measurement::Axes() const {
  if (of_host_ > 0) return {Axis::kData, Axis::kShard, Axis::kReplicate};
  return {Axis::kData};
}

uint32_t Measurement::HostsAlong(Axis axis) const {
  if (axis == Axis::kShard) return 1;
  const std::set<int32_t> hosts(start_.node_ranks.begin(), start_.node_ranks.end());
  return static_cast<uint32_t>(std::max<size_t>(1, hosts.size()));
}

void Measurement::ShareMemory(Axis axis) {
  const auto in_memory = [](CollectiveOp op) {
    return op != CollectiveOp::kBroadcast && op != CollectiveOp::kSend;
  };
  if (std::none_of(bench_.ops.begin(), bench_.ops.end(), in_memory)) return;
  const auto floats = static_cast<int64_t>(bench_.sizes.back() / sizeof(float)) + 1;
  // Room for one part per rank of the axis; the last part may be padded.
  const int64_t room = floats + mesh_->size(axis);
  if (auto reduce = mesh_->group(axis)->ShareMemory(SharedFloats(room))) shared_[axis] = reduce;
}

absl::Status Measurement::MeasureOp(CollectiveOp op, Axis axis, uint64_t bytes) {
  const auto ranks = static_cast<uint64_t>(mesh_->size(axis));
  const uint64_t floats = std::max<uint64_t>(1, bytes / sizeof(float));
  const auto part = static_cast<int64_t>((floats + ranks - 1) / ranks);
  if (IsShared(op, axis)) DT_RETURN_IF_ERROR(MeasureRounds(InMemory(op, axis, part)));
  if (op == CollectiveOp::kSend && !Pairs(axis)) return absl::OkStatus();
  return MeasureRounds(OverBackend(op, axis, part));
}

bool Measurement::IsShared(CollectiveOp op, Axis axis) const {
  const auto found = shared_.find(axis);
  if (found == shared_.end()) return false;
  // All-reduce also sums across hosts; operations on shards stay within one host.
  if (op == CollectiveOp::kAllReduce) return true;
  return (op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter) &&
         HostsAlong(axis) == 1 && found->second->memory()->shape().ranks == mesh_->size(axis);
}

Timed Measurement::InMemory(CollectiveOp op, Axis axis, int64_t part) {
  const std::shared_ptr<HostReduce> reduce = shared_.at(axis);
  const int ranks = mesh_->size(axis);
  const auto whole = static_cast<size_t>(part * ranks);
  Timed timed{op, axis, "shared_memory", whole * sizeof(float), {}};
  if (op == CollectiveOp::kAllReduce) {
    timed.once = [=] { return reduce->Average(reduce->Post(), 0, whole); };
    return timed;
  }
  float* const mine = reduce->memory()->Part(reduce->rank());
  const bool gathers = op == CollectiveOp::kAllGather;
  const at::Tensor out = at::empty({gathers ? part * ranks : part}, at::kFloat).zero_();
  timed.once = [=]() -> absl::Status {
    DT_RETURN_IF_ERROR(reduce->AwaitPosts(reduce->Post()));
    float* const to = out.mutable_data_ptr<float>();
    if (!gathers) SumShares(*reduce, mine + reduce->rank() * part, part, to);
    for (int rank = 0; gathers && rank < ranks; ++rank) {
      std::copy_n(PlaceOf(*reduce, rank, mine), part, to + rank * part);
    }
    return absl::OkStatus();
  };
  return timed;
}

Timed Measurement::OverBackend(CollectiveOp op, Axis axis, int64_t part) {
  const std::shared_ptr<Group>& group = mesh_->group(axis);
  const Route route{axis, group, timeline_, times_};
  const auto numbers = at::TensorOptions(at::kFloat).device(device_.Torch());
  const int64_t count = part * group->size();
  // Write to the buffer, so that it has pages of its own.
  const at::Tensor whole = at::empty({count}, numbers).zero_();
  const at::Tensor mine = whole.narrow(0, part * group->rank(), part);
  Timed timed{op, axis, device_.Torch().is_cpu() ? "gloo" : "nccl", whole.nbytes(), {}};
  const auto wait = [](Transfer transfer) {
    transfer.Wait(CommTimes::During::kUpdate);
    return absl::OkStatus();
  };
  switch (op) {
    case CollectiveOp::kAllReduce:
      timed.once = [=] { return wait(Transfers::AllReduce(route, whole)); };
      break;
    case CollectiveOp::kAllGather:
      timed.once = [=] { return wait(Transfers::AllGather(route, whole, mine)); };
      break;
    case CollectiveOp::kReduceScatter: {
      const at::Tensor received = at::empty({Transfers::ReceivedBy(route, whole)}, numbers).zero_();
      timed.once = [=] {
        const absl::Status waited = wait(Transfers::ReduceScatter(route, whole, received));
        Transfers::Sum(route, received, part);
        return waited;
      };
      break;
    }
    case CollectiveOp::kBroadcast:
      timed.once = [=] {
        group->BroadcastFromRoot({whole});
        return absl::OkStatus();
      };
      break;
    case CollectiveOp::kSend: {
      // Partners exchange buffers, as pipeline stages and gossiping ranks do.
      const std::shared_ptr<Swapper> swapper = MakeSwapper(route, device_.Torch());
      const at::Tensor theirs = at::empty({count}, numbers).zero_();
      const int peer = group->rank() ^ 1;
      timed.once = [=] {
        swapper->Begin(peer, whole, theirs)->Wait();
        return absl::OkStatus();
      };
      break;
    }
    case CollectiveOp::kReceive:
      break;  // ParseNetworkBench does not accept it
  }
  return timed;
}

absl::StatusOr<double> Measurement::Round(const Timed& timed, int repeats) {
  if (conversation_.CurrentStopRequest() != StopRequest::kNone) return CancelledError("stopped");
  times_->Restart();
  timeline_->Restart();
  mesh_->Gather(Axis::kWorld, {0});
  device_.Synchronize();
  const Clock::time_point from = Clock::now();
  for (int i = 0; i < repeats; ++i) DT_RETURN_IF_ERROR(timed.once());
  device_.Synchronize();
  const double mine = SecondsSince(from) / repeats;
  double slowest = 0;
  for (const std::vector<double>& rank : mesh_->Gather(Axis::kWorld, {mine})) {
    slowest = std::max(slowest, rank[0]);
  }
  mesh_->RequireIntact();
  return slowest;
}

absl::Status Measurement::MeasureRounds(const Timed& timed) {
  at::NoGradGuard no_grad;
  DT_RETURN_IF_ERROR(Round(timed, 1).status());  // opens connections and touches pages
  DT_ASSIGN_OR_RETURN(const double one, Round(timed, 1));
  // Same value on every rank, since `one` is the slowest rank's time.
  const int repeats = static_cast<int>(std::clamp(kRoundSeconds / one, 1.0, kRepeatsMax));
  std::vector<double> seconds;
  for (int round = 0; round < bench_.rounds; ++round) {
    DT_ASSIGN_OR_RETURN(const double each, Round(timed, repeats));
    seconds.push_back(each);
  }
  ++done_;
  if (start_.rank == 0) Tell(timed, std::move(seconds));
  return absl::OkStatus();
}

void Measurement::Tell(const Timed& timed, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t middle = seconds.size() / 2;
  frames::NetworkFigure figure;
  figure.op = std::string(WordOf(timed.op));
  figure.axis = std::string(kTimedAxes[static_cast<size_t>(timed.axis)]);
  figure.over = timed.over;
  figure.ranks = static_cast<uint32_t>(mesh_->size(timed.axis));
  figure.hosts = HostsAlong(timed.axis);
  figure.bytes = timed.bytes;
  figure.rounds = static_cast<uint32_t>(seconds.size());
  figure.seconds =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  figure.least_seconds = seconds.front();
  figure.most_seconds = seconds.back();
  const double bus = BusFactor(figure.op, figure.ranks) * static_cast<double>(timed.bytes) /
                     std::max(figure.seconds, 1e-9);
  std::fprintf(stderr, "%s %s, %u ranks, %s over %s: %.3f ms, bus %.3f GB/s\n", figure.op.c_str(),
               figure.axis.c_str(), figure.ranks,
               FormatBytes(static_cast<double>(figure.bytes)).c_str(), figure.over.c_str(),
               1e3 * figure.seconds, bus / 1e9);
  frames::Eval eval;
  eval.token = start_.token;
  eval.step = done_;
  eval.loss = std::numeric_limits<double>::quiet_NaN();
  eval.metrics = {{"bus_bandwidth", bus}};
  eval.network = figure;
  conversation_.Say(eval);
  if (Clock::now() - told_ < kTellEvery && done_ < planned_) return;
  told_ = Clock::now();
  frames::Progress progress;
  progress.token = start_.token;
  progress.step = done_;
  progress.share = static_cast<double>(done_) / static_cast<double>(planned_);
  conversation_.Say(progress);
}

}  // namespace

bool MeasuresNetwork(const frames::Start& start) { return IsNetworkBench(CommandOf(start)); }

int RanksOfEachHost(const std::vector<int32_t>& nodes) {
  const auto ranks = static_cast<int>(nodes.size());
  const auto of_first = static_cast<int>(std::count(nodes.begin(), nodes.end(), 0));
  if (of_first < 2 || of_first == ranks || ranks % of_first != 0) return 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (nodes[static_cast<size_t>(rank)] != rank / of_first) return 0;
  }
  return of_first;
}

AttemptOutcome MeasureNetwork(const frames::Start& start, Device& device,
                              Conversation& conversation) {
  auto measurement = std::make_unique<Measurement>(start, device, conversation);
  AttemptOutcome outcome{measurement->Run(), {}};
  outcome.freed = Guarded([&]() -> absl::Status {
    measurement.reset();
    if (outcome.end.cause != "finished") device.Synchronize();
    return device.ReleaseMemory();
  });
  return outcome;
}

}  // namespace dt::trainer
