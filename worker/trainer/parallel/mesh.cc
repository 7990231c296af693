// mesh.cc: see mesh.h.
#include "worker/trainer/parallel/mesh.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/view.h"

namespace dt::trainer {

namespace {

std::shared_ptr<Group> PartOf(Device& device, const GroupOptions& all, int rank, int size,
                              std::string_view name, int which) {
  GroupOptions part = all;
  part.rank = rank;
  part.size = size;
  part.key_prefix = absl::StrCat(all.key_prefix, "/", View(name), "/", which);
  return std::make_shared<Group>(device, part);
}

}  // namespace

void Mesh::Prepare(Device& device, const GroupOptions& options, const MeshShape& shape) {
  const int data_ranks = shape.replicate * shape.shard;
  const int of_stage = data_ranks * shape.tensor;
  DT_CHECK(of_stage * shape.pipeline == options.size);
  std::lock_guard lock(mutex_);
  world_ = std::make_shared<Group>(device, options);
  const auto along = [&](int rank, int size, Axis axis, int which) {
    if (size == options.size) return world_;
    if (size == 1) return std::shared_ptr<Group>();
    return PartOf(device, options, rank, size, WordOf(axis), which);
  };
  const int stage = options.rank / of_stage, in_stage = options.rank % of_stage;
  const int part = in_stage % shape.tensor, data_rank = in_stage / shape.tensor;
  const int share = data_rank % shape.shard, copy = data_rank / shape.shard;
  // Groups of an axis are numbered across all stages.
  const auto which = [stage](int groups, int group) { return stage * groups + group; };
  data_ = along(data_rank, data_ranks, Axis::kData, which(shape.tensor, part));
  shard_ = shape.shard == data_ranks
               ? data_
               : along(share, shape.shard, Axis::kShard,
                       which(shape.replicate * shape.tensor, copy * shape.tensor + part));
  replicate_ = shape.replicate == data_ranks
                   ? data_
                   : along(copy, shape.replicate, Axis::kReplicate,
                           which(shape.shard * shape.tensor, share * shape.tensor + part));
  if (shape.tensor > 1) {
    tensor_ = along(part, shape.tensor, Axis::kTensor, which(data_ranks, data_rank));
  }
  if (shape.pipeline > 1) {
    pipeline_ = along(stage, shape.pipeline, Axis::kPipeline, in_stage);
    const bool is_end = stage == 0 || stage == shape.pipeline - 1;
    if (shape.ends && is_end) {
      ends_ = shape.pipeline == 2
                  ? pipeline_
                  : PartOf(device, options, stage == 0 ? 0 : 1, 2, WordOf(Axis::kEnds), in_stage);
    }
    if (!device.Torch().is_cpu()) PrepareWays(device, options, shape);
  }
  if (!aborted_) return;
  for (const std::shared_ptr<Group>& group : Groups()) group->Abort();
}

// Makes one group per pair and direction: NCCL runs the messages between two ranks in one order on
// both, and no single order fits all four directions of a pair.
void Mesh::PrepareWays(Device& device, const GroupOptions& options, const MeshShape& shape) {
  const int of_stage = options.size / shape.pipeline;
  const int stage = options.rank / of_stage, in_stage = options.rank % of_stage;
  for (const bool forward : {true, false}) {
    for (int from = 0; from < shape.pipeline; ++from) {
      const int to = (from + (forward ? 1 : shape.pipeline - 1)) % shape.pipeline;
      const bool wraps = forward ? to == 0 : from == 0;
      const bool takes_part = (stage == from || stage == to) && (!wraps || shape.wraps);
      const int which = static_cast<int>(ways_.size()) * of_stage + in_stage;
      ways_.push_back(takes_part ? PartOf(device, options, stage == from ? 0 : 1, 2, "way", which)
                                 : nullptr);
    }
  }
}

absl::Status Mesh::Join(Device& device, const Rendezvous& meeting) {
  DT_CHECK(world_ != nullptr);
  for (const std::shared_ptr<Group>& group : Groups()) {
    DT_RETURN_IF_ERROR(group->Join(device, meeting));
  }
  return absl::OkStatus();
}

std::vector<std::shared_ptr<Group>> Mesh::Groups() const {
  std::vector<std::shared_ptr<Group>> groups;
  for (const std::shared_ptr<Group>& group :
       {world_, data_, shard_, replicate_, tensor_, pipeline_, ends_}) {
    const bool known = std::find(groups.begin(), groups.end(), group) != groups.end();
    if (group != nullptr && !known) groups.push_back(group);
  }
  for (const std::shared_ptr<Group>& group : ways_) {
    if (group != nullptr) groups.push_back(group);
  }
  return groups;
}

const std::shared_ptr<Group>& Mesh::way(bool forward, int from_stage) const {
  static const std::shared_ptr<Group> kNone;
  if (ways_.empty()) return kNone;
  return ways_.at((forward ? 0 : ways_.size() / 2) + static_cast<size_t>(from_stage));
}

const std::shared_ptr<Group>& Mesh::group(Axis axis) const {
  switch (axis) {
    case Axis::kData:
      return data_;
    case Axis::kShard:
      return shard_;
    case Axis::kReplicate:
      return replicate_;
    case Axis::kTensor:
      return tensor_;
    case Axis::kPipeline:
      return pipeline_;
    case Axis::kEnds:
      return ends_;
    case Axis::kWorld:
      break;
  }
  return world_;
}

int Mesh::rank(Axis axis) const { return group(axis) == nullptr ? 0 : group(axis)->rank(); }
int Mesh::size(Axis axis) const { return group(axis) == nullptr ? 1 : group(axis)->size(); }

std::vector<std::vector<double>> Mesh::Gather(Axis axis, const std::vector<double>& mine) {
  if (group(axis) == nullptr) return {mine};
  return group(axis)->AllGather(mine);
}

void Mesh::BroadcastFromFirst(Axis axis, const std::vector<at::Tensor>& tensors) {
  if (group(axis) != nullptr) group(axis)->Broadcast(tensors, 0);
}

void Mesh::BroadcastFromLast(Axis axis, const at::Tensor& tensor) {
  if (group(axis) != nullptr) group(axis)->Broadcast({tensor}, size(axis) - 1);
}

void Mesh::RequireIntact() {
  for (const std::shared_ptr<Group>& group : Groups()) group->RequireIntact();
}

void Mesh::Abort() {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  for (const std::shared_ptr<Group>& group : Groups()) group->Abort();
}

}  // namespace dt::trainer
