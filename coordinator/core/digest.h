// digest.h: the token of an attempt, made from the bits that its event brought.
#pragma once

#include <array>
#include <cstdint>

#include "common/ids.h"

namespace dt {

// Random because the entropy is; tokens of one event differ because the attempts do.
AttemptToken MakeToken(const std::array<uint64_t, 2>& entropy, const AttemptId& id);

}  // namespace dt
