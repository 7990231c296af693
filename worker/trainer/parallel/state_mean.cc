// state_mean.cc: see state_mean.h.
#include "worker/trainer/parallel/state_mean.h"

#include <utility>

#include "common/check.h"

namespace dt::trainer {

StateMean::StateMean(const std::vector<Piece>& parameters, const std::vector<Piece>& moments,
                     Route route, Options options)
    : route_(std::move(route)), options_(std::move(options)) {
  const double bucket_bytes = options_.bucket_mb * 1024 * 1024;
  double filled = 0;
  std::vector<at::Tensor> values;
  for (const std::vector<Piece>* pieces : {&parameters, &moments}) {
    for (const Piece& piece : *pieces) {
      DT_CHECK(piece.IsWhole());
      const at::Tensor value = piece.value.detach();
      const auto bytes = static_cast<double>(value.nbytes());
      if (buckets_.empty() || filled + bytes > bucket_bytes) {
        buckets_.emplace_back();
        filled = 0;
      }
      buckets_.back().push_back(value);
      filled += bytes;
      if (pieces == &parameters) values.push_back(value);
    }
  }
  route_.group->BroadcastFromRoot(values);
}

StateMean::UnderWay StateMean::Start(const Bucket& bucket) const {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : bucket) parts.push_back(tensor.reshape({-1}));
  UnderWay next{&bucket, at::cat(parts), {}};
  next.transfer = Transfers::AllReduce(route_, next.flat);
  return next;
}

void StateMean::Finish(UnderWay& under_way) const {
  under_way.transfer.Wait(CommTimes::During::kUpdate);
  under_way.flat.div_(route_.group->size());
  int64_t from = 0;
  for (const at::Tensor& tensor : *under_way.bucket) {
    tensor.copy_(under_way.flat.narrow(0, from, tensor.numel()).view(tensor.sizes()));
    from += tensor.numel();
  }
}

void StateMean::Take() {
  at::NoGradGuard no_grad;
  UnderWay before;
  for (const Bucket& bucket : buckets_) {
    UnderWay next = Start(bucket);
    if (before.bucket != nullptr) Finish(before);
    before = std::move(next);
  }
  Finish(before);
  if (!options_.counts.empty()) route_.group->BroadcastFromRoot(options_.counts);
}

}  // namespace dt::trainer
