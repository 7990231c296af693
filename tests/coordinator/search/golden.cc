#include "tests/coordinator/search/golden.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <queue>
#include <utility>
#include <variant>
#include <vector>

#include "common/draw.h"
#include "coordinator/search/searcher.h"

namespace dt::search::testing {

uint64_t HashOfProposals(const bench::Problem& problem, uint64_t seed) {
  constexpr uint32_t kProposals = 100;
  constexpr size_t kWorkers = 8;
  using Due = std::pair<double, uint32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  std::vector<Point> points;
  History history;
  double now = 0;
  uint64_t hash = 0;
  for (uint32_t configuration = 1; configuration <= kProposals; ++configuration) {
    if (due.size() == kWorkers) {
      const auto [when, ended] = due.top();
      due.pop();
      now = when;
      history.End(ended, bench::Observed(problem, points[ended - 1], seed, ended - 1));
    }
    auto proposed = Propose({.seed = seed}, problem.space, history, configuration,
                            [](const Point&) { return true; });
    if (!std::holds_alternative<Proposal>(proposed)) return 0;
    points.push_back(std::get<Proposal>(std::move(proposed)).at);
    for (const double value : points.back())
      hash = DrawBits({hash, std::bit_cast<uint64_t>(value)});
    history.Open(configuration, points.back());
    due.push({now + bench::DurationOf(seed, configuration - 1), configuration});
  }
  return hash;
}

std::string GoldenLines(uint64_t seeds) {
  std::string lines;
  for (const bench::Problem& problem : bench::Problems()) {
    if (spec::IsConditional(problem.space)) continue;  // conditional_test.cc has it
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      char line[80];
      std::snprintf(line, sizeof(line), "%s %" PRIu64 " %016" PRIx64 "\n", problem.name.c_str(),
                    seed, HashOfProposals(problem, seed));
      lines += line;
    }
  }
  return lines;
}

}  // namespace dt::search::testing
