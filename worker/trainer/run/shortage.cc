// shortage.cc: see shortage.h.
#include "worker/trainer/run/shortage.h"

#include <string>

#include "worker/trainer/device/failure.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/trial/share_text.h"

namespace dt::trainer {

absl::Status DescribeShortage(absl::Status result, const frames::Start& start,
                              const TrialSpec& spec, const StepPlan& plan, Device& device) {
  if (result.code() != kOutOfMemoryError) return result;
  const c10::Device torch = device.Torch();
  const std::string whose = ShareText(spec, plan, start.rank, start.world_size,
                                      ResolveCompute(spec.compute, torch.type()), torch.is_cuda());
  return OutOfMemoryError(
      DescribeOutOfMemory(std::string(result.message()), device.Facts().memory_bound, whose));
}

}  // namespace dt::trainer
