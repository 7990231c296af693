// sizes.h: the sizes that the gang of an elastic trial may have.
//
// Role:      pure. The global batch and the order of data do not change with the size: each data
//            rank, which is a slot or all slots that share a copy of the model, takes
//            train.batch_size sequences at a time, so the number of data ranks divides the passes
//            of a global batch. A program gets its WORLD_SIZE and may have any size.
// Bounds:    sizes are searched up to limits::kWorldSizeMax, whatever a message holds, in steps of
//            the ranks that belong together.
// Invariant: `least` and `most` are valid sizes, and differ.
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
  // Passes of one data rank that make up a global batch; the number of data ranks divides it. 0:
  // any number does.
  int64_t passes = 0;
  int32_t shard = 1;    // data ranks that share a copy of the state: this many, or a multiple
  int32_t model = 1;    // slots of a data rank, which share the model
  bool paired = false;  // the number of data ranks is a power of two

  bool Reaches(int32_t size) const;
  // Return the nearest size below and above this one; 0: none.
  int32_t Below(int32_t size) const;
  int32_t Above(int32_t size) const;
  std::vector<int32_t> All() const;  // ascending
  auto operator<=>(const GangSizes&) const = default;
  bool operator==(const GangSizes&) const = default;
};

// Whether the file or a parameter gives train.global_batch_size. Otherwise the value was derived,
// perhaps from other values.
enum class BatchGiven { kNo, kYes };
// Returns the ranks that share the model: parallel.tensor × parallel.pipeline, from 1 to the
// largest int32_t.
int32_t RanksOfModel(const v1::Spec& trial);
// Returns the ranks that divide the batch: resources.gpus ÷ RanksOfModel.
int32_t DataRanksOf(const v1::Spec& trial);
// Returns the chunks of layers in each stage of a pipeline.
int32_t ChunksEach(const v1::Spec& trial);
// Returns the passes of a data rank in a step: train.global_batch_size ÷ (batch_size ×
// DataRanksOf); 0: the values do not determine it.
int64_t MicroStepsOf(const v1::Spec& trial);
// Returns the share of a step in which the stages of its pipeline fill and drain, if all cost the
// same; 0: no pipeline, or the values do not determine it.
double BubbleOf(const v1::Spec& trial);
// Returns the sequences of one step over all slots: as given in sequences or tokens, else one pass
// of the data ranks of resources.gpus; at most the largest int64_t.
int64_t GlobalBatchOf(const v1::Spec& trial, BatchGiven said);

// Returns the sizes of an elastic trial; nullopt: only resources.gpus. Reads resources.*gpus, the
// batch fields of train, the ranks of parallel, and whether it is a program. Takes the global batch
// as given.
std::optional<GangSizes> SizesOf(const v1::Spec& trial);
// Returns all sizes, ascending; for a trial that is not elastic, only resources.gpus.
std::vector<int32_t> ReachableSizes(const v1::Spec& trial);
// Return the smallest and the largest of these.
int32_t LeastSize(const v1::Spec& trial);
int32_t LargestSize(const v1::Spec& trial);
// Returns the sizes between the trial's bounds that divide its batch, ascending; there may be none,
// or one.
std::vector<int32_t> DealtSizes(const v1::Spec& trial);
// Returns "2, 4 or 8"; of many sizes the first ones and the last; "" for none.
std::string SizesText(const std::vector<int32_t>& sizes);
std::string SizesText(const GangSizes& sizes);

}  // namespace dt::spec
