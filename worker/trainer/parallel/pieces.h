// pieces.h: pieces to whole tensors and back, one tensor at a time, so that no rank ever holds the
// state twice.
//
// Threads: the training thread; Collect of a whole piece also from a thread that has the pieces to
//          itself.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/snapshot_test.cc, tests/worker/trainer/run/attempt_test.cc,
//          tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <functional>
#include <vector>

#include "common/status.h"
#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/mesh.h"

namespace dt::trainer {

// The whole that `piece` is of, contiguous in host memory; where it lies there so already, no copy.
// What is cut or spread is gathered: all ranks of `mesh` call it for the same wholes in the same
// order, and all but the first get nothing.
at::Tensor Collect(Mesh* mesh, const Piece& piece);

// Every rank of `mesh` gets what rank 0's pieces hold, which are whole. Errors also as of
// Mesh::RequireIntact.
void Distribute(Mesh& mesh, const std::vector<Piece>& pieces);

// Rank 0 reads one whole after another, on the CPU, and every rank gets its piece of it. Errors
// also those of `read`, on rank 0 alone: it then has to end the attempt, for which the others wait.
absl::Status Deal(Mesh& mesh, const std::vector<Piece>& pieces,
                  const std::function<absl::StatusOr<at::Tensor>(const Piece&)>& read);

}  // namespace dt::trainer
