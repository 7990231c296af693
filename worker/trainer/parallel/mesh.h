// mesh.h: the device mesh: the ranks of an attempt along named axes, each with a group.
//
// Role:      the only place that knows whether a rank has peers. All other code gathers and
//            broadcasts along an axis; a rank without peers there gets its own value back. Rank
//            ((p·replicate + r)·shard + s)·tensor + t of the attempt is tensor part t of pipeline
//            stage p, in shard s of replica r. So tensor ranks are neighbours, and then the ranks
//            of a shard group, on one host where possible. An axis that covers all ranks uses the
//            group of all ranks.
// Ownership: shared by the training thread and any thread that may abort it.
// Threads:   Abort from any thread, also while the ranks are joining; everything else from the
//            training thread.
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
  // Sizes of the axes; replicate × shard is the data axis.
  int replicate = 1;   // replicas of the state
  int shard = 1;       // ranks that share each replica
  int tensor = 1;      // ranks that share each layer; a data axis connects ranks with the same part
  int pipeline = 1;    // stages, each with some of the layers
  bool ends = false;   // the first and the last stage share a parameter
  bool wraps = false;  // the last stage also sends to the first
};

class Mesh {
 public:
  // A rank without peers, until Join.
  Mesh() = default;

  // Makes the groups and starts to track the sockets that an abort must close. Call it before the
  // ranks' store is opened, so that an abort ends the rendezvous too.
  void Prepare(Device& device, const GroupOptions& options, const MeshShape& shape);
  // Joins the other ranks, through the store of `meeting`. All ranks call it. REQUIRES: Prepare.
  absl::Status Join(Device& device, const Rendezvous& meeting);

  // Returns the group of an axis; null if this rank has no peers along it, or did not join.
  const std::shared_ptr<Group>& group(Axis axis) const;
  int rank(Axis axis) const;
  int size(Axis axis) const;
  // Returns whether this rank is rank 0, which reports for all.
  bool IsRoot() const { return rank(Axis::kWorld) == 0; }

  // Returns the two-rank group for messages from a stage to the next or the previous one; its first
  // rank is the sender. Null: use the pipeline's own group, whose backend keeps the two directions
  // apart.
  const std::shared_ptr<Group>& way(bool forward, int from_stage) const;

  // Returns every rank's row of numbers, in rank order along the axis. All rows have the same
  // length.
  std::vector<std::vector<double>> Gather(Axis axis, const std::vector<double>& mine);
  // Returns the row of the axis' last rank, such as the pipeline stage that alone knows the loss.
  std::vector<double> FromLast(Axis axis, const std::vector<double>& mine) {
    return Gather(axis, mine).back();
  }
  // Overwrites `tensors` with those of the axis' first rank.
  void BroadcastFromFirst(Axis axis, const std::vector<at::Tensor>& tensors);
  // Overwrites `tensor` with that of the axis' last rank.
  void BroadcastFromLast(Axis axis, const at::Tensor& tensor);
  // Calls Group::RequireIntact for every axis.
  void RequireIntact();
  // Makes every collective fail, here and on the peers, now. Before the ranks have met, it ends the
  // rendezvous.
  void Abort();

 private:
  // Returns each group once, in the order in which they are joined.
  std::vector<std::shared_ptr<Group>> Groups() const;
  void PrepareWays(Device& device, const GroupOptions& options, const MeshShape& shape);

  std::mutex mutex_;  // guards the fields that Abort reads
  std::shared_ptr<Group> world_, data_, shard_, replicate_, tensor_, pipeline_, ends_;
  // Forward from each stage, then backward from each; null: this rank takes no part.
  std::vector<std::shared_ptr<Group>> ways_;
  bool aborted_ = false;
};

}  // namespace dt::trainer
