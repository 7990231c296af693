// may_go_on.h: how a caller ends work that grows with what somebody sent.
//
// Role:  pure code asks between the parts of its work; whoever calls it has the clock.
#pragma once

#include <functional>

namespace dt {

// Whether the work may go on: not behind its caller's deadline, say. Empty: it may.
using MayGoOn = std::function<bool()>;

inline bool GoesOn(const MayGoOn& may_go_on) { return !may_go_on || may_go_on(); }

}  // namespace dt
