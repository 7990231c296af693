// local_sgd.cc: see local_sgd.h.
#include "worker/trainer/parallel/local_sgd.h"

#include <utility>

#include "common/check.h"

namespace dt::trainer {

LocalSgdStrategy::LocalSgdStrategy(const std::vector<Piece>& parameters,
                                   const std::vector<Piece>& moments, std::shared_ptr<Group> group,
                                   std::shared_ptr<Timeline> timeline, Options options)
    : parameters_(parameters),
      options_(std::move(options)),
      route_{Axis::kData, std::move(group), timeline, std::make_shared<CommTimes>(timeline)} {
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
  AfterLoad();
}

void LocalSgdStrategy::BeginStep(const StepNotes& /*notes*/) { route_.times->Restart(); }

void LocalSgdStrategy::AfterLoad() {
  if (options_.outer != nullptr) options_.outer->Anchor();
}

void LocalSgdStrategy::AfterUpdate(int64_t step) {
  if (options_.sync.After(step)) Sync();
}

LocalSgdStrategy::UnderWay LocalSgdStrategy::Start(const Bucket& bucket) const {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : bucket) parts.push_back(tensor.reshape({-1}));
  UnderWay next{&bucket, at::cat(parts), {}};
  next.transfer = Transfers::AllReduce(route_, next.flat);
  return next;
}

void LocalSgdStrategy::Finish(UnderWay& under_way) const {
  under_way.transfer.Wait(CommTimes::During::kUpdate);
  under_way.flat.div_(route_.group->size());
  int64_t from = 0;
  for (const at::Tensor& tensor : *under_way.bucket) {
    tensor.copy_(under_way.flat.narrow(0, from, tensor.numel()).view(tensor.sizes()));
    from += tensor.numel();
  }
}

void LocalSgdStrategy::Sync() {
  at::NoGradGuard no_grad;
  UnderWay before;
  for (const Bucket& bucket : buckets_) {
    UnderWay next = Start(bucket);
    if (before.bucket != nullptr) Finish(before);
    before = std::move(next);
  }
  Finish(before);
  route_.group->BroadcastFromRoot(options_.counts);
  if (options_.outer != nullptr) options_.outer->Step();
  ++syncs_;
  if (parameters_.at(0).value.is_cpu()) newest_ = route_.times->Totals();
}

CommTotals LocalSgdStrategy::Totals() const {
  return parameters_.at(0).value.is_cpu() ? newest_ : route_.times->Totals();
}

}  // namespace dt::trainer
