// whole.h: pieces to whole tensors and back, one tensor at a time, so that no rank ever holds the
// state twice.
//
// Threads: the training thread; Collect also from a thread that has the pieces to itself.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/snapshot_test.cc, tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/mesh.h"

namespace dt::trainer {

// The whole that `piece` is of, contiguous in host memory; where it lies there so already, no copy.
// REQUIRES: the piece is whole, as every home's is today.
at::Tensor Collect(const Piece& piece);

// Every rank of `mesh` gets what rank 0's pieces hold. Errors also as of Mesh::RequireIntact.
void Distribute(Mesh& mesh, const std::vector<Piece>& pieces);

}  // namespace dt::trainer
