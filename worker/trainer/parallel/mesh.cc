// mesh.cc: see mesh.h.
#include "worker/trainer/parallel/mesh.h"

#include "common/check.h"

namespace dt::trainer {

void Mesh::Prepare(Device& device, const GroupOptions& options) {
  std::lock_guard lock(mutex_);
  world_ = std::make_shared<Group>(device, options);
  if (aborted_) world_->Abort();
}

absl::Status Mesh::Join(Device& device, const Rendezvous& meeting) {
  DT_CHECK(world_ != nullptr);
  return world_->Join(device, meeting);
}

const std::shared_ptr<Group>& Mesh::group(Axis axis) const {
  switch (axis) {
    case Axis::kWorld:
    case Axis::kData:
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
  if (world_ != nullptr) world_->RequireIntact();
}

void Mesh::Abort() {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  if (world_ != nullptr) world_->Abort();
}

}  // namespace dt::trainer
