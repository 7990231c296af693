// published.h: Optuna 5.0.0's results on ten of the problems, for machines without it: medians and
// quartiles of 50 seeds, with its TPESampler(multivariate=True).
//
// Source: search_bench's own protocol, run with Optuna only.
#pragma once

#include <array>

namespace dt::bench {

struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;
};
// After 60 and 100 trials, one after another and eight at a time.
using Cells = std::array<Quartiles, 4>;

struct Published {
  const char* problem;
  Cells cells;
};
inline constexpr Published kPublished[] = {
    {"sphere5", {{{.502, .733, .835}, {.196, .249, .349}, {.808, 1.27, 1.98}, {.256, .341, .413}}}},
    {"branin2", {{{.439, .529, .622}, {.411, .427, .456}, {.493, .574, .716}, {.418, .450, .502}}}},
    {"hartmann6",
     {{{-3.135, -3.054, -2.945},
       {-3.247, -3.223, -3.138},
       {-2.972, -2.804, -2.206},
       {-3.157, -3.027, -2.757}}}},
    {"rosenbrock4", {{{60.4, 110, 268}, {14.1, 27.2, 68.7}, {84.8, 147, 351}, {22.7, 38.3, 121}}}},
    {"ackley10",
     {{{15.7, 17.3, 19.0}, {12.5, 14.6, 17.2}, {17.6, 18.0, 18.7}, {15.8, 16.8, 17.6}}}},
    {"levy6", {{{1.37, 2.48, 5.34}, {.526, .771, 2.73}, {2.60, 4.63, 8.26}, {1.35, 2.37, 5.93}}}},
    {"lm4",
     {{{4.651, 4.655, 4.660},
       {4.645, 4.651, 4.654},
       {4.655, 4.664, 4.678},
       {4.647, 4.654, 4.660}}}},
    {"lm8",
     {{{4.684, 4.698, 4.726},
       {4.671, 4.685, 4.704},
       {4.692, 4.719, 4.745},
       {4.677, 4.693, 4.710}}}},
    {"cat5",
     {{{3.015, 3.034, 3.061},
       {3.004, 3.011, 3.032},
       {3.025, 3.044, 3.067},
       {3.008, 3.032, 3.040}}}},
    {"logint3",
     {{{2.004, 2.009, 2.022},
       {2.001, 2.002, 2.003},
       {2.014, 2.024, 2.030},
       {2.001, 2.003, 2.008}}}}};

}  // namespace dt::bench
