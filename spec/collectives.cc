// collectives.cc: see collectives.h.
#include "spec/collectives.h"

#include <algorithm>

#include "common/collectives.h"
#include "spec/step_columns.h"

namespace dt::spec {
namespace {

namespace v1 = ::dtrain::v1;

v1::Collective& Of(const v1::Collective& alike, v1::StepRow& sum) {
  for (v1::Collective& known : *sum.mutable_collectives()) {
    if (known.op() == alike.op() && known.axis() == alike.axis()) return known;
  }
  v1::Collective& added = *sum.add_collectives();
  added.set_op(alike.op());
  added.set_axis(alike.axis());
  return added;
}

}  // namespace

void AddCollectives(const v1::StepRow& row, double times, v1::StepRow& sum) {
  for (const v1::Collective& one : row.collectives()) {
    if (!IsCollectiveOp(one.op()) || !IsTimedAxis(one.axis())) continue;
    v1::Collective& all = Of(one, sum);
    // A sum already has the number; for a row it follows from its ranks.
    const double bus = one.bus_bytes() > 0
                           ? one.bus_bytes()
                           : one.bytes() * BusFactor(one.op(), std::max(1U, one.ranks()));
    all.set_ranks(one.ranks());
    all.set_seconds(Grown(all.seconds(), times * one.seconds()));
    all.set_exposed_seconds(Grown(all.exposed_seconds(), times * one.exposed_seconds()));
    all.set_bytes(Grown(all.bytes(), times * one.bytes()));
    all.set_bus_bytes(Grown(all.bus_bytes(), times * bus));
    all.set_count(Grown(all.count(), times * one.count()));
  }
}

void AddRow(const v1::StepRow& row, v1::StepRow& sum) {
  const double steps = std::max(1.0, row.steps());
  for (const StepColumn& column : kStepColumns) {
    const double stands_for = column.covers == Covers::kLoggedStep ? steps : 1;
    column.Set(sum, Grown(column.Of(sum), stands_for * column.Of(row)));
  }
  AddCollectives(row, steps, sum);
}

double CommunicationSeconds(const v1::StepRow& row) {
  if (row.collectives().empty()) return row.allreduce_seconds();
  double seconds = 0;
  for (const v1::Collective& one : row.collectives()) seconds = Grown(seconds, one.seconds());
  return seconds;
}

double StageWaitSeconds(const v1::StepRow& row) {
  for (const v1::Collective& one : row.collectives()) {
    if (one.op() == WordOf(CollectiveOp::kReceive) && one.axis() == WordOf(Axis::kPipeline)) {
      return one.exposed_seconds();
    }
  }
  return -1;
}

}  // namespace dt::spec
