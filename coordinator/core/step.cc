// step.cc: one event in, effects out.
#include "coordinator/core/step.h"

namespace dt {

Effects Step(State& state, Event&& event, Instant now) {
  (void)state;
  (void)event;
  (void)now;
  return {};
}

}  // namespace dt
