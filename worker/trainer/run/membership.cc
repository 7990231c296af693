// membership.cc: see membership.h.
#include "worker/trainer/run/membership.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "absl/strings/str_cat.h"
#include "common/rescue_limits.h"
#include "worker/trainer/parallel/alone_strategy.h"
#include "worker/trainer/parallel/ddp.h"
#include "worker/trainer/parallel/gossip.h"
#include "worker/trainer/parallel/local_sgd.h"
#include "worker/trainer/parallel/pipeline_strategy.h"
#include "worker/trainer/parallel/sharded.h"
#include "worker/trainer/parallel/tensor_strategy.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/trial/flops.h"

namespace dt::trainer {

namespace {

// Returns the mesh's shape. Prepare has refused sizes that cannot be divided.
MeshShape ShapeOf(const TrialSpec& spec, int ranks) {
  MeshShape shape;
  shape.tensor = static_cast<int>(spec.tensor);
  shape.pipeline = static_cast<int>(spec.pipeline);
  shape.ends = spec.model.tie_head;
  shape.wraps = spec.ChunksEach() > 1;
  const int data_ranks = ranks / (shape.tensor * shape.pipeline);
  switch (spec.sharing) {
    case Sharing::kDdp:
    case Sharing::kLocalSgd:
    case Sharing::kGossip:
      shape.replicate = data_ranks;
      break;
    case Sharing::kHsdp:
      shape.shard = std::max(1, static_cast<int>(spec.shard));
      shape.replicate = data_ranks / shape.shard;
      break;
    case Sharing::kZero1:
    case Sharing::kZero2:
    case Sharing::kZero3:
      shape.shard = data_ranks;
      break;
  }
  return shape;
}

StagePart StageOf(const TrialSpec& spec, const Mesh& mesh) {
  if (mesh.group(Axis::kPipeline) == nullptr) return {};
  return StagePart(SizeOf(spec.model), mesh.size(Axis::kPipeline),
                   static_cast<int>(spec.ChunksEach()), mesh.rank(Axis::kPipeline));
}

at::ScalarType TypeOf(Wire wire) {
  switch (wire) {
    case Wire::kFp32:
      return at::kFloat;
    case Wire::kBf16:
      return at::kBFloat16;
    case Wire::kFp16:
      return at::kHalf;
  }
  return at::kFloat;
}

at::ScalarType ProductsOf(const TrialSpec& spec, c10::Device device) {
  return AutocastType(ResolveCompute(spec.compute, device.type())).value_or(at::kFloat);
}

std::shared_ptr<Compressor> MakeCompressor(const TrialSpec& spec, int ranks) {
  switch (spec.compression) {
    case Compression::kNone:
    case Compression::kAuto:
      return nullptr;
    case Compression::kPowerSgd:
      return std::make_shared<PowerSgd>(ranks, spec.rank, static_cast<uint64_t>(spec.seed));
    case Compression::kTopK:
      return std::make_shared<TopK>(ranks, spec.share);
  }
  return nullptr;
}

}  // namespace

std::string ListenHost(const frames::Start& start) {
  return start.data_address.empty() ? "127.0.0.1" : start.data_address;
}

absl::Status Meet(const frames::Start& start, const TrialSpec& spec, Device& device,
                  Conversation& conversation, const AttemptOptions& options,
                  const std::shared_ptr<Mesh>& mesh) {
  if (start.world_size == 1 && options.alone == AttemptOptions::Alone::kPlain)
    return absl::OkStatus();
  const std::string listen = ListenHost(start);
  mesh->Prepare(device,
                {.rank = start.rank,
                 .size = start.world_size,
                 .key_prefix = start.token,
                 .listen_host = listen},
                ShapeOf(spec, start.world_size));
  // Allow aborts from here on, because a rank may wait long for peers that never come.
  conversation.AbortWith([mesh] { mesh->Abort(); });
  Rendezvous meeting;
  if (start.rank == 0 && start.store_address.empty()) {
    DT_ASSIGN_OR_RETURN(meeting, HostStore(listen, options.store_port));
    conversation.Say(frames::StoreUp{start.token, meeting.address});
  } else {
    DT_ASSIGN_OR_RETURN(const std::string address,
                        conversation.AwaitStoreAddress(kRendezvousTimeout));
    DT_ASSIGN_OR_RETURN(meeting, ConnectStore(address, [&conversation] {
                          return conversation.CurrentStopRequest() != StopRequest::kNone;
                        }));
  }
  return mesh->Join(device, meeting);
}

ReplicaShape ReplicasOf(const TrialSpec& spec, int ranks) {
  const MeshShape shape = ShapeOf(spec, ranks);
  return {shape.replicate, shape.shard, shape.tensor, shape.pipeline};
}

std::shared_ptr<Mesh> PrepareReplica(const frames::Start& start, const TrialSpec& spec,
                                     Device& device) {
  const ReplicaShape replicas = ReplicasOf(spec, start.world_size);
  const std::vector<int32_t> ranks = RanksOf(replicas, ReplicaOf(replicas, start.rank));
  MeshShape shape = ShapeOf(spec, start.world_size);
  shape.replicate = 1;
  GroupOptions options{
      .rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), start.rank) - ranks.begin()),
      .size = static_cast<int>(ranks.size()),
      .key_prefix = absl::StrCat(start.token, "/replica"),
      .listen_host = ListenHost(start)};
  options.join_timeout = absl::ToChronoMilliseconds(limits::kReplicaPatience);
  // The others also wait while the first rank writes.
  if (options.rank == 0) options.timeout = options.join_timeout;
  auto mesh = std::make_shared<Mesh>();
  mesh->Prepare(device, options, shape);
  return mesh;
}

