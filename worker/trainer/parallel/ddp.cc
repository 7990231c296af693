// ddp.cc: calls the Reducer in the order of torch.nn.parallel.DistributedDataParallel.
#include "worker/trainer/parallel/ddp.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>

#include "common/check.h"
#include "worker/trainer/parallel/compressed_buckets.h"
#include "worker/trainer/parallel/shared_buckets.h"
#include "worker/trainer/parallel/timed_all_reduce.h"

namespace dt::trainer {
namespace {

constexpr int64_t kFirstBucketBytes = 1 << 20;  // small, so that communication starts early

// Returns the layout's buckets for these parameters, as indices. Returns nothing if a parameter is
// missing from the layout, or a bucket mixes them with others.
std::vector<std::vector<size_t>> BucketsOf(const BucketLayout& layout,
                                           const std::vector<uint32_t>& numbers) {
  std::unordered_map<uint32_t, size_t> places;
  for (size_t place = 0; place < numbers.size(); ++place) places[numbers[place]] = place;
  std::vector<std::vector<size_t>> buckets;
  size_t found = 0;
  for (const auto& bucket : layout) {
    std::vector<size_t> mine;
    for (const uint32_t number : bucket) {
      const auto place = places.find(number);
      if (place == places.end()) continue;
      mine.push_back(place->second);
      places.erase(place);
    }
    if (mine.empty()) continue;
    if (mine.size() != bucket.size()) return {};
    found += mine.size();
    buckets.push_back(std::move(mine));
  }
  if (found != numbers.size()) return {};
  return buckets;
}

// Switches from a first hook to a second one, since a Reducer takes one hook, once.
class SwitchedHook final : public c10d::CommHookInterface {
 public:
  using Hook = std::unique_ptr<c10d::CommHookInterface>;
  SwitchedHook(Hook first, Hook second, std::shared_ptr<const std::atomic<bool>> switched)
      : first_(std::move(first)), second_(std::move(second)), switched_(std::move(switched)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    return Current().runHook(bucket);
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return Current().parseHookResult(result);
  }

 private:
  c10d::CommHookInterface& Current() { return *switched_ ? *second_ : *first_; }

