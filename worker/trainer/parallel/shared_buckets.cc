// shared_buckets.cc: places buckets in shared memory and averages them there.
#include "worker/trainer/parallel/shared_buckets.h"

#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace dt::trainer {
namespace {

class SharedAverage final : public BucketReduction {
 public:
  explicit SharedAverage(std::shared_ptr<HostReduce> reduce) : reduce_(std::move(reduce)) {}

  std::vector<Message> Messages(const Bucket& bucket) override {
    return {{CollectiveOp::kAllReduce, bucket.buffer.nbytes()}};
  }
  void Post() override { reduce_->Post(); }
  void Reduce(const Bucket& bucket, const Complete& complete) override {
    const at::Tensor& buffer = bucket.buffer;
    const float* part = reduce_->memory()->Part(reduce_->rank());
    const size_t first = static_cast<size_t>(buffer.const_data_ptr<float>() - part);
    const absl::Status averaged =
        reduce_->Average(++averaged_, first, static_cast<size_t>(buffer.numel()));
    if (!averaged.ok()) C10_THROW_ERROR(DistError, std::string(averaged.message()));
    complete(0);
  }
  void Abandon() override { reduce_->Abort(); }

 private:
  const std::shared_ptr<HostReduce> reduce_;
  uint64_t averaged_ = 0;  // buckets are averaged in the order in which they are posted
};

}  // namespace

void PlaceStorage(const at::Tensor& tensor, const std::shared_ptr<HostMemory>& memory,
                  float* place) {
  auto* const keeper = new std::shared_ptr<HostMemory>(memory);
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(at::DataPtr(
      place, keeper, [](void* kept) { delete static_cast<std::shared_ptr<HostMemory>*>(kept); },
      c10::Device(c10::kCPU)));
}

void PlaceBuckets(const c10d::Reducer& reducer, const std::shared_ptr<HostMemory>& memory,
                  int rank) {
  size_t at = 0;
  for (c10d::GradBucket& bucket : reducer.get_grad_buckets(/*return_zero_tensors=*/false)) {
    const at::Tensor& buffer = bucket.getBufferRef();
    TORCH_CHECK(buffer.scalar_type() == at::kFloat && buffer.storage_offset() == 0);
    const size_t floats = SharedFloats(buffer.numel());
    TORCH_CHECK(at + floats <= memory->shape().floats, "buckets outgrow their memory");
    PlaceStorage(buffer, memory, memory->Part(rank) + at);
    at += floats;
  }
}

std::shared_ptr<BucketReduction> MakeSharedAverage(std::shared_ptr<HostReduce> reduce) {
  return std::make_shared<SharedAverage>(std::move(reduce));
}

}  // namespace dt::trainer
