// overloaded.h: one function object from several lambdas, for std::visit and Fold.
#pragma once

namespace dt {

template <typename... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
template <typename... Each>
Overloaded(Each...) -> Overloaded<Each...>;

}  // namespace dt