absl::Status MeetReplica(const std::shared_ptr<Mesh>& replica, Device& device,
                         Conversation& conversation, const std::optional<Rendezvous>& host,
                         const frames::Rescue& order) {
  conversation.AbortWith([replica] { replica->Abort(); });
  Rendezvous meeting;
  if (host.has_value()) {
    meeting = *host;
  } else {
    const auto leaves = [&conversation] {
      return conversation.CurrentStopRequest() != StopRequest::kNone;
    };
    DT_ASSIGN_OR_RETURN(
        meeting,
        ConnectStore(order.meet_at, leaves, absl::ToChronoMilliseconds(limits::kReplicaPatience)));
  }
  return replica->Join(device, meeting);
}

std::unique_ptr<TensorGroup> MakeTensorGroup(const TrialSpec& spec, const Membership& members) {
  const std::shared_ptr<Group>& group = members.mesh->group(Axis::kTensor);
  if (group == nullptr) return nullptr;
  return std::make_unique<TensorGroup>(group, members.timeline, spec.sequence);
}

std::unique_ptr<StageLink> MakeStageLink(const Membership& members, c10::Device device) {
  if (members.mesh->group(Axis::kPipeline) == nullptr) return nullptr;
  return std::make_unique<StageLink>(*members.mesh, members.timeline, device);
}

StageAxis StagesOf(const TrialSpec& spec, const Membership& members) {
  StageAxis axis;
  axis.part = StageOf(spec, *members.mesh);
  StageLink* const link = members.stages.get();
  // Finish earlier sends first: meanwhile each stage computes another batch, and running further
  // ahead would only take memory.
  axis.send = [link](const at::Tensor& hidden) {
    link->Finish(CommTimes::During::kForward);
    link->Send(StageLink::Way::kForward, hidden);
  };
  axis.receive = [link](const std::vector<int64_t>& shape, at::ScalarType type) {
    link->Expect(StageLink::Way::kForward, shape, type);
    return link->Take(StageLink::Way::kForward, CommTimes::During::kForward);
  };
  return axis;
}

std::unique_ptr<ParameterHome> MakeHome(const TrialSpec& spec, c10::Device device,
                                        const Mesh& mesh) {
  const ModelPart part{mesh.rank(Axis::kTensor), mesh.size(Axis::kTensor), StageOf(spec, mesh)};
  // A rank without data-parallel peers shards nothing.
  if (!plan::SharesState(spec.sharing) || mesh.size(Axis::kData) == 1) {
    return std::make_unique<WholeHome>(device, part);
  }
  using Rows = ShardedHome::Rows;
  const bool stay = spec.sharing == Sharing::kZero1 || spec.sharing == Sharing::kZero2;
  // Stages without the embedding have no parameters outside of blocks.
  const bool narrow = !stay && spec.pipeline == 1 && ProductsOf(spec, device) != at::kFloat;
  using Norms = ShardedHome::Norms;
  return std::make_unique<ShardedHome>(device, mesh.rank(Axis::kShard), mesh.size(Axis::kShard),
                                       stay ? Rows::kStay : Rows::kComeAndGo, part,
                                       narrow ? Norms::kOutside : Norms::kInBlocks);
}

