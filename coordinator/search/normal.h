// normal.h: the standard normal distribution, the same bits with every compiler; the standard
// library's distributions differ between libraries.
//
// Role:   pure functions.
// Source: the quantile is Wichura's AS 241 (PPND16), Applied Statistics 37, 1988: relative error
//         about 1e-16.
// Tests:  tests/coordinator/search/normal_test.cc
#pragma once

namespace dt::search {

// The share below `z`.
double NormalCdf(double z);
// The share between `low` and `high`, taken in the tail where its digits are.
double NormalMass(double low, double high);
// Where the share `p` lies below: −∞ for 0 and less, +∞ for 1 and more. Above 0.5 a double holds
// fewer and fewer digits of the tail: use −NormalQuantile(share above).
double NormalQuantile(double p);

}  // namespace dt::search
