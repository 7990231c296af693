// stages.h: divides a model into the stages of a pipeline, and computes how long they wait.
//
// Role:    pure. The trainer assigns layers with it, `dtctl plan` costs.
// Source:  Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
//          Megatron-LM", 2021, 2.2 (interleaved stages, the bubble).
// Tests:   tests/plan/stages_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "plan/model_size.h"

namespace dt::plan {

struct LayerRange {
  int64_t from = 0, count = 0;
  bool operator==(const LayerRange&) const = default;
};

// Returns a range of neighbouring layers for each of `chunks`, so that the most expensive chunk
// costs as little as possible. The last one also has the head, which counts as many layers as it
// costs. Chunk c belongs to stage c mod the number of stages. REQUIRES: 0 < chunks <= model.layers.
std::vector<LayerRange> DealLayers(const ModelSize& model, int64_t chunks);

// The order of a stage's passes. kForwardFirst: all forward passes before the first backward one
// (GPipe). kAlternating: each forward pass is followed by a backward one as soon as one is ready.
enum class PassOrder { kAlternating, kForwardFirst };
// Returns the forward passes of a stage before its first backward one, out of `passes`; with
// several chunks of the model on each stage, interleaved.
int64_t WarmUpPasses(PassOrder order, int64_t stages, int64_t chunks_each, int64_t stage,
                     int64_t passes);

// Returns the share of a step in which a stage is idle, if all stages cost the same.
double BubbleRatio(int64_t stages, int64_t chunks_each, int64_t micro_steps);

}  // namespace dt::plan
