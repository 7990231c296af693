// suggest.cc: "did you mean …?": the nearest known word by edits, and other systems' names for
// ours.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

// Words longer than this are compared by their first part: a wrong key of a megabyte is no typo.
constexpr size_t kLongestCompared = 64;

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string_view Last(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

// What other systems call our fields, and where people look for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 88> kOtherNames{{
    {"learning_rate", "optimizer.lr"},
    {"max_lr", "optimizer.lr"},
    {"beta1", "optimizer.betas"},
    {"beta2", "optimizer.betas"},
    {"wd", "optimizer.weight_decay"},
    {"epsilon", "optimizer.eps"},
    {"batch", "train.batch_size"},
    {"micro_batch_size", "train.batch_size"},
    {"per_device_train_batch_size", "train.batch_size"},
    {"gradient_accumulation_steps", "train.global_batch_size"},
    {"total_batch_size", "train.global_batch_tokens"},
    {"sequence_length", "train.seq_len"},
    {"block_size", "train.seq_len"},
    {"context_length", "train.seq_len"},
    {"max_iters", "train.max_steps"},
    {"steps", "train.max_steps"},
    {"num_epochs", "train.epochs"},
    {"num_train_epochs", "train.epochs"},
    {"max_grad_norm", "train.grad_clip"},
    {"clip", "train.grad_clip"},
    {"num_layers", "model.n_layer"},
    {"layers", "model.n_layer"},
    {"num_heads", "model.n_head"},
    {"heads", "model.n_head"},
    {"hidden_size", "model.n_embd"},
    {"d_model", "model.n_embd"},
    {"d_ff", "model.n_ff"},
    {"warmup", "schedule.warmup_steps"},
    {"lr_decay", "schedule.type"},
    {"world_size", "resources.gpus"},
    {"slots_per_trial", "resources.gpus"},
    {"nproc_per_node", "resources.gpus"},
    {"dtype", "precision.compute"},
    {"max_restarts", "retries.max"},
    {"max_concurrent_trials", "search.max_concurrent"},
    // W&B sweeps
    {"run_cap", "search.max_trials"},
    {"early_terminate", "search.asha"},
    {"max_iter", "train.max_steps"},
    {"program", "command"},
    // Optuna
    {"n_trials", "search.max_trials"},
    {"n_jobs", "search.max_concurrent"},
    {"direction", "search.goal"},
    {"reduction_factor", "search.asha.eta"},
    {"pruner", "search.asha"},
    {"enqueue_trial", "include"},
    {"enqueue", "include"},
    // Ray Tune
    {"num_samples", "search.max_trials"},
    {"param_space", "parameters"},
    {"points_to_evaluate", "include"},
    {"search_alg", "search.method"},
    {"grace_period", "search.asha.rungs"},
    {"max_t", "train.max_steps"},
    {"max_failures", "retries.max"},
    {"perturbation_interval", "search.pbt.every"},
    {"quantile_fraction", "search.pbt.quantile"},
    {"perturbation", "search.pbt"},
    {"perturbation_factors", "search.pbt"},
    {"resample_probability", "search.pbt.resample"},
    {"hyperparam_mutations", "parameters"},
    {"population_size", "search.max_trials"},
    {"runtime_env", "resources.env"},
    {"working_dir", "workdir"},
    {"env_vars", "resources.env"},
    {"resources_per_trial", "resources"},
    {"stopper", "stop"},
    // Determined
    {"searcher", "search"},
    {"entrypoint", "command"},
    {"environment_variables", "resources.env"},
    {"context", "code"},
    {"divisor", "search.asha.eta"},
    {"max_rungs", "search.asha.rungs"},
    {"num_rungs", "search.asha.rungs"},
    {"smaller_is_better", "search.goal"},
    {"hyperparameters", "parameters"},
    {"bracket_rungs", "search.asha.brackets"},
    {"num_brackets", "search.asha.brackets"},
    // Katib, NNI
    {"maxConcurrent", "search.max_concurrent"},
    {"parallelTrialCount", "search.max_concurrent"},
    {"trialConcurrency", "search.max_concurrent"},
    {"maxTrialCount", "search.max_trials"},
    {"maxFailedTrialCount", "search.max_failed_trials"},
    // For programs, wherever they come from
    {"env", "resources.env"},
    {"script", "command"},
    {"args", "command"},
    {"cmd", "command"},
    {"cwd", "workdir"},
    {"early_stopping", "stop.patience"},
    {"early_stopping_patience", "stop.patience"},
}};

// The same of values. A hint of several words is whole; one word is what was meant.
struct OtherValue {
  std::string_view path;
  std::string_view theirs;  // in small letters, with _ between words
  std::string_view hint;
};
constexpr char kHyperband[] =
    "did you mean 'asha'? with asha: {brackets: 2} or more it is hyperband";
constexpr char kBohb[] =
    "did you mean 'asha'? with sampler: bayes and asha: {brackets: 2} or more it proposes as BOHB "
    "does";
