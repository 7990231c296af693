#include "bench/search/problems.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/check.h"
#include "common/draw.h"

namespace dt::bench {
namespace {

using spec::Dimension;
using spec::DimensionKind;
using spec::Point;

// Constants, not calls: a compiler folds a call with constant arguments more exactly than the
// library computes it, and the problems must be equal with every compiler.
constexpr double kPi = 3.14159265358979323846;
constexpr double kE = 2.71828182845904523536;
constexpr double kUntrained = 10.8;  // the loss of an untrained model

constexpr double kBatches[] = {8, 16, 32, 64, 128, 256, 512};
constexpr double kBetas[] = {0.9, 0.95, 0.98, 0.99, 0.999};

double Square(double x) { return x * x; }

double Shift(uint64_t key, double half) { return (1.2 * DrawUnit({777, key}) - 0.6) * half; }

double Sphere5(const Point& x) {
  double sum = 0;
  for (size_t k = 0; k < 5; ++k) sum += Square(x[k] - Shift(k, 5));
  return sum;
}

double Branin2(const Point& at) {
  const double x = at[0];
  const double y = at[1];
  return Square(y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6) +
         10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
}

double Hartmann6(const Point& x) {
  static constexpr double kA[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                      {0.05, 10, 17, 0.1, 8, 14},
                                      {3, 3.5, 1.7, 10, 17, 8},
                                      {17, 8, 0.05, 10, 0.1, 14}};
  static constexpr double kP[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                      {2329, 4135, 8307, 3736, 1004, 9991},
                                      {2348, 1451, 3522, 2883, 3047, 6650},
                                      {4047, 8828, 8732, 5743, 1091, 381}};
  static constexpr double kC[4] = {1, 1.2, 3, 3.2};
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    double exponent = 0;
    for (size_t j = 0; j < 6; ++j) exponent += kA[i][j] * Square(x[j] - kP[i][j] * 1e-4);
    sum -= kC[i] * std::exp(-exponent);
  }
  return sum;
}

double Rosenbrock4(const Point& x) {
  double sum = 0;
  for (size_t k = 0; k < 3; ++k) sum += 100 * Square(x[k + 1] - x[k] * x[k]) + Square(1 - x[k]);
  return sum;
}

double Ackley10(const Point& x) {
  double squares = 0;
  double waves = 0;
  for (size_t k = 0; k < 10; ++k) {
    const double z = x[k] - Shift(20 + k, 32.768);
    squares += z * z;
    waves += std::cos(2 * kPi * z);
  }
  return -20 * std::exp(-0.2 * std::sqrt(squares / 10)) - std::exp(waves / 10) + 20 + kE;
}

double Levy6(const Point& x) {
  double w[6];
  for (size_t k = 0; k < 6; ++k) w[k] = 1 + (x[k] - Shift(40 + k, 10)) / 4;
  double sum = Square(std::sin(kPi * w[0]));
  for (size_t k = 0; k < 5; ++k) {
    sum += Square(w[k] - 1) * (1 + 10 * Square(std::sin(kPi * w[k] + 1)));
  }
  return sum + Square(w[5] - 1) * (1 + Square(std::sin(2 * kPi * w[5])));
}

// A language model's training: `off` is the distance of the learning rate from the best, as a
// logarithm.
struct Core {
  double loss, off;
};
Core CoreOf(double rate, double batch, double width, double layers) {
  const double parameters = 12 * layers * width * width;
  const double tokens = 4.8e16 / (6 * parameters);
  const double best = 3e-3 * std::pow(width / 256, -0.8) * std::sqrt(std::min(batch, 256.0) / 64);
  const double off = std::log(rate / best);
  double loss = 1.69 + 406.4 / std::pow(parameters, 0.34) + 410.7 / std::pow(tokens, 0.28);
  loss += (off < 0 ? 0.06 : 0.10) * off * off;
  loss += 3 * Square(std::max(0.0, off - 2));
  loss += 0.04 * std::log(1 + batch / 128);
  if (batch < 32) loss += 0.03 * Square(std::log(32 / batch));
  return {loss, off};
}
Core CoreOfLm4(const Point& at) {
  return CoreOf(at[2], kBatches[static_cast<size_t>(at[0])], at[3], 6);
}
Core CoreOfLm8(const Point& at) {
  return CoreOf(at[3], kBatches[static_cast<size_t>(at[0])], at[7], at[2]);
}

// batch, dropout, lr, width
double Lm4(const Point& at) {
  return std::min(kUntrained, CoreOfLm4(at).loss + 1.2 * Square(at[1] - 0.05));
}

// batch, beta2, layers, lr, schedule, warmup, weight_decay, width
double Lm8(const Point& at) {
  static constexpr double kSchedules[] = {0, 0.01, 0.12, 0.004};
  static constexpr double kOfBetas[] = {0.06, 0, 0.008, 0.02, 0.05};
  const Core core = CoreOfLm8(at);
  const double above = std::max(0.0, core.off);
  double loss = core.loss + 0.02 * Square(std::log(at[6] / 0.1));
  loss += 0.8 * Square(at[5] - 0.05) + above * std::max(0.0, 0.05 - at[5]);
  loss += kSchedules[static_cast<size_t>(at[4])];
  loss += kOfBetas[static_cast<size_t>(at[1])] *
          (1 + 0.5 * std::log(512 / kBatches[static_cast<size_t>(at[0])]));
  return std::min(kUntrained, loss);
}

// activation, lr, norm, optimizer, weight_decay
double Cat5(const Point& at) {
  static constexpr double kBases[] = {0, 0.25, 0.03, 0.10};
  static constexpr double kBestRates[] = {1e-3, 0.3, 1e-4, 1e-2};
  static constexpr double kActivations[] = {0, 0.06, 0.015};
  const auto optimizer = static_cast<size_t>(at[3]);
  const double off = std::log(at[1] / kBestRates[optimizer]);
  double loss = 3 + kBases[optimizer] + 0.08 * off * off;
  loss += kActivations[static_cast<size_t>(at[0])] + 0.03 * Square(std::log(at[4] / 0.05));
  if (at[2] == 1) loss += 0.05 + 0.1 * std::max(0.0, off);
  return std::min(kUntrained, loss);
}

// depth, lr, units
double LogInt3(const Point& at) {
  const double size = std::log(at[2] / 700) + 0.35 * (at[0] - 4);
  return 2 + 0.15 * size * size + 0.02 * Square(at[0] - 3) +
         0.1 * Square(std::log(at[1] * at[2] / 0.7));
}

// beta2 (of adamw), layers, lr, momentum (of sgd), optimizer, width1, width2 and width3 (of as many
// layers)
double Tree8(const Point& at) {
  static constexpr double kBases[] = {0.06, 0, 0.15};
  static constexpr double kBestRates[] = {1e-3, 0.1, 3e-4};
  static constexpr double kOfBetas[] = {0.12, 0.04, 0, 0.02, 0.10};
  static constexpr double kOfLayers[] = {0.25, 0, 0.04};
  static constexpr double kBestWidths[] = {300, 150, 80};
  const auto optimizer = static_cast<size_t>(at[4]);
  const double off = std::log(at[2] / kBestRates[optimizer]);
  double loss = 2 + kBases[optimizer] + 0.08 * off * off;
  if (optimizer == 0) loss += kOfBetas[static_cast<size_t>(at[0])];
  if (optimizer == 1) loss += 1.5 * Square(at[3] - 0.9);
  loss += kOfLayers[static_cast<size_t>(at[1]) - 1];
  const size_t layers = std::min(static_cast<size_t>(at[1]), std::size(kBestWidths));
  for (size_t layer = 0; layer < layers; ++layer) {
    loss += 0.06 * Square(std::log(at[5 + layer] / kBestWidths[layer]));
  }
  return loss;
}

Dimension Real(const std::string& name, double low, double high) {
  return {.path = name, .low = low, .high = high};
}
Dimension Log(const std::string& name, double low, double high) {
  return {.path = name, .low = low, .high = high, .log = true};
}
Dimension Stepped(const std::string& name, double low, double high, double step) {
  return {.path = name, .kind = DimensionKind::kStepped, .low = low, .high = high, .step = step};
}
Dimension LogInteger(const std::string& name, double low, double high) {
  return {.path = name,
          .kind = DimensionKind::kStepped,
          .low = low,
          .high = high,
          .step = 1,
          .log = true,
          .integer = true};
}
template <size_t kCount>
Dimension Ordered(const std::string& name, const double (&values)[kCount]) {
  Dimension dimension{.path = name, .kind = DimensionKind::kOrdered};
  for (const double value : values) dimension.values.emplace_back().set_number(value);
  return dimension;
}
Dimension Choice(const std::string& name, const std::vector<std::string>& words) {
  Dimension dimension{.path = name, .kind = DimensionKind::kChoice};
  for (const std::string& word : words) dimension.values.emplace_back().set_text(word);
  return dimension;
}
// Makes a dimension active where another has one of the values.
Dimension When(Dimension dimension, size_t other, const std::vector<double>& any_of) {
  dimension.needs.push_back({other, any_of});
  return dimension;
}
spec::Space Cube(int dimensions, double low, double high) {
  spec::Space space;
  for (int k = 0; k < dimensions; ++k) {
    space.dimensions.push_back(Real("x" + std::to_string(k), low, high));
  }
  return space;
}

std::vector<Problem> Made() {
  constexpr double kNoise = 0.004;
  std::vector<Problem> problems = {
      {"sphere5", Cube(5, -5, 5), Sphere5},
      {"branin2", {{Real("x", -5, 10), Real("y", 0, 15)}}, Branin2},
      {"hartmann6", Cube(6, 0, 1), Hartmann6},
      {"rosenbrock4", Cube(4, -5, 10), Rosenbrock4},
      {"ackley10", Cube(10, -32.768, 32.768), Ackley10},
      {"levy6", Cube(6, -10, 10), Levy6},
      {"lm4",
       {{Ordered("batch", kBatches), Stepped("dropout", 0, 0.5, 0.05), Log("lr", 1e-5, 0.1),
         Stepped("width", 128, 1024, 64)}},
       Lm4,
       kNoise},
      {"lm8",
       {{Ordered("batch", kBatches), Ordered("beta2", kBetas), Stepped("layers", 2, 12, 1),
         Log("lr", 1e-5, 0.1), Choice("schedule", {"cosine", "linear", "constant", "wsd"}),
         Real("warmup", 0, 0.3), Log("weight_decay", 1e-3, 1), LogInteger("width", 128, 1024)}},
       Lm8,
       kNoise},
      {"cat5",
       {{Choice("activation", {"gelu", "relu", "silu"}), Log("lr", 1e-6, 1),
         Choice("norm", {"pre", "post"}),
         Choice("optimizer", {"adamw", "sgd", "lion", "adafactor"}), Log("weight_decay", 1e-4, 1)}},
       Cat5,
       kNoise},
      {"logint3",
       {{Stepped("depth", 1, 10, 1), Log("lr", 1e-6, 0.1), LogInteger("units", 4, 4096)}},
       LogInt3},
      {"tree8",
       {{When(Ordered("beta2", kBetas), 4, {0}), Stepped("layers", 1, 3, 1), Log("lr", 1e-5, 1),
         When(Real("momentum", 0, 0.99), 4, {1}), Choice("optimizer", {"adamw", "sgd", "lion"}),
         LogInteger("width1", 16, 1024), When(LogInteger("width2", 16, 1024), 1, {2, 3}),
         When(LogInteger("width3", 16, 1024), 1, {3})}},
       Tree8,
       kNoise}};
  for (size_t i = 0; i < problems.size(); ++i) problems[i].place = i;
  return problems;
}

// Uses the method of Box and Muller.
double NormalFrom(double first, double second) {
  return std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * kPi * second);
}
double Noise(uint64_t purpose, const Problem& problem, uint64_t seed, uint64_t trial) {
  return NormalFrom(DrawUnit({purpose, problem.place, seed, trial, 1}),
                    DrawUnit({purpose, problem.place, seed, trial, 2}));
}

}  // namespace

