// arithmetic.h: arithmetic on numbers from outside, which never overflows.
//
// Role:  pure. A sum, a product or a cast of a number from a client, a worker or a file may leave
//        its type. Here it gives the nearest number that the type holds: signed overflow and a cast
//        out of range are undefined, and a division may trap.
// Tests: tests/common/arithmetic_test.cc
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace dt {

// Returns the product of numbers of at least 0, at most the largest int64_t.
inline int64_t BoundedProduct(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool beyond = false;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    beyond = beyond || __builtin_mul_overflow(product, factor, &product);
  }
  return beyond ? std::numeric_limits<int64_t>::max() : product;
}

// Returns the integer part of `number`, or the nearest value that the type holds; 0 for NaN.
template <typename Integer>
Integer BoundedInteger(double number) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(number)) return 0;
  // As a double the largest integer is rounded up, so it is out of range itself.
  if (number >= static_cast<double>(Limits::max())) return Limits::max();
  if (number <= static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<Integer>(number);
}

}  // namespace dt
