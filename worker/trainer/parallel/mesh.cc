// mesh.cc: see mesh.h.
#include "worker/trainer/parallel/mesh.h"

#include <algorithm>
#include <string>

#include "common/check.h"

namespace dt::trainer {

void Mesh::Prepare(Device& device, const GroupOptions& options, const MeshShape& shape) {
  const int data_ranks = shape.replicate * shape.shard;
  DT_CHECK(data_ranks * shape.tensor == options.size);
  std::lock_guard lock(mutex_);
  world_ = std::make_shared<Group>(device, options);
  const auto along = [&](int rank, int size, const char* axis, int which) {
    if (size == options.size) return world_;
    if (size == 1) return std::shared_ptr<Group>();
    GroupOptions part = options;
    part.rank = rank;
    part.size = size;
    part.key_prefix = options.key_prefix + "/" + axis + "/" + std::to_string(which);
    return std::make_shared<Group>(device, part);
  };
  const int part = options.rank % shape.tensor, data_rank = options.rank / shape.tensor;
  const int share = data_rank % shape.shard, copy = data_rank / shape.shard;
  data_ = along(data_rank, data_ranks, "data", part);
  shard_ = shape.shard == data_ranks
               ? data_
               : along(share, shape.shard, "shard", copy * shape.tensor + part);
  replicate_ = shape.replicate == data_ranks
                   ? data_
                   : along(copy, shape.replicate, "replicate", share * shape.tensor + part);
  tensor_ = shape.tensor == 1 ? nullptr : along(part, shape.tensor, "tensor", data_rank);
  if (!aborted_) return;
  for (const std::shared_ptr<Group>& group : Groups()) group->Abort();
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
  for (const std::shared_ptr<Group>& group : {world_, data_, shard_, replicate_, tensor_}) {
    const bool known = std::find(groups.begin(), groups.end(), group) != groups.end();
    if (group != nullptr && !known) groups.push_back(group);
  }
  return groups;
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
  if (group(axis) != nullptr) group(axis)->BroadcastFromRoot(tensors);
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
