// experiment_fields.cc: the fields that belong to an experiment and not to a trial.
#include "common/limits.h"
#include "common/search_limits.h"
#include "spec/table/internal.h"
#include "spec/table/row.h"

namespace dt::spec {

using namespace internal;  // NOLINT: for the rows of the table

std::vector<Field> internal::MakeExperimentFieldTable() {
  return {
      Integer("version", 1, 1, kMustSay, "Version of the format: 1.").Fixed(),
      Text("name", kMustSay, "Name of the experiment, for people.").Fixed(),
      Text("description", kEmpty, "What it is for.").Fixed(),
      Row("labels", kLabels, kEmpty, "Keys and values to select experiments by.").Fixed(),
      Choice(
          "search.method", {"grid", "random", "bayes", "asha", "pbt"}, "grid",
          "How trials are chosen. grid: every combination; random: drawn; bayes: proposed one by "
          "one from the results so far; asha: those that fall behind at a rung end early; pbt: "
          "those that fall behind go on with weights and values of those ahead.")
          .Fixed(),
      Choice("search.sampler", {"grid", "random", "bayes"}, Depends("random"),
             "How asha chooses its trials.")
          .Fixed(),
      Integer("search.max_trials", 1, limits::kTrialsPerExperiment,
              Depends("**required** unless the method or sampler is grid"),
              "Configurations to try, including those of include.")
          .Fixed(),
      Choice("search.metric", {"val_loss", "loss", "hellaswag_acc", "hellaswag_acc_norm"},
             "val_loss",
             "Metric by which trials are compared; the accuracies need eval.hellaswag. For a "
             "program: any name that it reports.")
          .Open()
          .Fixed(),
      Choice("search.goal", {"minimize", "maximize"},
             Depends("as the metric is named: `minimize` for losses and errors, `maximize` for "
                     "accuracies and scores"),
             "Whether the lowest or the highest value of the metric is best.")
          .Fixed(),
      Texts("search.metrics", limits::kObjectives, kEmpty,
            "Several metrics to compare trials by, instead of metric: 2 to 4. The result is the "
            "Pareto front. For methods grid, random and bayes.")
          .Fixed(),
      Texts("search.goals", limits::kObjectives, Depends("as the metrics are named"),
            "`minimize` or `maximize` for each of metrics, in their order.")
          .Fixed(),
      Texts(
          "search.constraints", limits::kSearchConstraints, kEmpty,
          "Limits such as `\"latency_ms <= 20\"` or `\"memory_peak_bytes < 70GiB\"`. A trial that "
          "breaks one ends normally and is never the best.")
          .OneText()
          .Fixed(),
      Row("search.target", kNumber, kEmpty,
          "The first validation whose metric is as good as this ends the search.")
          .Fixed(),
      Integer(
          "search.max_failed_trials", 0, limits::kTrialsPerExperiment, "0",
          "Number of failed trials that ends the search, not counting out of memory; 0: no limit.")
          .Fixed(),
      Integer("search.asha.eta", 2, 10, Depends("3"),
              "At each rung, one trial of this many goes on.")
          .Fixed(),
      Integer("search.asha.rungs", 1, 6, Depends("3"),
              "Rungs: the last is at 1/eta of a trial's steps, each one before it at 1/eta of the "
              "next.")
          .Fixed(),
      Integer("search.asha.brackets", 1, 7, Depends("1"),
              "Groups of trials, each with its own rungs; each next group leaves out one more of "
              "the first rungs (hyperband). At most rungs + 1.")
          .Fixed(),
      Number("search.pbt.every", 0.01, 0.5, Depends("0.1"),
             "Share of a trial's steps between two comparisons with the others.")
          .Fixed(),
      Number("search.pbt.quantile", 0, 0.5, Depends("0.25"),
             "Share of the compared members that takes over, and share of the best ones to take "
             "over from.")
          .AboveMin()
          .Fixed(),
      Number("search.pbt.resample", 0, 1, Depends("0.25"),
             "Probability that a value is drawn anew at a takeover, instead of being changed a "
             "little; 0: never.")
          .Fixed(),
      Integer("search.max_concurrent", 0, limits::kTrialsPerExperiment, "0",
              "Trials at once; 0: as many as fit.")
          .Fixed(),
      Text("notify.url", kEmpty,
           "Address that the coordinator notifies of the experiment by HTTP POST; an admin must "
           "allow its host. Only its scheme and host are shown.")
          .Fixed(),
      Row("notify.events", kTexts, Depends("`finished`, `failed` and `stalled`"),
          "Events to notify of: the experiment finished; a trial failed, stalled (no step for 15 "
          "minutes), or is the best of the finished ones.")
          .Fixed(),
      Choice("notify.form", {"json", "slack"},
             Depends("`slack` at hooks.slack.com and hooks.slack-gov.com, else `json`"),
             "Form of the message: all fields, or the form of Slack's incoming webhooks and "
             "similar ones.")
          .Fixed(),
  };
}

}  // namespace dt::spec
