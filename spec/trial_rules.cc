// trial_rules.cc: combinations of fields that cannot work together, checked for each trial.
//
// No rule looks at fields that are out of range: Validate reports those already.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/network_bench.h"
#include "spec/internal.h"
#include "spec/sizes.h"
#include "spec/table/field.h"

namespace dt::spec::internal {
namespace {

// Refuses what checkpoint/hf_gpt2.cc refuses on every worker, whatever the folder holds.
void CheckInitFrom(const v1::Model& model, std::vector<Violation>& out) {
  if (model.init_from().empty()) return;
  const auto refuse = [&](const char* field, const std::string& value, const char* needed) {
    out.push_back({"init_from",
                   {absl::StrCat("model.", field), "model.init_from", "model.preset"},
                   absl::StrCat("model.init_from reads a GPT-2 of Hugging Face, and model.", field,
                                " is ", value, ", which such a model does not have"),
                   absl::StrCat("set model.", field, " to ", needed)});
  };
  if (model.norm() == "post") refuse("norm", "post", "pre");
  if (model.positions() == "sinusoidal") refuse("positions", "sinusoidal", "learned");
  if (!model.bias()) refuse("bias", "false", "true");
  if (model.head_bias()) refuse("head_bias", "true", "false");
}

// Above any product of sizes within their ranges.
constexpr int64_t kPassMax = int64_t{1} << 60;

// Reports that the file's number of slots is not a valid size of an elastic trial.
Violation Undealt(const v1::Spec& trial, int64_t nearest_step) {
  const v1::Train& train = trial.train();
  const v1::Resources& resources = trial.resources();
  const std::vector<int32_t> works = DealtSizes(trial);
  const int32_t least = resources.min_gpus() > 0 ? resources.min_gpus() : resources.gpus();
  const int32_t most = resources.max_gpus() > 0 ? resources.max_gpus() : resources.gpus();
  Violation violation{
      "global_batch",
      {"train.global_batch_size", "train.batch_size", "resources.gpus", "resources.min_gpus",
       "resources.max_gpus"},
      absl::StrCat("train.global_batch_size ", train.global_batch_size(), " with train.batch_size ",
                   train.batch_size(), " cannot be divided among ", resources.gpus(), " slots"),
      works.empty() ? NearestText(train.global_batch_size(), nearest_step)
                    : absl::StrCat("set resources.gpus to ", SizesText(works))};
  if (works.empty()) {
    absl::StrAppend(&violation.message, "; between min_gpus ", least, " and max_gpus ", most,
                    " no number of slots works");
  }
  return violation;
}

// Checks the bounds of an elastic gang; also for programs.
void CheckSizes(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Resources& resources = trial.resources();
  const auto refuse = [&](const char* path, int32_t value, const char* is, const char* hint) {
    out.push_back({path,
                   {path, "resources.gpus"},
                   absl::StrCat(path, " ", value, " is ", is, " resources.gpus ", resources.gpus()),
                   absl::StrCat(hint, ", or leave it out")});
  };
  if (resources.min_gpus() > resources.gpus()) {
    return refuse("resources.min_gpus", resources.min_gpus(), "above", "lower it");
  }
  if (resources.max_gpus() > 0 && resources.max_gpus() < resources.gpus()) {
    return refuse("resources.max_gpus", resources.max_gpus(), "below", "raise it");
  }
  const int32_t total = resources.max_gpus_total();
  const int32_t least = LeastSize(trial);
  // In a file without min_gpus, Validate reports it once for all trials.
  if (total <= 0 || resources.min_gpus() <= 0 || total >= least) return;
  out.push_back({"max_gpus_total",
                 {"resources.max_gpus_total", "resources.min_gpus"},
                 absl::StrCat("resources.max_gpus_total ", total, " is below the ", least,
                              " slots that a trial needs at least; none could run"),
                 absl::StrCat("raise it to ", least, ", or remove it")});
}

void CheckBatch(const v1::Spec& trial, const PathSet& set, std::vector<Violation>& out) {
  const v1::Train& train = trial.train();
  const int64_t step = int64_t{train.batch_size()} * DataRanksOf(trial);
  if (step <= 0 || train.seq_len() <= 0 || step > kPassMax / train.seq_len()) return;
  const int64_t tokens_of_pass = step * train.seq_len();  // of all ranks, without accumulation
  if (train.global_batch_tokens() > 0 && train.global_batch_size() > 0 &&
      set.contains("train.global_batch_size")) {
    out.push_back({"global_batch_pair",
                   {"train.global_batch_tokens", "train.global_batch_size"},
                   "train.global_batch_size and train.global_batch_tokens are two ways to say one "
                   "thing",
                   "keep one"});
    return;
  }
  const int32_t microbatches = trial.parallel().microbatches();
  const bool in_tokens = train.global_batch_tokens() > 0;
  if (microbatches > 0 && (in_tokens || set.contains("train.global_batch_size"))) {
    const char* other = in_tokens ? "train.global_batch_tokens" : "train.global_batch_size";
    const int64_t value = in_tokens ? train.global_batch_tokens() : train.global_batch_size();
    out.push_back({"global_batch_pair",
                   {"parallel.microbatches", other},
                   absl::StrCat("parallel.microbatches ", microbatches, " and ", other, " ", value,
                                " are two ways to say one thing"),
                   "keep one"});
    return;
  }
  if (train.global_batch_tokens() % tokens_of_pass != 0) {
    out.push_back(
        {"global_batch_tokens",
         {"train.global_batch_tokens", "train.seq_len", "train.batch_size", "resources.gpus"},
         absl::StrCat("train.global_batch_tokens ", train.global_batch_tokens(),
                      " is not a multiple of train.seq_len ", train.seq_len(),
                      " × train.batch_size ", train.batch_size(), " × ", DataRanksText(trial)),
         NearestText(train.global_batch_tokens(), tokens_of_pass)});
    return;
  }
  if (train.global_batch_size() <= 0) return;
  const Field& said = *FindField("train.global_batch_size");
  if (!InRange(said, static_cast<double>(train.global_batch_size()))) {
    out.push_back(
        {"global_batch_range",
         {"train.global_batch_size", "parallel.microbatches", "train.batch_size", "resources.gpus"},
         absl::StrCat("train.batch_size ", train.batch_size(), " × ", DataRanksText(trial),
                      " × parallel.microbatches ", std::max(1, microbatches), " is more than ",
                      static_cast<int64_t>(said.max), " sequences in a step"),
         "lower one of them"});
    return;
  }
  const v1::Resources& resources = trial.resources();
  const bool elastic = resources.min_gpus() > 0 || resources.max_gpus() > 0;
  if (train.global_batch_size() % step != 0 && elastic) {
    out.push_back(Undealt(trial, step));
  } else if (train.global_batch_size() % step != 0) {
    out.push_back({"global_batch",
                   {"train.global_batch_size", "train.batch_size", "resources.gpus"},
                   absl::StrCat("train.global_batch_size ", train.global_batch_size(),
                                " is not a multiple of train.batch_size ", train.batch_size(),
                                " × ", DataRanksText(trial)),
                   NearestText(train.global_batch_size(), step)});
  }
  const double tokens =
      static_cast<double>(train.global_batch_size()) * static_cast<double>(train.seq_len());
  if (train.max_tokens() > 0 && static_cast<double>(train.max_tokens()) < tokens) {
    out.push_back({"max_tokens",
                   {"train.max_tokens", "train.global_batch_tokens", "train.global_batch_size",
                    "train.batch_size", "train.seq_len", "resources.gpus"},
                   absl::StrCat("train.max_tokens ", train.max_tokens(), " is less than the ",
                                NumberText(tokens), " tokens of one step"),
                   "raise it, or use max_steps"});
  }
}

void CheckLength(const v1::Spec& trial, const PathSet& set, std::vector<Violation>& out) {
  const v1::Train& train = trial.train();
  const int limits = (train.max_steps() > 0) + (train.max_tokens() > 0) + (train.epochs() > 0);
  if (limits > 1) {
    out.push_back({"length",
                   {"train.epochs", "train.max_tokens", "train.max_steps"},
                   "at most one of train.max_steps, train.max_tokens and train.epochs may be set",
                   "keep one"});
  }
  const v1::Schedule& schedule = trial.schedule();
  if (schedule.warmup_steps() >= 0 && set.contains("schedule.warmup_steps") &&
      set.contains("schedule.warmup_ratio")) {
    out.push_back({"warmup",
                   {"schedule.warmup_ratio", "schedule.warmup_steps"},
                   "schedule.warmup_steps and schedule.warmup_ratio are two ways to say one thing",
                   "keep one"});
  }
  if (train.max_steps() > 0 && schedule.warmup_steps() > train.max_steps()) {
    out.push_back({"warmup_length",
                   {"schedule.warmup_steps", "train.max_steps"},
                   absl::StrCat("schedule.warmup_steps ", schedule.warmup_steps(),
                                " is beyond train.max_steps ", train.max_steps()),
                   "warm up for fewer steps"});
  }
}

void CheckScaling(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Optimizer& optimizer = trial.optimizer();
  const bool scales = optimizer.scale_lr() == "linear" || optimizer.scale_lr() == "sqrt";
  if (scales == (optimizer.scale_lr_from() > 0)) return;
  out.push_back({"scale_lr",
                 {"optimizer.scale_lr", "optimizer.scale_lr_from"},
                 scales ? absl::StrCat("optimizer.scale_lr ", optimizer.scale_lr(),
                                       " needs the global batch for which optimizer.lr is meant")
                        : "optimizer.scale_lr_from is set without optimizer.scale_lr",
                 scales ? "set optimizer.scale_lr_from, in sequences"
                        : "set optimizer.scale_lr to linear or sqrt, or leave it out"});
}

void CheckDevice(const v1::Spec& trial, std::vector<Violation>& out) {
  if (trial.resources().device() == "cpu" && trial.precision().compute() == "tf32") {
    out.push_back({"tf32",
                   {"precision.compute", "resources.device"},
                   "precision.compute tf32 is arithmetic of CUDA devices; resources.device is cpu",
                   "use fp32"});
  }
}

void CheckValidation(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Eval& eval = trial.eval();
  if (eval.batches() == 0 && eval.tokens() == 0) {
    out.push_back({"eval_size",
                   {"eval.tokens", "eval.batches"},
                   "eval.tokens and eval.batches are 0; one must set how much a validation reads",
                   "leave both out"});
  }
  if (eval.batches() == 0 || eval.tokens() == 0) return;
  out.push_back({"eval_pair",
                 {"eval.batches", "eval.tokens"},
                 "eval.batches and eval.tokens are two ways to set how much a validation reads",
                 "keep eval.tokens"});
}

void CheckStop(const v1::Spec& trial, std::vector<Violation>& out) {
  if (trial.eval().every() > 0) return;
  const auto refuse = [&](const char* path) {
    out.push_back({path,
                   {path, "eval.every"},
                   absl::StrCat(path, " counts validations, and eval.every is 0"),
                   "set eval.every"});
  };
  if (trial.stop().patience() > 0) refuse("stop.patience");
  if (trial.stop().median().after() > 0) refuse("stop.median.after");
}

void CheckWorkdir(const v1::Spec& trial, std::vector<Violation>& out) {
  const std::string& folder = trial.workdir();
  if (folder.empty()) return;
  if (folder[0] != '/' && trial.code().empty()) {
    out.push_back({"workdir",
                   {"workdir"},
                   absl::StrCat("workdir ", Quote(folder),
                                " is relative, but no code is set in whose folder it could be"),
                   "write it absolute, or set code"});
  }
  const std::string within = absl::StrCat("/", folder, "/");
  if (within.find("/../") != std::string::npos) {
    out.push_back({"workdir_above",
                   {"workdir"},
                   absl::StrCat("workdir ", Quote(folder), " has '..'"),
                   "name a folder in that of its code, or an absolute one"});
  }
}

// Checks the words of the command once parameters are in them.
void CheckNetworkBench(const v1::Spec& trial, std::vector<Violation>& out) {
  if (!IsNetworkBench(trial.command())) return;
  const auto bench = ParseNetworkBench({trial.command().begin(), trial.command().end()});
  if (!bench.ok()) {
    const std::string message(bench.status().message());
    const size_t hint = message.find("; ");
    out.push_back(
        {"network_bench", {"command"}, message.substr(0, hint), message.substr(hint + 2)});
  }
  if (trial.resources().gpus() >= 2) return;
  out.push_back({"network_bench",
                 {"resources.gpus"},
                 absl::StrCat(std::string(kNetworkBenchWord), " measures between ranks, and ",
                              "resources.gpus is ", trial.resources().gpus()),
                 "use 2 or more"});
}

}  // namespace

Combination CombinationOf(const v1::Spec& trial) {
  const v1::Model& model = trial.model();
  const v1::Parallel& parallel = trial.parallel();
  return {.n_layer = model.n_layer(),
          .n_head = model.n_head(),
          .n_embd = model.n_embd(),
          .n_ff = model.n_ff(),
          .n_positions = model.n_positions(),
          .vocab_size = model.vocab_size(),
          .vocab_pad = model.vocab_pad(),
          .positions = model.positions(),
          .dropout = model.dropout(),
          .seq_len = trial.train().seq_len(),
          .tensor = parallel.tensor(),
          .pipeline = parallel.pipeline(),
          .interleave = parallel.interleave(),
          .sequence = parallel.sequence(),
          .schedule = parallel.schedule(),
          .strategy = parallel.strategy(),
          .compression = parallel.compression(),
          .balance = parallel.balance()};
}

std::vector<Violation> CheckTrial(const v1::Spec& trial, const PathSet& set) {
  std::vector<Violation> out;
  CheckSizes(trial, out);
  if (IsProgram(trial)) {
    CheckWorkdir(trial, out);
    CheckNetworkBench(trial, out);
    return out;
  }
  CheckModel(CombinationOf(trial), out);
  CheckInitFrom(trial.model(), out);
  CheckBatch(trial, set, out);
  CheckLength(trial, set, out);
  CheckScaling(trial, out);
  CheckDevice(trial, out);
  CheckValidation(trial, out);
  CheckStop(trial, out);
  CheckParallel(trial, out);
  return out;
}

}  // namespace dt::spec::internal
