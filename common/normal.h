// normal.h: the standard normal distribution with the same bits from every compiler. The standard
// library's distributions differ between libraries.
//
// Role:   pure functions.
// Source: the quantile is Wichura's AS 241 (PPND16), Applied Statistics 37, 1988: relative error
//         about 1e-16.
// Tests:  tests/common/normal_test.cc
#pragma once

namespace dt {

// Returns the probability below `z`.
double NormalCdf(double z);
// Returns the probability between `low` and `high`, computed in the tail that keeps more digits.
double NormalMass(double low, double high);
// Returns the point below which the probability is `p`: −∞ for 0 and less, +∞ for 1 and more. Above
// 0.5 a double keeps fewer and fewer digits of the tail: use −NormalQuantile(probability above).
double NormalQuantile(double p);

}  // namespace dt
