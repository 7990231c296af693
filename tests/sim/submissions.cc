// submissions.cc: the experiments that users of a simulated run submit.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/clients.h"
#include "tests/sim/world.h"
#include "tests/testing/experiments.h"

namespace dt::sim {
namespace {

// Lists so few learning rates that a search tries all of them.
void ListRates(int count, v1::ExperimentSpec& spec) {
  v1::Parameter& rate = *spec.mutable_parameters(0);
  rate.clear_range();
  for (int i = 0; i < count; ++i) {
    *rate.add_values() = NumberValue(std::pow(10, -5 + 4.0 * i / (count - 1)));
  }
}

// Trains each configuration twice, and tries half as many.
void AddSeeds(v1::ExperimentSpec& spec) {
  for (const int64_t seed : {11, 12}) spec.add_seeds(seed);
  auto& paths = *spec.mutable_explicit_paths();
  paths.erase(std::find(paths.begin(), paths.end(), "seed"));
  v1::Search& search = *spec.mutable_search();
  search.set_max_trials((search.max_trials() + 1) / 2);
}

}  // namespace

void World::PlanSubmits() {
  const int slots = Slots();
  Dice cuts(options_.seed ^ 0x7A5);  // separate, so that the other choices stay the same
  for (int i = 0; i < options_.experiments; ++i) {
    v1::ExperimentSpec spec = Trials(dice_.Between(options_.trials_least, options_.trials_most));
    v1::Spec& base = *spec.mutable_base();
    base.mutable_resources()->set_gpus(dice_.Between(1, std::min(slots, options_.gang_most)));
    base.mutable_train()->set_max_steps(dice_.Between(1, 40));
    base.mutable_retries()->set_max(dice_.Between(options_.retries_least, 3));
    base.mutable_retries()->set_backoff_seconds(dice_.Chance(0.3) ? 0 : 0.5);
    if (dice_.Chance(0.3)) spec.mutable_search()->set_max_concurrent(dice_.Between(1, 2));
    if (dice_.Chance(options_.scheduling)) DrawWorkers(*base.mutable_resources());
    if (options_.elastic > 0 && dice_.Chance(options_.elastic)) DrawSizes(spec);
    if (options_.layers > 0 && cuts.Chance(options_.layers)) ShareLayers(base);
    if (dice_.Chance(options_.searches)) spec = Searching(std::move(spec));
    Plan(std::move(spec), dice_.Between(absl::ZeroDuration(), options_.safety / 2));
  }
  if (options_.clients > 0) PlanStudies();
}

void World::Plan(v1::ExperimentSpec spec, absl::Duration when) {
  const size_t i = planned_.size();
  PlannedSubmit& planned = planned_.emplace_back();
  *planned.request.mutable_spec() = std::move(spec);
  planned.request.set_request_id(absl::StrCat("wish-", i));
  planned.request.set_who(i % 2 == 0 ? "ann" : "bob");
  scheduler_.After(when, [this, i] { Submit(i); });
}

void World::PlanStudies() {
  Dice dice(options_.seed ^ 0x57DD1E5);  // separate, so that the other choices stay the same
  for (int i = 0; i < 2; ++i) {
    Plan(StudyOf(dice), dice.Between(absl::ZeroDuration(), options_.safety / 2));
  }
  clients_.Begin();
}

// Draws a priority, a bound of slots and requirements for workers; enough workers always fit.
void World::DrawWorkers(v1::Resources& resources) {
  resources.set_priority(dice_.Between(-1, 1));
  if (dice_.Chance(0.3)) {
    resources.set_max_gpus_total(resources.gpus() + dice_.Between(0, 2));
  }
  const int one_host = std::min(resources.gpus(), options_.slots_per_host);
  if (dice_.Chance(0.3)) {
    resources.set_gpus(one_host);
    resources.set_single_node(true);
  } else if (dice_.Chance(0.3)) {
    resources.set_gpus(one_host);
    v1::Label& zone = *resources.add_labels();
    zone.set_key("zone");
    zone.set_value("a");
  }
}

// Shares layers in pairs, over several hosts if nothing else bounds it.
void World::ShareLayers(v1::Spec& base) {
  v1::Resources& resources = *base.mutable_resources();
  const bool bound = resources.labels_size() > 0 || resources.single_node() ||
                     resources.min_gpus() > 0 || resources.max_gpus_total() > 0;
  if (!bound) resources.set_gpus(std::min(options_.gang_most, Slots()));
  if (resources.gpus() % 2 == 0) base.mutable_parallel()->set_tensor(2);
}

// Draws the number of slots; sometimes two or three are not enough.
void World::DrawSizes(v1::ExperimentSpec& spec) {
  v1::Resources& resources = *spec.mutable_base()->mutable_resources();
  const int gpus = resources.gpus();
  resources.set_min_gpus(dice_.Between(1, gpus));
  resources.set_max_gpus(dice_.Between(gpus, Slots()));
  spec.mutable_base()->mutable_train()->set_batch_size(kSlowBatch);
  spec.mutable_base()->mutable_train()->set_global_batch_size(gpus == 3 ? 3 : 8);
  spec.add_explicit_paths("train.global_batch_size");
}

// Makes trials drawn, proposed or compared with each other.
v1::ExperimentSpec World::Searching(v1::ExperimentSpec spec) {
  *spec.mutable_parameters() = {};
  const char* method = dice_.Chance(0.4) ? "asha" : dice_.Chance(0.6) ? "bayes" : "random";
  if (dice_.Chance(0.25)) method = "pbt";
  spec = dt::Searching(method, dice_.Between(1, options_.search_trials_most), std::move(spec));
  v1::Search& search = *spec.mutable_search();
  if (search.method() == "asha") {
    search.set_sampler(dice_.Chance(0.5) ? "bayes" : "random");
    search.mutable_asha()->set_eta(dice_.Between(2, 3));
    search.mutable_asha()->set_rungs(dice_.Between(1, 2));
    search.mutable_asha()->set_brackets(dice_.Between(1, 2));
    spec.mutable_base()->mutable_train()->set_max_steps(dice_.Between(20, 40));
  }
  if (search.method() == "pbt") {
    search.mutable_pbt()->set_every(0.1 * dice_.Between(1, 4));
    search.mutable_pbt()->set_quantile(dice_.Chance(0.5) ? 0.25 : 0.5);
    spec.mutable_base()->mutable_train()->set_max_steps(dice_.Between(10, 40));
  }
  if (dice_.Chance(0.25)) search.set_goal("maximize");
  const bool proposes = search.method() == "bayes" || search.sampler() == "bayes";
  if (proposes && dice_.Chance(0.3)) ListRates(dice_.Between(4, 16), spec);
  const bool single = search.method() == "asha" || search.method() == "pbt";
  if (!single && dice_.Chance(0.25)) AddSeeds(spec);
  v1::Stop& stop = *spec.mutable_base()->mutable_stop();
  if (dice_.Chance(0.2)) stop.set_patience(dice_.Between(1, 2));
  if (dice_.Chance(0.2)) stop.set_max_loss(4);
  if (dice_.Chance(0.25)) stop.mutable_median()->set_after(dice_.Between(1, 3));
  if (options_.meddle && dice_.Chance(0.2)) {
    search.set_target(search.goal() == "maximize" ? 3.5 : 1.5);
  }
  if (options_.meddle && dice_.Chance(0.2)) search.set_max_failed_trials(dice_.Between(1, 3));
  return spec;
}

}  // namespace dt::sim
