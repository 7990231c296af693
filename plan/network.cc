// network.cc: the messages of each strategy.
#include "plan/network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/strategies.h"

namespace dt::plan {
namespace {

// Makes the list, and skips messages without bytes.
class MessageList {
 public:
  void Add(const Message& message) {
    if (message.bytes > 0 && message.count > 0) messages_.push_back(message);
  }
  // Adds `bytes` in buckets, of which the last is smaller.
  void AddBuckets(Message of_each, double bytes, double bucket_bytes) {
    const double whole = bucket_bytes > 0 ? std::floor(bytes / bucket_bytes) : 0;
    const double times = of_each.count;
    of_each.bytes = bucket_bytes;
    of_each.count = whole * times;
    Add(of_each);
    of_each.bytes = bytes - whole * bucket_bytes;
    of_each.count = times;
    Add(of_each);
  }
  std::vector<Message> Take() { return std::move(messages_); }

 private:
  std::vector<Message> messages_;
};

void AddShares(const ModelSize& model, const StepSize& step, MessageList& list) {
  const GatheredUnits units = GatheredUnitsOf(model, step);
  const auto micro_steps = static_cast<double>(step.micro_steps);
  const double narrow = step.narrow ? 0.5 : 1;
  const bool come_and_go = step.sharing == Sharing::kZero3 || step.sharing == Sharing::kHsdp;
  const double sums = step.sharing == Sharing::kZero1 ? 1 : micro_steps;
  const double root = narrow * units.root;
  const double all = kNumber * static_cast<double>(RankParameters(model, step.tensor));
  const double block = units.blocks == 0 ? 0 : (narrow * all - root) / units.blocks;
  using enum CollectiveOp;
  const bool in_memory = !step.narrow;
  list.Add({kReduceScatter, Axis::kShard, in_memory, root, sums});
  list.Add({kReduceScatter, Axis::kShard, in_memory, block, sums * units.blocks});
  // Blocks that come and go are gathered for each pass; the root and the last block stay for the
  // backward pass.
  const double gathers = come_and_go ? micro_steps : 1;
  const double of_blocks = come_and_go ? 2 * units.blocks - 1 : units.blocks;
  list.Add({kAllGather, Axis::kShard, in_memory, units.root, gathers});
  list.Add({kAllGather, Axis::kShard, in_memory, units.block, gathers * of_blocks});
  if (step.sharing != Sharing::kHsdp) return;
  const double shard = static_cast<double>(std::max<int64_t>(1, step.shard));
  list.Add({kAllReduce, Axis::kReplicate, false, root / shard, 1});
  list.Add({kAllReduce, Axis::kReplicate, false, block / shard, units.blocks});
}

void AddBetweenDataRanks(const ModelSize& model, const StepSize& step, double bucket_bytes,
                         MessageList& list) {
  const double all = kNumber * static_cast<double>(RankParameters(model, step.tensor));
  const double narrow = step.narrow ? 0.5 : 1;
  switch (step.sharing) {
    case Sharing::kDdp: {
      // With several chunks of the model on a stage, buckets stay out of shared memory.
      const bool in_memory = !step.narrow && step.chunks_each == 1;
      return list.AddBuckets({CollectiveOp::kAllReduce, Axis::kData, in_memory, 0, 1}, narrow * all,
                             narrow * bucket_bytes);
    }
    case Sharing::kGossip:
    case Sharing::kLocalSgd: {
      const double averages = 1 / static_cast<double>(std::max<int64_t>(1, step.sync_every));
      // After each step, except those of an average, a message to one peer.
      if (step.sharing == Sharing::kGossip) {
        list.Add({CollectiveOp::kSend, Axis::kData, false, all, 1 - averages});
      }
      return list.AddBuckets({CollectiveOp::kAllReduce, Axis::kData, false, 0, averages}, 3 * all,
                             bucket_bytes);  // parameters and two moments
    }
    case Sharing::kZero1:
    case Sharing::kZero2:
    case Sharing::kZero3:
    case Sharing::kHsdp:
      return AddShares(model, step, list);
  }
}

// Adds the messages of the vocabulary: hidden states out of the embedding and into the head if the
// ranks of a layer divide the vocabulary, their gradients, and each rank's statistics of its
// logits.
void AddVocabulary(const StageCosts& stage, MessageList& list) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  if (!CutsVocabulary(model.rows, step.tensor)) return;
  const double tokens = static_cast<double>(step.sequences * step.seq_len);
  const double numbers = tokens * static_cast<double>(model.width);
  const auto micro_steps = static_cast<double>(step.micro_steps);
  using enum CollectiveOp;
  const auto say_both_ways = [&](double bytes) {
    if (!step.sequence) return list.Add({kAllReduce, Axis::kTensor, false, bytes, micro_steps});
    list.Add({kAllGather, Axis::kTensor, false, bytes, micro_steps});
    list.Add({kReduceScatter, Axis::kTensor, false, bytes, micro_steps});
  };
  if (stage.has_embedding) say_both_ways((step.half && step.cuda ? 2 : 4) * numbers);
  if (!stage.has_head) return;
  say_both_ways((step.half ? 2 : 4) * numbers);
  const double known = 3 * kNumber * tokens * static_cast<double>(step.tensor);
  list.Add({kAllGather, Axis::kTensor, false, known, micro_steps});
}

void AddWithinLayers(const StageCosts& stage, MessageList& list) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  AddVocabulary(stage, list);
  const double number = step.half ? 2 : 4;
  const double bytes = number * static_cast<double>(step.sequences * step.seq_len) *
                       static_cast<double>(model.width);
  // Into and out of a layer's two parts, forward and backward, and again if the forward pass is
  // repeated.
  const double times =
      static_cast<double>(step.micro_steps * model.layers) * (step.keeps_inputs_alone ? 6 : 4);
  using enum CollectiveOp;
  if (!step.sequence) return list.Add({kAllReduce, Axis::kTensor, false, bytes, times});
  list.Add({kAllGather, Axis::kTensor, false, bytes, times});
  list.Add({kReduceScatter, Axis::kTensor, false, bytes, times});
  double whole =
      kNumber * static_cast<double>(Parameters(model) - CutParameters(model, step.tensor));
  if (SharesState(step.sharing)) whole /= static_cast<double>(RanksAlong(step, Axis::kShard));
  list.Add({kAllReduce, Axis::kTensor, false, whole, 1});
}

