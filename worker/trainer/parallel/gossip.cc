// gossip.cc: see gossip.h.
#include "worker/trainer/parallel/gossip.h"

#include <bit>
#include <utility>

#include "common/check.h"

namespace dt::trainer {

int PeerOf(int rank, int ranks, int64_t step) {
  DT_CHECK(ranks > 1 && std::has_single_bit(static_cast<unsigned>(ranks)));
  const int distances = std::countr_zero(static_cast<unsigned>(ranks));
  return rank ^ (1 << (step % distances));
}

GossipStrategy::GossipStrategy(const std::vector<Piece>& parameters,
                               const std::vector<Piece>& moments, std::shared_ptr<Group> group,
                               std::shared_ptr<Timeline> timeline, Options options)
    : parameters_(parameters),
      options_(std::move(options)),
      route_{Axis::kData, std::move(group), timeline, std::make_shared<CommTimes>(timeline)},
      mean_(parameters, moments, route_, options_.mean),
      swapper_(MakeSwapper(route_, parameters.at(0).value.device())) {}

void GossipStrategy::BeginStep(const StepNotes& /*notes*/) {
  route_.times->Restart();
  share_.BeginStep();
  for (UnderWay& each : under_way_) each.swap->BeginStep();
}

void GossipStrategy::BeginSwap(int64_t step) {
  std::vector<at::Tensor> parts;
  for (const Piece& piece : parameters_) parts.push_back(piece.value.detach().reshape({-1}));
  UnderWay next;
  next.step = step;
  next.mine = at::cat(parts);
  next.theirs = at::empty_like(next.mine);
  const Group& group = *route_.group;
  next.swap = swapper_->Begin(PeerOf(group.rank(), group.size(), step), next.mine, next.theirs);
  // Count the bytes at sending. The table shows the bytes of the rank that sends most. Ranks send
  // in the same step but receive in different ones, so bytes counted at receiving would appear in
  // two rows.
  if (OnCpu()) {
    share_.Add(Traffic{CollectiveOp::kSend, Axis::kData, 0, 0,
                       static_cast<double>(next.mine.nbytes()), 1});
  }
  under_way_.push_back(std::move(next));
}

void GossipStrategy::MixIn(UnderWay& under_way) {
  if (std::optional<Traffic> traffic = under_way.swap->Wait()) {
    traffic->bytes = traffic->count = 0;  // BeginSwap has counted them
    share_.Add(*traffic);
  }
  ++swaps_;
  const at::Tensor way = under_way.theirs.sub_(under_way.mine);
  if (under_way.moved.defined()) way.sub_(under_way.moved);
  way.mul_(0.5);
  int64_t from = 0;
  for (const Piece& piece : parameters_) {
    at::Tensor value = piece.value.detach();
    value.add_(way.narrow(0, from, value.numel()).view(value.sizes()));
    from += value.numel();
  }
  for (UnderWay& other : under_way_) {
    if (&other == &under_way) continue;
    other.moved = other.moved.defined() ? other.moved.add_(way) : way.clone();
  }
}

void GossipStrategy::MixInWhatIsThere(int64_t from) {
  for (auto each = under_way_.begin(); each != under_way_.end();) {
    if (each->step > from && !each->swap->Done()) {
      ++each;
      continue;
    }
    MixIn(*each);
    each = under_way_.erase(each);
  }
}

void GossipStrategy::AfterUpdate(int64_t step) {
  at::NoGradGuard no_grad;
  if (!options_.sync.After(step)) {
    MixInWhatIsThere(step - kLatest);
    BeginSwap(step);
    return;
  }
  MixInWhatIsThere(step);
  mean_.Take();
  ++syncs_;
  if (OnCpu()) share_.Add(route_.times->Totals());
}

CommTotals GossipStrategy::Totals() {
  const auto swaps = static_cast<double>(std::exchange(swaps_, 0));
  const auto syncs = static_cast<double>(std::exchange(syncs_, 0));
  if (!OnCpu()) {
    for (const Traffic& traffic : route_.times->Totals().traffic) {
      share_.Add(traffic, traffic.op == CollectiveOp::kSend ? swaps : syncs);
    }
  }
  return share_.Take();
}

}  // namespace dt::trainer
