// sizes.h: how many slots the gang of an elastic trial may have.
//
// Role:      pure. The global batch and the order of data do not change with the size: each slot,
//            or all that have the model among them together, takes train.batch_size sequences at a
//            time, so their number divides what a global batch has of these. A program of a
//            person's is told its WORLD_SIZE, and may have any size.
// Bounds:    sizes are looked for up to limits::kWorldSizeMax, whatever a message says, in steps of
//            the ranks that belong together.
// Invariant: `least` and `most` are sizes themselves, and differ.
// Tests:     tests/spec/sizes_test.cc
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

struct GangSizes {
  int32_t least = 0;
  int32_t most = 0;
  // Passes of one data rank that make up a global batch: their number divides it; 0: any does.
  int64_t passes = 0;
  int32_t shard = 1;    // data ranks that share a copy of the state: so many, or a multiple
  int32_t model = 1;    // slots of a data rank, among which the model is cut
  bool paired = false;  // data ranks: a power of two

  bool Reaches(int32_t size) const;
  // The nearest size below and above this one; 0: none.
  int32_t Below(int32_t size) const;
  int32_t Above(int32_t size) const;
  std::vector<int32_t> All() const;  // rising
  auto operator<=>(const GangSizes&) const = default;
  bool operator==(const GangSizes&) const = default;
};

// Whether the file or a parameter says train.global_batch_size; else what stands there was derived,
// perhaps of other values.
enum class BatchSaid { kNo, kYes };
// Ranks that have the model among them: parallel.tensor × parallel.pipeline.
// At least 1, and as many as an int32_t holds at most.
int32_t RanksOfModel(const v1::Spec& trial);
// Ranks among which the batch is dealt: resources.gpus ÷ RanksOfModel.
int32_t DataRanksOf(const v1::Spec& trial);
// Chunks of layers that each stage of a pipeline has.
int32_t ChunksEach(const v1::Spec& trial);
// Passes of a data rank in a step: train.global_batch_size ÷ (batch_size × DataRanksOf); 0: the
// values do not say.
int64_t MicroStepsOf(const v1::Spec& trial);
// The share of a step in which the stages of its pipeline fill and drain, where all cost alike; 0:
// no pipeline, or the values do not say.
double BubbleOf(const v1::Spec& trial);
// Sequences of one step over all slots: as it is said, in sequences or in tokens, else one pass of
// the data ranks of resources.gpus; at most the largest int64_t.
int64_t GlobalBatchOf(const v1::Spec& trial, BatchSaid said);

// nullopt: a gang of resources.gpus alone. Reads resources.*gpus, what train says of batches and
// parallel of ranks, and whether it is a program; what stands for the global batch is taken as
// said.
std::optional<GangSizes> SizesOf(const v1::Spec& trial);
// All of them, rising; of a trial that is not elastic resources.gpus alone.
std::vector<int32_t> ReachableSizes(const v1::Spec& trial);
// The smallest and the largest of these.
int32_t LeastSize(const v1::Spec& trial);
int32_t LargestSize(const v1::Spec& trial);
// Sizes between the trial's bounds to which its batch can be dealt, rising; perhaps none, or one.
std::vector<int32_t> DealtSizes(const v1::Spec& trial);
// "2, 4 or 8"; of many the first ones and the last; "" of none.
std::string SizesText(const std::vector<int32_t>& sizes);
std::string SizesText(const GangSizes& sizes);

}  // namespace dt::spec
