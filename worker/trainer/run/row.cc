// row.cc: measures to a row.
#include "worker/trainer/run/row.h"

#include <algorithm>

namespace dt::trainer {
namespace {

std::vector<double> Flat(const RankMeasures& m) {
  const PhaseTimes& phases = m.step.phases;
  const AllReduceTotals& allreduce = m.step.allreduce;
  return {m.step.loss,         m.step.grad_norm,          phases.data,
          phases.forward,      phases.backward,           phases.comm_exposed,
          phases.optimizer,    allreduce.seconds,         allreduce.bytes,
          allreduce.count,     allreduce.exposed_seconds, m.step_seconds,
          m.memory_peak_bytes, m.step.local_squared};
}

RankMeasures FromFlat(const std::vector<double>& v) {
  RankMeasures m;
  m.step.loss = v[0];
  m.step.grad_norm = v[1];
  m.step.phases = {v[2], v[3], v[4], v[5], v[6]};
  m.step.allreduce = {v[7], v[8], v[9], v[10]};
  m.step_seconds = v[11];
  m.memory_peak_bytes = v[12];
  m.step.local_squared = v[13];
  return m;
}

// What a rank does by itself, before it must wait for others.
double ComputeSeconds(const RankMeasures& m) {
  return m.step.phases.data + m.step.phases.forward + m.step.phases.backward;
}

}  // namespace

std::vector<RankMeasures> Gathered(Mesh& mesh, const RankMeasures& mine) {
  std::vector<RankMeasures> ranks;
  for (const std::vector<double>& row : mesh.Gather(Axis::kWorld, Flat(mine))) {
    ranks.push_back(FromFlat(row));
  }
  return ranks;
}

nlohmann::json MakeRow(int64_t step, double learning_rate, const std::vector<RankMeasures>& ranks,
                       const SinceLastRow& since, int64_t wall_time_ms) {
  const auto mean = [&](auto&& value) {
    double sum = 0;
    for (const RankMeasures& rank : ranks) sum += value(rank);
    return sum / static_cast<double>(ranks.size());
  };
  const auto largest = [&](auto&& value) {
    double most = 0;
    for (const RankMeasures& rank : ranks) most = std::max(most, value(rank));
    return most;
  };
  const auto [fastest, slowest] = std::minmax_element(
      ranks.begin(), ranks.end(), [](const RankMeasures& a, const RankMeasures& b) {
        return ComputeSeconds(a) < ComputeSeconds(b);
      });
  return {
      {"step", step},
      {"loss", mean([](const RankMeasures& r) { return r.step.loss; })},
      {"learning_rate", learning_rate},
      {"grad_norm", ranks[0].step.grad_norm},
      {"tokens", since.tokens},
      {"seconds", since.seconds},
      {"data_seconds", mean([](const RankMeasures& r) { return r.step.phases.data; })},
      {"forward_seconds", mean([](const RankMeasures& r) { return r.step.phases.forward; })},
      {"backward_seconds", mean([](const RankMeasures& r) { return r.step.phases.backward; })},
      {"comm_exposed_seconds",
       mean([](const RankMeasures& r) { return r.step.phases.comm_exposed; })},
      {"optimizer_seconds", mean([](const RankMeasures& r) { return r.step.phases.optimizer; })},
      {"other_seconds", mean([](const RankMeasures& r) {
         return std::max(r.step_seconds - r.step.phases.Sum(), 0.0);
       })},
      {"allreduce_seconds",
       largest([](const RankMeasures& r) { return r.step.allreduce.seconds; })},
      {"allreduce_bytes", ranks[0].step.allreduce.bytes},
      {"allreduce_count", ranks[0].step.allreduce.count},
      {"memory_peak_bytes", largest([](const RankMeasures& r) { return r.memory_peak_bytes; })},
      {"rank_skew_seconds", ComputeSeconds(*slowest) - ComputeSeconds(*fastest)},
      {"slowest_rank", slowest - ranks.begin()},
      {"wall_time_ms", wall_time_ms},
      {"eval_seconds", since.eval_seconds},
      {"checkpoint_seconds", since.checkpoint_seconds},
      {"steps", since.steps},
      {"nonfinite_steps", since.nonfinite_steps},
  };
}

}  // namespace dt::trainer
