// soak_specs.h: experiments of every method, of gangs and elastic gangs, and of a program; their
// trials are so short that dozens end in a minute.
#pragma once

#include <cstdint>
#include <string>

#include "tests/spec/experiment_builder.h"
#include "tests/testing/experiments.h"

namespace dt {

// Kinds of experiments that a soak submits; each run has all of them, one after the other.
enum class SoakKind {
  kBayes,
  kAshaOfBayes,
  kRandomWithMedian,
  kHyperbandOfGangs,
  kBayesWithSeeds,
  kGrid,
  kPopulation,
  kProgram,
  kElastic,
};
inline constexpr size_t kSoakKinds = 9;

// Returns an experiment for the fake trainer: losses that depend on the rate, validated and saved
// at every 9th of 54 steps.
inline spec::ExperimentBuilder SoakTraining(int ranks, const std::string& keep) {
  spec::ExperimentBuilder builder;
  builder.Set("train.max_steps", "54")
      .Set("data.train", "step_ms=2 by_rate=1 eval_every=9 checkpoint_every=9 " + keep)
      .Set("resources.gpus", std::to_string(ranks))
      .Set("resources.device", "cpu")
      .Set("schedule.type", "constant")  // the schedule allows more steps later
      .Set("retries.backoff", "0.1s");
  builder.spec().mutable_base()->mutable_schedule()->set_warmup_steps(0);
  return builder;
}

// Returns a shell script that resumes from its newest checkpoint, reports 18 times and saves twice.
inline v1::ExperimentSpec SoakProgram() {
  v1::ExperimentSpec spec = OneTrial();
  spec.clear_explicit_paths();
  for (const char* path : {"run", "steps", "resources.gpus", "resources.device", "seed",
                           "retries.max", "retries.backoff"}) {
    spec.add_explicit_paths(path);
  }
  spec.mutable_base()->set_run(R"(step=${DTRAIN_RESUME_STEP:-0}
      while [ $step -lt 18 ]; do
        step=$((step + 1))
        sleep 0.01  # its work
        echo "{{\"step\": $step, \"score\": $((step * {width}))}}" >&3
        case $step in 6|12)
          mkdir -p "$DTRAIN_CHECKPOINT_DIR/at-$step"
          echo $step > "$DTRAIN_CHECKPOINT_DIR/at-$step/step"
          echo "{{\"checkpoint\": \"at-$step\", \"step\": $step}}" >&3;;
        esac
      done)");
  spec.mutable_base()->set_steps(18);
  spec.mutable_base()->mutable_retries()->set_backoff_seconds(0.1);
  v1::Parameter& width = *spec.add_parameters();
  width.set_path("width");
  width.mutable_range()->set_min(1);
  width.mutable_range()->set_max(1000);
  width.mutable_range()->set_step(1);
  v1::Search& search = *spec.mutable_search();
  search.set_method("asha");
  search.set_metric("score");
  search.set_goal("maximize");
  search.mutable_asha()->set_rungs(2);
  return spec;
}

inline v1::ExperimentSpec SoakSpec(SoakKind kind, int64_t seed, int max_trials) {
  const bool gangs = kind == SoakKind::kHyperbandOfGangs || kind == SoakKind::kElastic;
  // Checkpoints that a population saves at its shares stay.
  spec::ExperimentBuilder builder =
      SoakTraining(gangs ? 2 : 1, kind == SoakKind::kPopulation ? "" : "keep=2");
  if (kind == SoakKind::kElastic) builder.Set("resources.min_gpus", "1");
  v1::ExperimentSpec spec = kind == SoakKind::kProgram ? SoakProgram() : builder.spec();
  spec.mutable_base()->set_seed(seed);
  if (kind == SoakKind::kGrid) {
    return Sweep(spec, "optimizer.lr",
                 {NumberValue(1e-4), NumberValue(3e-4), NumberValue(1e-3), NumberValue(3e-3),
                  NumberValue(1e-2), NumberValue(3e-2)});
  }
  if (kind != SoakKind::kProgram) spec = Searching("random", max_trials, spec);
  v1::Search& search = *spec.mutable_search();
  search.set_max_trials(max_trials);
  switch (kind) {
    case SoakKind::kGrid:
    case SoakKind::kProgram:
    case SoakKind::kElastic:
      break;
    case SoakKind::kBayes:
      search.set_method("bayes");
      break;
    case SoakKind::kAshaOfBayes:
      search.set_method("asha");
      search.set_sampler("bayes");
      break;
    case SoakKind::kRandomWithMedian:
      spec.mutable_base()->mutable_stop()->mutable_median()->set_after(2);
      break;
    case SoakKind::kHyperbandOfGangs:
      search.set_method("asha");
      search.mutable_asha()->set_brackets(2);
      break;
    case SoakKind::kBayesWithSeeds:
      search.set_method("bayes");
      for (const int64_t each : {1, 2}) spec.add_seeds(each);
      break;
    case SoakKind::kPopulation:
      search.set_method("pbt");
      search.mutable_pbt()->set_every(1.0 / 6);
      search.mutable_pbt()->set_quantile(0.4);
      break;
  }
  return spec;
}

}  // namespace dt
