// compressor.cc: contents of a message, and the error that the next step carries.
#include "worker/trainer/parallel/compressor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "common/draw.h"

namespace dt::trainer {
namespace {

// Returns whether all elements are finite, from their sum, on the device. Ranks with the same bits
// get the same answer.
at::Tensor AllFinite(const at::Tensor& tensor) { return at::isfinite(tensor.sum()); }

}  // namespace

void Compressor::BeginStep(int64_t step, Sends sends) {
  step_ = step;
  sends_ = sends;
}

Compressor::Bytes Compressor::Sent(const std::vector<Item>& items) const {
  Bytes sent;
  for (const Item& item : items) {
    const Bytes more = SentWhole(item) ? Bytes{item.gradient.nbytes(), 0} : SentOf(item.gradient);
    sent.averaged += more.averaged;
    sent.gathered += more.gathered;
  }
  return sent;
}

void Compressor::Reduce(const std::vector<Item>& items, Exchange& exchange) {
  std::vector<at::Tensor> whole;
  std::vector<Item> paying;
  for (const Item& item : items) {
    if (!SentWhole(item)) {
      paying.push_back(item);
      continue;
    }
    const auto error = errors_.find(item.parameter);
    if (error != errors_.end()) item.gradient.add_(error->second);
    Forget(item.parameter);
    whole.push_back(item.gradient);
  }
  if (!paying.empty()) return ReducePaying(paying, std::move(whole), exchange);
  AverageTogether(whole, exchange);
}

at::Tensor Compressor::WithError(const Item& item) const {
  const auto error = errors_.find(item.parameter);
  return error == errors_.end() ? item.gradient.clone() : item.gradient + error->second;
}

void Compressor::Carry(const Item& item, const at::Tensor& error, const at::Tensor& finite) {
  at::Tensor& carried = errors_[item.parameter];
  const at::Tensor next = error.view(item.gradient.sizes());
  carried = at::where(finite, next, carried.defined() ? carried : at::zeros_like(next));
}

void Compressor::AverageTogether(const std::vector<at::Tensor>& parts, Exchange& exchange) {
  if (parts.empty()) return;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& part : parts) flat.push_back(part.reshape({-1}));
  const at::Tensor message = at::cat(flat);
  exchange.Average(message);
  int64_t at = 0;
  for (const at::Tensor& part : parts) {
    part.copy_(message.narrow(0, at, part.numel()).view(part.sizes()));
    at += part.numel();
  }
}

// --- PowerSGD ---
bool PowerSgd::Pays(const at::Tensor& gradient) const {
  if (gradient.dim() < 2) return false;
  const int64_t rows = gradient.size(0), columns = gradient.numel() / std::max<int64_t>(rows, 1);
  return 2 * rank_ * (rows + columns) <= gradient.numel();
}

Compressor::Bytes PowerSgd::SentOf(const at::Tensor& gradient) const {
  const int64_t rows = gradient.size(0), columns = gradient.numel() / rows;
  return {sizeof(float) * static_cast<size_t>(rank_ * (rows + columns)), 0};
}

void PowerSgd::Restart() {
  Compressor::Restart();
  rights_.clear();
}

void PowerSgd::Forget(uint32_t parameter) {
  Compressor::Forget(parameter);
  rights_.erase(parameter);
}

at::Tensor PowerSgd::Right(const Item& item) const {
  const auto before = rights_.find(item.parameter);
  if (before != rights_.end()) return before->second;
  const int64_t columns = item.gradient.numel() / item.gradient.size(0);
  auto generator = at::detail::createCPUGenerator(
      DrawBits({seed_, static_cast<uint64_t>(step()), item.parameter}));
  return at::empty({columns, rank_}, at::kFloat)
      .normal_(0, 1, generator)
      .to(item.gradient.device());
}

void PowerSgd::ReducePaying(const std::vector<Item>& items, std::vector<at::Tensor> whole,
                            Exchange& exchange) {
  std::vector<at::Tensor> matrices, lefts, rights;
  for (const Item& item : items) {
    matrices.push_back(WithError(item).view({item.gradient.size(0), -1}));
    lefts.push_back(at::mm(matrices.back(), Right(item)));
  }
  std::vector<at::Tensor> first = std::move(whole);
  first.insert(first.end(), lefts.begin(), lefts.end());
  AverageTogether(first, exchange);
  for (size_t i = 0; i < items.size(); ++i) {
    lefts[i] = std::get<0>(at::linalg_qr(lefts[i], "reduced"));
    rights.push_back(at::mm(matrices[i].t(), lefts[i]));
  }
  AverageTogether(rights, exchange);
  for (size_t i = 0; i < items.size(); ++i) {
    const at::Tensor estimate = at::mm(lefts[i], rights[i].t());
    const at::Tensor finite = AllFinite(rights[i]);
    Carry(items[i], matrices[i] - estimate, finite);
    const at::Tensor before = Right(items[i]);
    rights_[items[i].parameter] = at::where(finite, rights[i], before);
    items[i].gradient.copy_(estimate.view(items[i].gradient.sizes()));
  }
}

// --- Top-k ---
int64_t TopK::CountOf(const at::Tensor& gradient) const {
  const auto count =
      static_cast<int64_t>(std::ceil(share_ * static_cast<double>(gradient.numel())));
  return std::clamp<int64_t>(count, 1, gradient.numel());
}

bool TopK::Pays(const at::Tensor& gradient) const {
  // Top-k gathers an index and a value from every rank; an all-reduce moves about two values per
  // element.
  return gradient.dim() >= 2 && gradient.numel() <= std::numeric_limits<int32_t>::max() &&
         ranks() * CountOf(gradient) < gradient.numel();
}

Compressor::Bytes TopK::SentOf(const at::Tensor& gradient) const {
  const auto pairs = static_cast<size_t>(ranks() * CountOf(gradient));
  return {0, pairs * (sizeof(int32_t) + sizeof(float))};
}

void TopK::ReducePaying(const std::vector<Item>& items, std::vector<at::Tensor> whole,
                        Exchange& exchange) {
  AverageTogether(whole, exchange);
  std::vector<at::Tensor> gradients, places, message;
  for (const Item& item : items) {
    gradients.push_back(WithError(item).view({-1}));
    const int64_t count = CountOf(item.gradient);
    places.push_back(std::get<1>(at::topk(gradients.back().abs(), count, 0, /*largest=*/true,
                                          /*sorted=*/false)));
    message.push_back(places.back().to(at::kInt));
    message.push_back(gradients.back().index_select(0, places.back()).view(at::kInt));
  }
  const at::Tensor gathered = exchange.Gather(at::cat(message));
  int64_t at = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t count = places[i].numel();
    at::Tensor mean = at::zeros_like(gradients[i]);
    for (int rank = 0; rank < ranks(); ++rank) {
      const at::Tensor row = gathered[rank];
      mean.index_add_(0, row.narrow(0, at, count),
                      row.narrow(0, at + count, count).view(at::kFloat));
    }
    mean.div_(ranks());
    at += 2 * count;
    Carry(items[i], gradients[i].index_fill_(0, places[i], 0), AllFinite(mean));
    items[i].gradient.copy_(mean.view(items[i].gradient.sizes()));
  }
}

}  // namespace dt::trainer
