// standby.h: how the error of a coordinator that waits for its turn begins, so that clients know
// that another one leads or soon will.
#pragma once

namespace dt {

inline constexpr char kStandbySays[] = "this coordinator is a standby: ";

}  // namespace dt
