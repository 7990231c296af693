// may_go_on.h: lets a caller end work that grows with its input.
//
// Role:  pure code asks it between the parts of its work; the caller has the clock.
#pragma once

#include <functional>

namespace dt {

// Returns whether the work may go on, for example because its caller's deadline has not passed. An
// empty function means yes.
using MayGoOn = std::function<bool()>;

inline bool GoesOn(const MayGoOn& may_go_on) { return !may_go_on || may_go_on(); }

}  // namespace dt
