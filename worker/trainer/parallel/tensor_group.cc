// tensor_group.cc: gathers and sums along a sequence, with their gradients.
#include "worker/trainer/parallel/tensor_group.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace dt::trainer {
namespace {

using Tokens = TensorAxis::Tokens;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Ends : torch::CustomClassHolder {
  TensorGroup* group = nullptr;
  Tokens tokens = Tokens::kAll;
};

c10::intrusive_ptr<Ends> EndsOf(TensorGroup* group, Tokens tokens) {
  auto ends = c10::make_intrusive<Ends>();
  ends->group = group;
  ends->tokens = tokens;
  return ends;
}

void Keep(AutogradContext* context, const c10::intrusive_ptr<Ends>& ends) {
  context->saved_data["ends"] = c10::IValue::make_capsule(ends);
}
c10::intrusive_ptr<Ends> Kept(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<Ends>(context->saved_data["ends"].toCapsule());
}

// Enters a tensor-parallel region. Forward: gathers the tokens, or passes x on. Backward: sums the
// ranks' partial gradients.
struct In : torch::autograd::Function<In> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<Ends>& ends) {
    Keep(context, ends);
    return ends->tokens == Tokens::kOwn ? ends->group->AllTokens(x) : x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::intrusive_ptr<Ends> ends = Kept(context);
    const at::Tensor& gradient = gradients[0];
    return {ends->tokens == Tokens::kOwn ? ends->group->OwnTokens(gradient)
                                         : ends->group->Sum(gradient),
            at::Tensor()};
  }
};

// Leaves a tensor-parallel region. Forward: sums the ranks' partial results. Backward: the gradient
// of a sum is the gradient of each of its terms.
struct Out : torch::autograd::Function<Out> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<Ends>& ends) {
    Keep(context, ends);
    return ends->tokens == Tokens::kOwn ? ends->group->OwnTokens(x) : ends->group->Sum(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::intrusive_ptr<Ends> ends = Kept(context);
    const at::Tensor& gradient = gradients[0];
    return {ends->tokens == Tokens::kOwn ? ends->group->AllTokens(gradient) : gradient,
            at::Tensor()};
  }
};

// Size below which tensors are combined: a message costs as much as some of these bytes.
constexpr size_t kAloneBytes = size_t{1} << 18;

}  // namespace

TensorGroup::TensorGroup(std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline,
                         bool splits_tokens)
    : route_{Axis::kTensor, std::move(group), timeline, std::make_shared<CommTimes>(timeline)},
      splits_tokens_(splits_tokens) {}

TensorAxis TensorGroup::axis() {
  return {.rank = route_.group->rank(),
          .ranks = route_.group->size(),
          .splits_tokens = splits_tokens_,
          .in = [this](const at::Tensor& x,
                       Tokens tokens) { return In::apply(x, EndsOf(this, tokens)); },
          .out = [this](const at::Tensor& x,
                        Tokens tokens) { return Out::apply(x, EndsOf(this, tokens)); },
          .gather = [this](const at::Tensor& mine) { return Gathered(mine); }};
}

at::Tensor TensorGroup::Gathered(const at::Tensor& mine) {
  at::NoGradGuard no_grad;
  std::vector<int64_t> shape = mine.sizes().vec();
  shape.insert(shape.begin(), route_.group->size());
  const at::Tensor gathered = at::empty({route_.group->size() * mine.numel()}, mine.options());
  Transfers::AllGather(route_, gathered, mine.contiguous().view({-1})).Wait(during_);
  return gathered.view(shape);
}

// Gathers every rank's tokens. Both backends concatenate by rank, so the parts of each sequence are
// brought together afterwards.
at::Tensor TensorGroup::AllTokens(const at::Tensor& own) {
  at::NoGradGuard no_grad;
  return Gathered(own).transpose(0, 1).reshape({own.size(0), -1, own.size(2)});
}

at::Tensor TensorGroup::OwnTokens(const at::Tensor& all) {
  at::NoGradGuard no_grad;
  const int64_t ranks = route_.group->size(), batch = all.size(0), tokens = all.size(1) / ranks;
  const at::Tensor by_rank = all.reshape({batch, ranks, tokens, -1}).transpose(0, 1).contiguous();
  const at::Tensor sent = by_rank.view({-1});
  const at::Tensor received = at::empty({Transfers::ReceivedBy(route_, sent)}, sent.options());
  Transfers::ReduceScatter(route_, sent, received).Wait(during_);
  return Transfers::Sum(route_, received, sent.numel() / ranks)
      .to(all.scalar_type())
      .view({batch, tokens, -1});
}

at::Tensor TensorGroup::Sum(const at::Tensor& mine) {
  at::NoGradGuard no_grad;
  at::Tensor sum = mine.clone(at::MemoryFormat::Contiguous);
  Transfers::AllReduce(route_, sum).Wait(during_);
  return sum;
}

void TensorGroup::SumInPlace(const std::vector<at::Tensor>& tensors) {
  at::NoGradGuard no_grad;
  std::vector<Transfer> transfers;
  std::vector<at::Tensor> together, flat;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    if (tensor.is_contiguous() && tensor.nbytes() >= kAloneBytes) {
      transfers.push_back(Transfers::AllReduce(route_, tensor));
      continue;
    }
    together.push_back(tensor);
    flat.push_back(tensor.reshape({-1}));
  }
  at::Tensor sums;
  if (!flat.empty()) {
    sums = at::cat(flat);
    transfers.push_back(Transfers::AllReduce(route_, sums));
  }
  for (Transfer& transfer : transfers) transfer.Wait(during_);
  int64_t from = 0;
  for (const at::Tensor& tensor : together) {
    tensor.copy_(sums.narrow(0, from, tensor.numel()).view(tensor.sizes()));
    from += tensor.numel();
  }
}

}  // namespace dt::trainer
