// stages.cc: see stages.h.
#include "plan/stages.h"

#include <algorithm>

namespace dt::plan {
namespace {

// Returns the multiplications of the head, in units of a layer's.
double HeadLayers(const ModelSize& model) {
  const auto width = static_cast<double>(model.width);
  const double layer = 4 * width * width + 2 * width * static_cast<double>(model.feed_forward);
  return layer == 0 ? 0 : static_cast<double>(model.rows) * width / layer;
}

}  // namespace

std::vector<LayerRange> DealLayers(const ModelSize& model, int64_t chunks) {
  if (chunks == 1) return {{0, model.layers}};
  const double head = HeadLayers(model);
  const int64_t others = chunks - 1;
  const auto dearest = [&](int64_t last) {
    const int64_t most = (model.layers - last + others - 1) / others;
    return std::max(static_cast<double>(last) + head, static_cast<double>(most));
  };
  // Takes the largest of equally cheap ones: earlier stages keep more activations.
  int64_t last = 1;
  for (int64_t next = 2; next <= model.layers - others; ++next) {
    if (dearest(next) <= dearest(last)) last = next;
  }
  std::vector<LayerRange> ranges;
  const int64_t even = (model.layers - last) / others, left = (model.layers - last) % others;
  int64_t from = 0;
  for (int64_t chunk = 0; chunk < others; ++chunk) {
    const int64_t count = even + (chunk >= others - left ? 1 : 0);
    ranges.push_back({from, count});
    from += count;
  }
  ranges.push_back({from, last});
  return ranges;
}

int64_t WarmUpPasses(PassOrder order, int64_t stages, int64_t chunks_each, int64_t stage,
                     int64_t passes) {
  if (order == PassOrder::kForwardFirst) return passes;
  const int64_t behind = stages - stage - 1;
  return std::min(passes, chunks_each > 1 ? 2 * behind + (chunks_each - 1) * stages : behind);
}

double BubbleRatio(int64_t stages, int64_t chunks_each, int64_t micro_steps) {
  const auto waits = static_cast<double>(stages - 1);
  return waits / (static_cast<double>(chunks_each * micro_steps) + waits);
}

}  // namespace dt::plan
