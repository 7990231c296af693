// row.cc: makes a row from measures.
#include "worker/trainer/run/row.h"

#include <algorithm>
#include <type_traits>

namespace dt::trainer {
namespace {

constexpr size_t kWays = kCollectiveOps.size() * kTimedAxes.size();

// Calls `visit` with each number of a rank, in the order in which ranks exchange them.
// nonfinite_steps is an integer.
template <typename Measures, typename Visit>
void VisitNumbers(Measures& m, Visit visit) {
  visit(m.step.grad_norm);
  visit(m.step.phases.data);
  visit(m.step.phases.forward);
  visit(m.step.phases.backward);
  visit(m.step.phases.comm_exposed);
  visit(m.step.phases.optimizer);
  visit(m.step_seconds);
  visit(m.memory_peak_bytes);
  visit(m.step.local_squared);
  visit(m.trained_seconds);
  visit(m.tensor_held_bytes);
  visit(m.tensor_peak_bytes);
  visit(m.step.nonfinite_steps);
}
template <typename AnyTraffic, typename Visit>
void VisitTraffic(AnyTraffic& traffic, Visit visit) {
  visit(traffic.seconds);
  visit(traffic.exposed_seconds);
  visit(traffic.bytes);
  visit(traffic.count);
}

std::vector<double> Flat(const RankMeasures& m) {
  std::vector<double> flat = {m.step.loss.value_or(0)};
  const auto put = [&flat](auto number) { flat.push_back(static_cast<double>(number)); };
  VisitNumbers(m, put);
  put(m.step.loss ? 1.0 : 0.0);
  // Reserve places for each operation along each axis, since ranks may differ in what they send.
  std::vector<Traffic> ways(kWays);
  for (const Traffic& each : m.step.comm.traffic) {
    ways[static_cast<size_t>(each.op) * kTimedAxes.size() + static_cast<size_t>(each.axis)] = each;
  }
  for (const Traffic& each : ways) VisitTraffic(each, put);
  return flat;
}

RankMeasures FromFlat(const std::vector<double>& flat) {
  RankMeasures m;
  auto next = flat.begin();
  const auto take = [&next](auto& number) {
    number = static_cast<std::decay_t<decltype(number)>>(*next++);
  };
  double has_loss = 0, loss = 0;
  take(loss);
  VisitNumbers(m, take);
  take(has_loss);
  if (has_loss != 0) m.step.loss = loss;
  for (size_t way = 0; way < kWays; ++way) {
    Traffic each{static_cast<CollectiveOp>(way / kTimedAxes.size()),
                 static_cast<Axis>(way % kTimedAxes.size())};
    VisitTraffic(each, take);
    if (each.count != 0) m.step.comm.traffic.push_back(each);
  }
  return m;
}

// Returns the time of a rank's own work, before it must wait for others.
double ComputeSeconds(const RankMeasures& m) {
  return m.step.phases.data + m.step.phases.forward + m.step.phases.backward;
}

// Returns the mean over the ranks that have a loss.
double MeanLoss(const std::vector<RankMeasures>& ranks) {
  double sum = 0, count = 0;
  for (const RankMeasures& rank : ranks) {
    if (!rank.step.loss) continue;
    sum += *rank.step.loss;
    count += 1;
  }
  return sum / count;
}

const Traffic* TrafficOf(const RankMeasures& rank, const Traffic& alike) {
  for (const Traffic& each : rank.step.comm.traffic) {
    if (each.op == alike.op && each.axis == alike.axis) return &each;
  }
  return nullptr;
}

// Combines ranks: the slowest rank's time, the mean exposed time, and the amount of the rank that
// sends most.
std::vector<Traffic> TrafficOfAll(const std::vector<RankMeasures>& ranks) {
  std::vector<Traffic> all;
  for (const RankMeasures& rank : ranks) {
    for (const Traffic& each : rank.step.comm.traffic) {
      const bool listed = std::any_of(all.begin(), all.end(), [&](const Traffic& known) {
        return known.op == each.op && known.axis == each.axis;
      });
      if (!listed) all.push_back({each.op, each.axis});
    }
  }
  for (Traffic& sum : all) {
    for (const RankMeasures& rank : ranks) {
      const Traffic* const mine = TrafficOf(rank, sum);
      if (mine == nullptr) continue;
      sum.seconds = std::max(sum.seconds, mine->seconds);
      sum.exposed_seconds += mine->exposed_seconds / static_cast<double>(ranks.size());
      sum.bytes = std::max(sum.bytes, mine->bytes);
      sum.count = std::max(sum.count, mine->count);
    }
  }
  return all;
}

}  // namespace

std::vector<RankMeasures> Gathered(Mesh& mesh, const RankMeasures& mine) {
  std::vector<RankMeasures> ranks;
  for (const std::vector<double>& row : mesh.Gather(Axis::kWorld, Flat(mine))) {
    ranks.push_back(FromFlat(row));
  }
  return ranks;
}

nlohmann::json MakeRow(const Mesh& mesh, int64_t step, double learning_rate,
                       const std::vector<RankMeasures>& ranks, const SinceLastRow& since,
                       int64_t wall_time_ms) {
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
  const std::vector<Traffic> traffic = TrafficOfAll(ranks);
  Traffic reduced;
  nlohmann::json collectives = nlohmann::json::array();
  for (const Traffic& each : traffic) {
    if (each.op == CollectiveOp::kAllReduce) {
      reduced.seconds += each.seconds;
      reduced.bytes += each.bytes;
      reduced.count += each.count;
    }
    collectives.push_back({{"op", WordOf(each.op)},
                           {"axis", kTimedAxes[static_cast<size_t>(each.axis)]},
                           {"ranks", mesh.size(each.axis)},
                           {"seconds", each.seconds},
                           {"exposed_seconds", each.exposed_seconds},
                           {"bytes", each.bytes},
                           {"count", each.count}});
  }
  return {
      {"step", step},
      {"loss", MeanLoss(ranks)},
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
      {"allreduce_seconds", reduced.seconds},
      {"allreduce_bytes", reduced.bytes},
      {"allreduce_count", reduced.count},
      {"memory_peak_bytes", largest([](const RankMeasures& r) { return r.memory_peak_bytes; })},
      {"tensor_held_bytes", largest([](const RankMeasures& r) { return r.tensor_held_bytes; })},
      {"tensor_peak_bytes", largest([](const RankMeasures& r) { return r.tensor_peak_bytes; })},
      {"rank_skew_seconds", ComputeSeconds(*slowest) - ComputeSeconds(*fastest)},
      {"slowest_rank", slowest - ranks.begin()},
      {"wall_time_ms", wall_time_ms},
      {"eval_seconds", since.eval_seconds},
      {"checkpoint_seconds", since.checkpoint_seconds},
      {"steps", since.steps},
      {"nonfinite_steps", since.nonfinite_steps},
      {"collectives", std::move(collectives)},
  };
}

}  // namespace dt::trainer
