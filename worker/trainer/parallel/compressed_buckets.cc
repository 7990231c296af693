// compressed_buckets.cc: splits buckets into gradients of parameters, and exchanges them over a
// group.
#include "worker/trainer/parallel/compressed_buckets.h"

#include <functional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <unordered_map>
#include <utility>

namespace dt::trainer {
namespace {

class GroupExchange final : public Exchange {
 public:
  GroupExchange(Group& group, std::function<void()> averaged, std::function<void()> gathered)
      : group_(group), averaged_(std::move(averaged)), gathered_(std::move(gathered)) {}
  int ranks() const override { return group_.size(); }
  void Average(at::Tensor mine) override {
    mine.div_(ranks());
    std::vector<at::Tensor> tensors{mine};
    group_.process_group()->allreduce(tensors)->wait();
    averaged_();
  }
  at::Tensor Gather(const at::Tensor& mine) override {
    const at::Tensor all = group_.Concatenated(mine).view({ranks(), -1});
    gathered_();
    return all;
  }

 private:
  Group& group_;
  const std::function<void()> averaged_, gathered_;
};

class CompressedAverage final : public BucketReduction {
 public:
  CompressedAverage(std::shared_ptr<Compressor> compressor, std::shared_ptr<Group> group,
                    const std::vector<at::Tensor>& parameters)
      : compressor_(std::move(compressor)), group_(std::move(group)) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      numbers_[parameters[i].unsafeGetTensorImpl()] = static_cast<uint32_t>(i);
    }
  }

  std::vector<Message> Messages(const Bucket& bucket) override {
    const Compressor::Bytes sent = compressor_->Sent(ItemsOf(bucket));
    std::vector<Message> messages;
    if (sent.averaged > 0) messages.push_back({CollectiveOp::kAllReduce, sent.averaged});
    if (sent.gathered > 0) messages.push_back({CollectiveOp::kAllGather, sent.gathered});
    return messages;
  }
  void Reduce(const Bucket& bucket, const Complete& complete) override {
    const std::vector<Compressor::Item> items = ItemsOf(bucket);
    const bool averages = compressor_->Sent(items).averaged > 0;
    // A message that is sent in two parts is complete after the second.
    GroupExchange exchange(
        *group_, [&] { complete(0); }, [&] { complete(averages ? 1 : 0); });
    compressor_->Reduce(items, exchange);
  }

 private:
  std::vector<Compressor::Item> ItemsOf(const Bucket& bucket) const {
    std::vector<Compressor::Item> items;
    for (size_t i = 0; i < bucket.parameters.size(); ++i) {
      items.push_back(
          {numbers_.at(bucket.parameters[i].unsafeGetTensorImpl()), bucket.gradients.at(i)});
    }
    return items;
  }

  const std::shared_ptr<Compressor> compressor_;
  const std::shared_ptr<Group> group_;
  std::unordered_map<const c10::TensorImpl*, uint32_t> numbers_;
};

}  // namespace

std::shared_ptr<BucketReduction> MakeCompressedAverage(std::shared_ptr<Compressor> compressor,
                                                       std::shared_ptr<Group> group,
                                                       const std::vector<at::Tensor>& parameters) {
  return std::make_shared<CompressedAverage>(std::move(compressor), std::move(group), parameters);
}

}  // namespace dt::trainer
