// replicas.h: the ranks of an attempt that hold one replica of the training state together.
//
// Role:  constants and pure functions. worker/trainer/parallel/mesh.h has the axes.
// Tests: tests/common/replicas_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt {

// Sizes of the axes. Rank ((p·replicas + r)·shard + s)·tensor + t is a rank of replica r.
struct ReplicaShape {
  int32_t replicas = 1;
  int32_t shard = 1;
  int32_t tensor = 1;
  int32_t pipeline = 1;

  int32_t ranks_each() const { return shard * tensor * pipeline; }
};

// Returns the number of the rank's replica. REQUIRES: 0 <= rank < all ranks.
constexpr int32_t ReplicaOf(const ReplicaShape& shape, int32_t rank) {
  return rank / (shape.shard * shape.tensor) % shape.replicas;
}

// Returns the ranks of a replica, in ascending order: the order in which they are the ranks of a
// mesh of their own. REQUIRES: 0 <= replica < shape.replicas.
inline std::vector<int32_t> RanksOf(const ReplicaShape& shape, int32_t replica) {
  const int32_t of_stage = shape.shard * shape.tensor;
  std::vector<int32_t> ranks;
  for (int32_t stage = 0; stage < shape.pipeline; ++stage) {
    for (int32_t i = 0; i < of_stage; ++i) {
      ranks.push_back((stage * shape.replicas + replica) * of_stage + i);
    }
  }
  return ranks;
}

}  // namespace dt
