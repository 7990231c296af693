// pieces.h: converts pieces to full tensors and back, one tensor at a time, so that no rank ever
// holds the state twice.
//
// Threads: the training thread. Collect of a piece that is not distributed may also be called from
//          a thread that has the pieces to itself.
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

// Returns the full tensor of `piece`, contiguous in host memory; without a copy if it is there
// already. Gathers a cut or sharded piece: all ranks of `mesh` call it for the same pieces in the
// same order, and only the first rank gets the tensor.
at::Tensor Collect(Mesh* mesh, const Piece& piece);

// Broadcasts rank 0's pieces, which are full tensors, to every rank of `mesh`. Errors also as for
// Mesh::RequireIntact.
void Distribute(Mesh& mesh, const std::vector<Piece>& pieces);

// Reads one full tensor after another on rank 0, on the CPU, and gives every rank its piece. Errors
// also those of `read`, on rank 0 only: it must then end the attempt, which ends the others' wait.
absl::Status Deal(Mesh& mesh, const std::vector<Piece>& pieces,
                  const std::function<absl::StatusOr<at::Tensor>(const Piece&)>& read);

}  // namespace dt::trainer
