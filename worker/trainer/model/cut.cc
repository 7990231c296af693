// cut.cc: see cut.h.
#include "worker/trainer/model/cut.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/check.h"
#include "plan/cost.h"

namespace dt::trainer {
namespace {

// Cuts by the end of the parameter's name. Other parameters are not cut.
constexpr std::array<std::pair<std::string_view, Cut::Way>, 6> kWays = {{
    {".attn.c_attn.weight", Cut::Way::kHeads},
    {".attn.c_attn.bias", Cut::Way::kHeads},
    {".attn.c_proj.weight", Cut::Way::kColumns},
    {".mlp.c_fc.weight", Cut::Way::kRows},
    {".mlp.c_fc.bias", Cut::Way::kRows},
    {".mlp.c_proj.weight", Cut::Way::kColumns},
}};

// Parameters cut by rows, if the rows are divisible.
constexpr std::array<std::string_view, 3> kOfVocabulary = {"wte.weight", "lm_head.weight",
                                                           "lm_head.bias"};

size_t DimensionOf(const Cut& cut) { return cut.way == Cut::Way::kColumns ? 1 : 0; }

}  // namespace

Cut CutOf(std::string_view parameter, at::IntArrayRef whole, int part, int parts) {
  const bool of_vocabulary =
      std::find(kOfVocabulary.begin(), kOfVocabulary.end(), parameter) != kOfVocabulary.end();
  if (of_vocabulary && plan::CutsVocabulary(whole[0], parts)) return {Cut::Way::kRows, part, parts};
  for (const auto& [end, way] : kWays) {
    if (parameter.ends_with(end)) return {way, part, parts};
  }
  return {Cut::Way::kNone, part, parts};
}

std::vector<int64_t> ShapeOf(const Cut& cut, std::vector<int64_t> whole) {
  if (cut.IsWhole()) return whole;
  int64_t& size = whole.at(DimensionOf(cut));
  DT_CHECK(size % cut.parts == 0);
  size /= cut.parts;
  return whole;
}

at::Tensor PlaceOf(const Cut& cut, const at::Tensor& whole) {
  if (cut.IsWhole()) return whole;
  at::Tensor rows = whole;
  auto dimension = static_cast<int64_t>(DimensionOf(cut));
  if (cut.way == Cut::Way::kHeads) {
    rows = whole.unflatten(0, {3, whole.size(0) / 3});
    dimension = 1;
  }
  const int64_t size = rows.size(dimension) / cut.parts;
  return rows.narrow(dimension, cut.part * size, size);
}

at::Tensor TakenPart(const Cut& cut, const at::Tensor& whole) {
  if (cut.IsWhole()) return whole;
  const at::Tensor place = PlaceOf(cut, whole);
  // Copy: a view would keep the full tensor alive.
  at::Tensor part = at::empty(ShapeOf(cut, whole.sizes().vec()), whole.options());
  part.view(place.sizes()).copy_(place);
  return part;
}

}  // namespace dt::trainer
