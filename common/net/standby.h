// standby.h: how the answer of a coordinator begins that waits for its turn, so that clients know
// that another leads or soon will.
#pragma once

namespace dt {

inline constexpr char kStandbySays[] = "this coordinator is a standby: ";

}  // namespace dt
