// mesh.h: who talks to whom: the ranks of an attempt along axes, each of which is a group.
//
// Role:      the one place that knows whether a rank has peers. Everything else gathers and
//            broadcasts along an axis; a rank that is alone there gets back what it gave.
//            Rank (r·shard + s)·tensor + t of the attempt is part t of each layer, in share s of
//            copy r: ranks of one layer, and then those that share a copy, are neighbours, on one
//            host where that is possible. An axis along which all ranks lie is the group of all.
// Ownership: shared by the training thread and by whoever may abort it.
// Threads:   Abort from any thread, also while the ranks are still meeting; everything else from
//            the training thread.
// Errors:    those of Group.
// Tests:     tests/worker/trainer/parallel/mesh_test.cc, tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "common/collectives.h"
#include "worker/trainer/parallel/group.h"

namespace dt::trainer {

struct MeshShape {
  // Ranks along the axes into which the data axis falls.
  int replicate = 1;  // copies of the state
  int shard = 1;      // ranks that share each
  int tensor = 1;     // ranks of each layer; the data axis is of those with the same part of it
};

class Mesh {
 public:
  // A rank that talks to nobody, until it joins.
  Mesh() = default;

  // Begins to note what an abort has to tear down. Before the ranks' store is opened, so that an
  // abort ends the meeting as well.
  void Prepare(Device& device, const GroupOptions& options, const MeshShape& shape);
  // With the other ranks, through the store of `meeting`; all of them call it. REQUIRES: Prepare.
  absl::Status Join(Device& device, const Rendezvous& meeting);

  // The group of an axis; null: this rank has nobody along it, or joined nobody.
  const std::shared_ptr<Group>& group(Axis axis) const;
  int rank(Axis axis) const;
  int size(Axis axis) const;
  // Whether this rank speaks for all.
  bool IsRoot() const { return rank(Axis::kWorld) == 0; }

  // Every rank's row of numbers, in order of rank along the axis. All give equally many.
  std::vector<std::vector<double>> Gather(Axis axis, const std::vector<double>& mine);
  // Overwrites `tensors` with those of the axis' first rank.
  void BroadcastFromFirst(Axis axis, const std::vector<at::Tensor>& tensors);
  // Group::RequireIntact, of every axis.
  void RequireIntact();
  // Makes every collective fail, here and on the peers, now. One that comes before the ranks have
  // met ends the meeting.
  void Abort();

 private:
  // Each once, in the order in which they are joined.
  std::vector<std::shared_ptr<Group>> Groups() const;

  std::mutex mutex_;  // of what Abort reads
  std::shared_ptr<Group> world_, data_, shard_, replicate_, tensor_;
  bool aborted_ = false;
};

}  // namespace dt::trainer