SyncSteps SyncStepsOf(const TrialSpec& spec, const StepPlan& plan, std::vector<int64_t> compared) {
  if (!plan::StepsAlone(spec.sharing) || plan.batch.world_size == 1) return {};
  compared.push_back(plan.target_steps);
  return {spec.sync_every, std::move(compared)};
}

std::unique_ptr<OuterSgd> MakeOuter(const TrialSpec& spec, const Mesh& mesh,
                                    const std::vector<Piece>& parameters) {
  if (spec.sharing != Sharing::kLocalSgd || mesh.size(Axis::kData) == 1) return nullptr;
  if (spec.outer_lr == 1 && spec.outer_momentum == 0) return nullptr;  // use the mean itself
  return std::make_unique<OuterSgd>(parameters, OuterOptions{spec.outer_lr, spec.outer_momentum});
}

namespace {

std::vector<at::Tensor> CountsOf(const TrainingState& state) {
  std::vector<at::Tensor> counts = {state.optimizer->updates()};
  if (state.loss_scale != nullptr) {
    for (const at::Tensor& each : state.loss_scale->state()) counts.push_back(each);
  }
  return counts;
}

// Makes the strategy of the data-parallel ranks.
std::unique_ptr<Strategy> MakeDataStrategy(TrainingState& state, const Membership& members,
                                           const std::shared_ptr<LocalGradient>& local,
                                           BucketLayout layout) {
  const TrialSpec& spec = state.spec;
  ParameterHome& home = *state.home;
  const std::shared_ptr<Group>& group = members.mesh->group(Axis::kData);
  const StagePart& part = state.model->part();
  if (group == nullptr) return std::make_unique<AloneStrategy>(home.pieces(), part, local);
  if (auto* sharded = dynamic_cast<ShardedHome*>(&home)) {
    using Sends = ShardedStrategy::Sends;
    const Sends sends = spec.sharing == Sharing::kZero1 ? Sends::kOnceAStep : Sends::kEachMicroStep;
    return std::make_unique<ShardedStrategy>(
        *sharded,
        ShardedStrategy::Options{sends, TypeOf(spec.wire), ProductsOf(spec, home.device())},
        *members.mesh, members.timeline, local);
  }
  if (plan::StepsAlone(spec.sharing) && group->size() > 1) {
    const StateMean::Options mean{spec.bucket_mb, CountsOf(state)};
    const std::vector<Piece> moments = state.optimizer->State();
    if (spec.sharing == Sharing::kGossip) {
      return std::make_unique<GossipStrategy>(home.pieces(), moments, group, members.timeline,
                                              GossipStrategy::Options{members.sync, mean});
    }
    return std::make_unique<LocalSgdStrategy>(
        home.pieces(), moments, group, members.timeline,
        LocalSgdStrategy::Options{members.sync, mean, state.outer.get()});
  }
  const Wire wire = state.wire_choice.chosen().value_or(spec.wire);
  return std::make_unique<ReducerStrategy>(
      home.pieces(), part, group, members.timeline, local,
      ReducerOptions{spec.bucket_mb, std::move(layout), TypeOf(wire),
                     MakeCompressor(spec, group->size()), state.wire_choice.open()});
}

}  // namespace

std::unique_ptr<Strategy> MakeStrategy(TrainingState& state, const Membership& members,
                                       BucketLayout layout) {
  if (members.tensor != nullptr) ShareWhole(state.home->pieces(), *members.tensor);
  const std::shared_ptr<Timeline>& timeline = members.timeline;
  const Route ends{Axis::kEnds, members.mesh->group(Axis::kEnds), timeline,
                   std::make_shared<CommTimes>(timeline)};
  const auto local = std::make_shared<LocalGradient>(
      state.home->pieces(), ModelRanks{members.tensor.get(), members.mesh->group(Axis::kPipeline),
                                       state.model->part(), ends});
  std::unique_ptr<Strategy> strategy = MakeDataStrategy(state, members, local, std::move(layout));
  if (members.tensor != nullptr) {
    strategy =
        std::make_unique<TensorStrategy>(std::move(strategy), *members.tensor, *members.mesh);
  }
  if (members.stages != nullptr) {
    strategy = std::make_unique<PipelineStrategy>(std::move(strategy), *members.stages,
                                                  *members.mesh, ends);
  }
  return strategy;
}

}  // namespace dt::trainer
