// narrow_sum.cc: all-to-all, sum, all-gather.
#include "worker/trainer/parallel/narrow_sum.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

namespace dt::trainer {

NarrowSum::NarrowSum(const Group& group, at::Tensor tensor, at::ScalarType type)
    : group_(&group), tensor_(tensor.view(-1)) {
  at::NoGradGuard no_grad;
  if (!tensor_.is_cpu()) {
    sent_ = tensor_.to(type);
    std::vector<at::Tensor> tensors{sent_};
    work_ = group.process_group()->allreduce(tensors);
    return;
  }
  const int64_t ranks = group.size();
  const int64_t part = (tensor_.numel() + ranks - 1) / ranks;
  sent_ = at::zeros({part * ranks}, tensor_.options().dtype(type));
  sent_.narrow(0, 0, tensor_.numel()).copy_(tensor_);
  received_ = at::empty_like(sent_);
  std::vector<int64_t> evenly;
  work_ = group.process_group()->alltoall_base(received_, sent_, evenly, evenly);
}

NarrowSum::~NarrowSum() = default;
NarrowSum::NarrowSum(NarrowSum&&) noexcept = default;

void NarrowSum::Spread(double divisor) {
  at::NoGradGuard no_grad;
  divisor_ = divisor;
  if (!received_.defined()) return;
  work_->wait();
  const at::Tensor sum = received_.view({group_->size(), -1}).sum(0, /*keepdim=*/false, at::kFloat);
  at::Tensor mine = sum.div_(divisor).to(sent_.scalar_type());
  work_ = group_->process_group()->_allgather_base(sent_, mine);
}

void NarrowSum::Finish() {
  at::NoGradGuard no_grad;
  work_->wait();
  tensor_.copy_(sent_.narrow(0, 0, tensor_.numel()));
  if (!received_.defined()) tensor_.div_(divisor_);
}

}  // namespace dt::trainer