  const Hook first_, second_;
  const std::shared_ptr<const std::atomic<bool>> switched_;
};

std::vector<at::Tensor> ValuesOf(const std::vector<Piece>& pieces) {
  std::vector<at::Tensor> values;
  for (const Piece& piece : pieces) {
    DT_CHECK(piece.spread.empty());
    if (piece.here) values.push_back(piece.value);
  }
  return values;
}

}  // namespace

ReducerStrategy::ReducerStrategy(const std::vector<Piece>& pieces, const StagePart& part,
                                 std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline,
                                 std::shared_ptr<LocalGradient> local,
                                 const ReducerOptions& options)
    : pieces_(pieces),
      parameters_(ValuesOf(pieces)),
      group_(std::move(group)),
      times_(std::make_shared<CommTimes>(std::move(timeline))),
      local_(std::move(local)),
      compressor_(options.compressor) {
  c10d::verify_params_across_processes(group_->process_group(), parameters_, std::nullopt);
  std::vector<at::Tensor> detached;
  for (const at::Tensor& parameter : parameters_) detached.push_back(parameter.detach());
  group_->BroadcastFromRoot(detached);
  for (size_t number = 0; number < pieces_.size(); ++number) {
    const Piece& piece = pieces_[number];
    if (!piece.here) continue;
    const auto chunk = static_cast<size_t>(part.ChunkOf(piece.name));
    if (chunks_.size() <= chunk) chunks_.resize(chunk + 1);
    chunks_[chunk].parameters.push_back(piece.value);
    const bool tied_copy = piece.stage != part.stage();
    chunks_[chunk].numbers.push_back(static_cast<uint32_t>(tied_copy ? pieces_.size() : number));
  }
  // Shared memory holds the buckets of a single Reducer.
  shares_memory_ = chunks_.size() == 1;
  for (Chunk& chunk : chunks_) MakeReducer(chunk, options);
}

void ReducerStrategy::MakeReducer(Chunk& chunk, const ReducerOptions& options) {
  const std::vector<at::Tensor>& parameters = chunk.parameters;
  const int64_t cap = std::max<int64_t>(static_cast<int64_t>(options.bucket_mb * 1024 * 1024), 1);
  std::vector<std::vector<size_t>> buckets = BucketsOf(options.layout, chunk.numbers);
  if (buckets.empty()) {
    auto [by_size, limits] =
        c10d::compute_bucket_assignment_by_size(parameters, {static_cast<size_t>(cap)});
    // Gradients arrive from the last layer to the first.
    std::reverse(by_size.begin(), by_size.end());
    buckets = std::move(by_size);
  }
  chunk.reducer = std::make_shared<c10d::Reducer>(
      parameters, std::move(buckets), group_->process_group(),
      std::vector<bool>(parameters.size(), false), cap,
      /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
      std::unordered_map<size_t, std::string>{}, std::min(kFirstBucketBytes, cap),
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      std::vector<int64_t>{});
  chunk.reducer->register_comm_hook(MakeMeasured(MakeHook(options), local_));
  PlaceInSharedMemory();
}

void ReducerStrategy::PlaceInSharedMemory() {
  if (host_reduce_ == nullptr) return;
  PlaceBuckets(*chunks_[0].reducer, host_reduce_->memory(), host_reduce_->rank());
}

std::unique_ptr<c10d::CommHookInterface> ReducerStrategy::MakeHook(const ReducerOptions& options) {
  const at::ScalarType wire = options.wire;
  if (compressor_ != nullptr) {
    return MakeBucketThread(MakeCompressedAverage(compressor_, group_, parameters_), times_);
  }
  if (wire == at::kFloat && shares_memory_) {
    size_t floats = 0;
    for (const at::Tensor& parameter : parameters_) floats += SharedFloats(parameter.numel());
    host_reduce_ = group_->ShareMemory(floats);
  }
  if (host_reduce_ == nullptr) {
    const Buckets where = parameters_.at(0).is_cpu() ? Buckets::kOnCpu : Buckets::kOnGpu;
    auto hook = MakeTimedAllReduce(group_, times_, where, wire);
    if (!options.may_narrow) return hook;
    narrow_ = std::make_shared<std::atomic<bool>>(false);
    return std::make_unique<SwitchedHook>(
        std::move(hook), MakeTimedAllReduce(group_, times_, where, at::kBFloat16), narrow_);
  }
  return MakeBucketThread(MakeSharedAverage(host_reduce_), times_);
}

ReducerStrategy::~ReducerStrategy() = default;

void ReducerStrategy::BeginStep(const StepNotes& notes) {
  using Sends = Compressor::Sends;
  if (compressor_ != nullptr) {
    compressor_->BeginStep(notes.number, notes.saved ? Sends::kWhole : Sends::kLess);
  }
  // In a group of one, the rank has the full batch.
  measured_ = notes.measured && group_->size() > 1;
  local_->Restart(measured_);
  times_->Restart();
  for (const Chunk& chunk : chunks_) chunk.reducer->prepare_for_forward();
}

// Rebuilds the buckets once, after the first step, in the order in which gradients became ready.
// PyTorch does this at the start of the next step; here a checkpoint written between the steps must
// hold the next step's layout.
void ReducerStrategy::AfterUpdate(int64_t /*step*/) {
  bool rebuilt = false;
  for (const Chunk& chunk : chunks_) rebuilt |= chunk.reducer->rebuild_buckets();
  if (!rebuilt || host_reduce_ == nullptr) return;
  // The gradients are views of the old buckets, which occupy the memory of the new ones.
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  PlaceInSharedMemory();
}

// Drops the carried errors: they belong to other parameters than those loaded.
void ReducerStrategy::AfterLoad() {
  if (compressor_ != nullptr) compressor_->Restart();
}

void ReducerStrategy::BeforeBackward(const Action& pass) {
  if (pass.completes) chunks_.at(static_cast<size_t>(pass.chunk)).reducer->prepare_for_backward({});
}

at::Tensor ReducerStrategy::ShareSquaredNorm() {
  return measured_ ? local_->SquaredNorm() : at::Tensor();
}

// Takes the tail as the wait: the Reducer waits for all buckets together, at the end.
CommTotals ReducerStrategy::Totals() {
  CommTotals totals = times_->Totals();
  totals.backward_exposed_seconds = times_->TailSeconds();
  // The wait is for the message that completes a bucket's reduction.
  if (!totals.traffic.empty()) {
    totals.traffic.back().exposed_seconds = totals.backward_exposed_seconds;
  }
  return totals;
}

BucketLayout ReducerStrategy::Layout() const {
  BucketLayout layout;
  for (const Chunk& chunk : chunks_) {
    std::unordered_map<const c10::TensorImpl*, uint32_t> numbers;
    for (size_t i = 0; i < chunk.parameters.size(); ++i) {
      numbers[chunk.parameters[i].unsafeGetTensorImpl()] = chunk.numbers[i];
    }
    for (const c10d::GradBucket& bucket : chunk.reducer->get_grad_buckets(true)) {
      auto& in_bucket = layout.emplace_back();
      for (const at::Tensor& parameter : bucket.getParameters()) {
        in_bucket.push_back(numbers.at(parameter.unsafeGetTensorImpl()));
      }
    }
  }
  return layout;
}

}  // namespace dt::trainer
