// stages.h: a model as the stages of a pipeline: which layers each has, and how long they wait.
//
// Role:    pure. The trainer deals layers by it, `dtctl plan` costs.
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

// One range of neighbouring layers for each of so many chunks, so that the dearest chunk costs as
// little as can be: the last one has the head besides, which counts as many layers as it costs.
// Chunk c is of stage c mod the stages. REQUIRES: 0 < chunks <= model.layers.
std::vector<LayerRange> DealLayers(const ModelSize& model, int64_t chunks);

// The order of a stage's passes. kForwardFirst: all forward before the first backward (GPipe); else
// each forward pass is followed by a backward one as soon as there is one to do.
enum class PassOrder { kAlternating, kForwardFirst };
// Forward passes of a stage before its first backward one, of so many in all: with several chunks
// of the model on each stage, interleaved.
int64_t WarmUpPasses(PassOrder order, int64_t stages, int64_t chunks_each, int64_t stage,
                     int64_t passes);

// The share of a step in which a stage has nothing to do, where all cost alike: with so many chunks
// of the model on each of the stages, and so many micro-steps.
double BubbleRatio(int64_t stages, int64_t chunks_each, int64_t micro_steps);

}  // namespace dt::plan
