// mesh.h: who talks to whom: the ranks of an attempt along axes, each of which is a group.
//
// Role:      the one place that knows whether a rank has peers. Everything else gathers and
//            broadcasts along an axis; a rank that is alone there gets back what it gave.
//            Rank ((p·replicate + r)·shard + s)·tensor + t of the attempt is part t of each layer
//            of stage p, in share s of copy r: ranks of one layer, and then those that share a
//            copy, are neighbours, on one host where that is possible. An axis along which all
//            ranks lie is the group of all.
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
  int replicate = 1;   // copies of the state
  int shard = 1;       // ranks that share each
  int tensor = 1;      // ranks of each layer; the data axis is of those with the same part of it
  int pipeline = 1;    // stages, each of some layers
  bool ends = false;   // whether the first and the last stage have something between them alone
  bool wraps = false;  // whether the last stage is followed by the first
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

  // What goes from a stage to its neighbour, after it or before it: the group of the two, of which
  // the sender is the first. Null: all of them are of the pipeline's own group, whose backend keeps
  // what goes each way apart.
  const std::shared_ptr<Group>& way(bool forward, int from_stage) const;

  // Every rank's row of numbers, in order of rank along the axis. All give equally many.
  std::vector<std::vector<double>> Gather(Axis axis, const std::vector<double>& mine);
  // The row of the axis' last rank, which speaks for what the others do not know.
  std::vector<double> FromLast(Axis axis, const std::vector<double>& mine) {
    return Gather(axis, mine).back();
  }
  // Overwrites `tensors` with those of the axis' first rank.
  void BroadcastFromFirst(Axis axis, const std::vector<at::Tensor>& tensors);
  // Overwrites `tensor` with that of the axis' last rank.
  void BroadcastFromLast(Axis axis, const at::Tensor& tensor);
  // Group::RequireIntact, of every axis.
  void RequireIntact();
  // Makes every collective fail, here and on the peers, now. One that comes before the ranks have
  // met ends the meeting.
  void Abort();

 private:
  // Each once, in the order in which they are joined.
  std::vector<std::shared_ptr<Group>> Groups() const;
  void PrepareWays(Device& device, const GroupOptions& options, const MeshShape& shape);

  std::mutex mutex_;  // of what Abort reads
  std::shared_ptr<Group> world_, data_, shard_, replicate_, tensor_, pipeline_, ends_;
  // Forward from each stage, then back from each; null: not this rank's.
  std::vector<std::shared_ptr<Group>> ways_;
  bool aborted_ = false;
};

}  // namespace dt::trainer
