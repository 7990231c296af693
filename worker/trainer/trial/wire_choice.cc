// wire_choice.cc: see wire_choice.h.
#include "worker/trainer/trial/wire_choice.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"

namespace dt::trainer {

void WireChoice::Add(const WireMeasure& measure) {
  mine_.waited_seconds += measure.waited_seconds;
  mine_.seconds += measure.seconds;
}

std::string WireChoice::Choose(const std::vector<WireMeasure>& ranks, Narrows narrows) {
  DT_CHECK(open_);
  open_ = false;
  kept_ = Wire::kFp32;
  if (narrows == Narrows::kNo) {
    return "fp32: ranks of one host sum gradients in shared memory";
  }
  double waited = 0, seconds = 0;
  for (const WireMeasure& rank : ranks) {
    waited += rank.waited_seconds;
    seconds += rank.seconds;
  }
  const double share = seconds > 0 ? waited / seconds : 0;
  const bool narrow = share > kShareToNarrow;
  if (narrow) kept_ = Wire::kBf16;
  return absl::StrCat(
      narrow ? "bf16" : "fp32",
      absl::StrFormat(": ranks waited for gradients for %.1f %% of a step, %s than %.0f %%",
                      100 * share, narrow ? "more" : "no more", 100 * kShareToNarrow));
}

}  // namespace dt::trainer