const std::vector<Problem>& Problems() {
  static const std::vector<Problem> problems = Made();
  return problems;
}

const Problem& ProblemNamed(const std::string& name) {
  const auto found = std::find_if(Problems().begin(), Problems().end(),
                                  [&](const Problem& each) { return each.name == name; });
  DT_CHECK(found != Problems().end());
  return *found;
}

double Observed(const Problem& problem, const Point& at, uint64_t seed, uint64_t trial) {
  const double value = problem.value(at);
  return problem.noise == 0 ? value : value + problem.noise * Noise(99, problem, seed, trial);
}

double DurationOf(uint64_t seed, uint64_t trial) {
  return std::exp(0.5 * NormalFrom(DrawUnit({55, seed, trial, 1}), DrawUnit({55, seed, trial, 2})));
}

double OnCurve(const Problem& problem, const Point& at, int step, uint64_t seed, uint64_t trial) {
  const double final_value = problem.value(at);
  if (final_value >= kUntrained) return kUntrained;
  const Core core = problem.name == "lm8" ? CoreOfLm8(at) : CoreOfLm4(at);
  const double power = std::clamp(1.2 + 0.25 * core.off, 0.4, 2.2);
  const double first = 0.5 * std::pow(kBatches[static_cast<size_t>(at[0])] / 64, 0.3);
  const double end = std::pow(1 + kCurveSteps / first, -power);
  const double left = (std::pow(1 + step / first, -power) - end) / (1 - end);
  return final_value + (kUntrained - final_value) * left +
         0.004 * (1 + 20 * left) *
             Noise(98, problem, seed, 1000 * trial + static_cast<uint64_t>(step));
}

}  // namespace dt::bench
