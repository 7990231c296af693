// requests.h: requests in the form a ClientCall holds them: unchanged, but a submission is
// prepared.
#pragma once

#include <cstdint>
#include <utility>

#include "coordinator/core/model/submission.h"

namespace dt {

template <typename Request>
Request MakeRequest(Request request, DeviceKind, uint64_t) {
  return request;
}
inline Submission MakeRequest(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy) {
  return PrepareSubmission(std::move(request), for_auto, entropy);
}

}  // namespace dt