void AddBetweenStages(const ModelSize& model, const StepSize& step, MessageList& list) {
  const StageMessages messages = StageMessagesOf(model, step);
  list.Add({CollectiveOp::kSend, Axis::kPipeline, false, messages.bytes, messages.count});
  list.Add({CollectiveOp::kAllReduce, Axis::kEnds, false, messages.ends, 1});
}

}  // namespace

std::vector<Message> Messages(const ModelSize& model, const StepSize& step, double bucket_bytes) {
  MessageList list;
  if (step.carries_over) return {};
  StageCosts stage = HeaviestStage(model, step);
  stage.step.chunks_each = step.chunks_each;
  StepSize between = stage.step;
  between.half = stage.step.half && step.stages == 1;  // stages gather in the format of the
                                                       // parameters
  if (step.ranks > 1) AddBetweenDataRanks(stage.model, between, bucket_bytes, list);
  if (step.tensor > 1) AddWithinLayers(stage, list);
  if (step.stages > 1) AddBetweenStages(model, step, list);
  return list.Take();
}

int64_t RanksAlong(const StepSize& step, Axis axis) {
  const int64_t shard = step.sharing == Sharing::kHsdp ? std::max<int64_t>(1, step.shard)
                        : SharesState(step.sharing)    ? step.ranks
                                                       : 1;
  switch (axis) {
    case Axis::kData:
      return step.ranks;
    case Axis::kShard:
      return shard;
    case Axis::kReplicate:
      return step.ranks / shard;
    case Axis::kTensor:
      return step.tensor;
    case Axis::kPipeline:
      return step.stages;
    case Axis::kEnds:
      return std::min<int64_t>(2, step.stages);
    case Axis::kWorld:
      break;
  }
  return step.ranks * step.tensor * step.stages;
}

std::optional<double> SecondsFor(const MeasuredTimes& measured, double bytes) {
  if (measured.empty()) return std::nullopt;
  const auto above = std::find_if(measured.begin(), measured.end(),
                                  [bytes](const MeasuredTime& one) { return one.bytes >= bytes; });
  if (above == measured.begin()) return above->seconds;
  const MeasuredTime& below = *(above - 1);
  if (above == measured.end()) return below.seconds * bytes / below.bytes;
  const double part = (bytes - below.bytes) / (above->bytes - below.bytes);
  return below.seconds + part * (above->seconds - below.seconds);
}

std::optional<double> SecondsFor(const std::vector<Message>& messages,
                                 const std::function<MeasuredTimes(const Message&)>& measured) {
  if (messages.empty()) return std::nullopt;
  double seconds = 0;
  for (const Message& message : messages) {
    const std::optional<double> each = SecondsFor(measured(message), message.bytes);
    if (!each) return std::nullopt;
    seconds += message.count * *each;
  }
  return seconds;
}

}  // namespace dt::plan