constexpr char kMedian[] = "write stop: {median: {after: 5}}, which goes with any method";
constexpr std::array<OtherValue, 46> kOtherValues{{
    {"search.method", "hyperband", kHyperband},
    {"search.method", "bohb", kBohb},
    {"search.method", "median", kMedian},
    {"search.method", "median_stopping", kMedian},
    {"search.method", "medianstopping", kMedian},
    {"search.method", "tpe", "bayes"},
    {"search.method", "bayesian", "bayes"},
    {"search.method", "bayesian_optimization", "bayes"},
    {"search.method", "bayesopt", "bayes"},
    {"search.method", "bo", "bayes"},
    {"search.method", "optuna", "bayes"},
    {"search.method", "hyperopt", "bayes"},
    {"search.method", "gp", "bayes"},
    {"search.method", "smac", "bayes"},
    {"search.method", "skopt", "bayes"},
    {"search.method", "ax", "bayes"},
    {"search.method", "multivariate_tpe", "bayes"},
    {"search.method", "cma_es", "bayes"},
    {"search.method", "cmaes", "bayes"},
    {"search.method", "adaptive_asha", "asha"},
    {"search.method", "async_halving", "asha"},
    {"search.method", "asynchyperband", kHyperband},
    {"search.method", "async_hyperband", kHyperband},
    {"search.method", "successive_halving", "asha"},
    {"search.method", "successivehalving", "asha"},
    {"search.method", "sha", "asha"},
    {"search.method", "sync_halving", "asha"},
    {"search.method", "population", "pbt"},
    {"search.method", "population_based_training", "pbt"},
    {"search.method", "pb2", "pbt"},
    {"search.method", "evolution", "pbt"},
    {"search.method", "grid_search", "grid"},
    {"search.method", "gridsearch", "grid"},
    {"search.method", "random_search", "random"},
    {"search.method", "randomsearch", "random"},
    {"search.method", "randomsampler", "random"},
    {"search.method", "sobol", "random"},
    {"search.method", "single", "grid"},
    {"search.sampler", "tpe", "bayes"},
    {"search.sampler", "bayesian", "bayes"},
    {"search.sampler", "optuna", "bayes"},
    {"search.sampler", "bohb", "bayes"},
    {"search.goal", "min", "minimize"},
    {"search.goal", "max", "maximize"},
    {"search.goal", "lower", "minimize"},
    {"search.goal", "higher", "maximize"},
}};

}  // namespace

std::string OtherValueHint(std::string_view path, std::string_view text) {
  std::string word(text.substr(0, kLongestCompared));
  for (char& c : word) c = c == '-' || c == ' ' ? '_' : absl::ascii_tolower(c);
  for (const OtherValue& one : kOtherValues) {
    if (one.path != path || one.theirs != word) continue;
    const bool whole = one.hint.find(' ') != std::string_view::npos;
    return whole ? std::string(one.hint)
                 : absl::StrCat("did you mean '", std::string(one.hint), "'?");
  }
  return "";
}

std::string Suggest(std::string_view wrong, const std::vector<std::string>& known) {
  wrong = wrong.substr(0, kLongestCompared);
  // Half of a short word, or a third of a long one, may be wrong; more is another word.
  const size_t allowed = std::max<size_t>(wrong.size() <= 4 ? wrong.size() / 2 : 2,
                                          std::min<size_t>(wrong.size() / 3, 4));
  size_t best = allowed + 1;
  std::string nearest;
  for (const std::string& word : known) {
    const size_t shorter = std::min(word.size(), wrong.size());
    if (std::max(word.size(), wrong.size()) - shorter > allowed) continue;
    const size_t edits = Edits(wrong, word);
    if (edits < best) {
      best = edits;
      nearest = word;
    }
  }
  return nearest;
}

std::string SuggestPath(std::string_view wrong) {
  std::vector<std::string> known = TopWords();
  for (const auto* table : {&ExperimentFieldTable(), &FieldTable()}) {
    for (const Field& field : *table) {
      known.push_back(field.path);
      const std::string section = field.path.substr(0, field.path.rfind('.'));
      if (section.find('.') != std::string::npos) known.push_back(section);  // "search.asha"
    }
  }
  const std::string_view last = Last(wrong);
  const bool ours = std::find(known.begin(), known.end(), wrong) != known.end();
  for (const auto& [theirs, path] : kOtherNames) {
    if (theirs == last && !ours) return std::string(path);
  }
  if (std::string near = Suggest(wrong, known); !near.empty()) return near;
  // The right word under the wrong section, or a section forgotten: "train.lr", "batch_size".
  for (const std::string& path : known) {
    if (Last(path) == last && last != "every" && last != "type" && last != "max") return path;
  }
  std::vector<std::string> lasts;
  lasts.reserve(known.size());
  for (const std::string& path : known) lasts.emplace_back(Last(path));
  const std::string near = last.size() < 4 ? "" : Suggest(last, lasts);
  for (size_t i = 0; !near.empty() && i < lasts.size(); ++i) {
    if (lasts[i] == near) return known[i];
  }
  return "";
}

}  // namespace dt::spec
