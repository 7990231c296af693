// parallel_rules.cc: checks how a trial's ranks share the model and the batch.
#include "spec/parallel_rules.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spec/internal.h"
#include "spec/sizes.h"
#include "spec/table/field.h"

namespace dt::spec::internal {
namespace {

void CheckHash(const v1::Spec& trial, std::vector<Violation>& out) {
  if (trial.train().hash_every() == 0) return;
  if (trial.parallel().strategy() == "gossip") {
    out.push_back({"hash",
                   {"train.hash_every", "parallel.strategy"},
                   "train.hash_every compares copies of the parameters, and parallel.strategy "
                   "gossip mixes them after each step",
                   "leave it out, or use local_sgd"});
  }
  if (trial.parallel().strategy() != "zero3") return;
  out.push_back({"hash",
                 {"train.hash_every", "parallel.strategy"},
                 "train.hash_every compares copies of the parameters, and parallel.strategy zero3 "
                 "keeps one",
                 "leave it out, or use zero2 or hsdp"});
}

void CheckShard(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  if (parallel.strategy() != "hsdp") return;
  if (parallel.shard() < 2) {
    out.push_back({"shard",
                   {"parallel.strategy", "parallel.shard"},
                   "parallel.strategy hsdp needs parallel.shard, of 2 or more: the ranks over "
                   "which one copy of the model is spread",
                   "set it to the GPUs of a host"});
    return;
  }
  const int32_t ranks = DataRanksOf(trial);
  if (ranks % parallel.shard() == 0) return;
  std::vector<int32_t> divisors;
  const auto most = static_cast<int32_t>(FindField("parallel.shard")->max);
  for (int32_t shard = 2; shard <= std::min(ranks, most); ++shard) {
    if (ranks % shard == 0) divisors.push_back(shard);
  }
  out.push_back(
      {"shard",
       {"parallel.shard", "resources.gpus", "parallel.tensor"},
       absl::StrCat("parallel.shard ", parallel.shard(), " does not divide ", DataRanksText(trial)),
       divisors.empty() ? "use parallel.strategy ddp: there is one data rank"
                        : absl::StrCat("use ", SizesText(divisors))});
}

// Checks that each rank has a peer at every distance.
void CheckPairs(const v1::Spec& trial, std::vector<Violation>& out) {
  const int32_t ranks = DataRanksOf(trial);
  if (trial.parallel().strategy() != "gossip" || ranks < 1) return;
  const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint32_t>(ranks)));
  if (ranks == below) return;
  out.push_back({"averaging",
                 {"parallel.strategy", "resources.gpus"},
                 absl::StrCat("parallel.strategy gossip pairs ranks: ", ranks,
                              " data ranks are not a power of two"),
                 absl::StrCat("use ", below, " or ", 2 * below)});
}

void CheckAveraging(const v1::Spec& trial, std::vector<Violation>& out) {
  CheckPairs(trial, out);
  if (!StepsAlone(trial.parallel().strategy()) || trial.precision().reduce() == "fp32") return;
  const std::string& strategy = trial.parallel().strategy();
  out.push_back({"averaging",
                 {"precision.reduce", "parallel.strategy"},
                 absl::StrCat("precision.reduce ", trial.precision().reduce(),
                              " rounds gradients in transit, and parallel.strategy ", strategy,
                              " sends none"),
                 strategy == "local_sgd" ? "leave it out; a larger parallel.sync_every sends less"
                                         : "leave it out"});
}

// Refuses numbers that belong to one value of another field and have no effect with its other
// values. If that field is swept, the number is for one of its values and is allowed.
void CheckOwners(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  struct Owned {
    const char* code;
    const char* path;
    double value;
    const char* by;
    const char* word;
    const std::string& is;
    const char* other = "";  // a second value that uses it
  };
  constexpr char kStrategy[] = "parallel.strategy", kCompression[] = "parallel.compression";
  const std::string &strategy = parallel.strategy(), &compression = parallel.compression();
  for (const Owned& one : std::initializer_list<Owned>{
           {"shard", "parallel.shard", 1.0 * parallel.shard(), kStrategy, "hsdp", strategy},
           {"averaging", "parallel.sync_every", static_cast<double>(parallel.sync_every()),
            kStrategy, "local_sgd", strategy, "gossip"},
           {"averaging", "parallel.outer_lr", parallel.outer_lr(), kStrategy, "local_sgd",
            strategy},
           {"averaging", "parallel.outer_momentum", parallel.outer_momentum(), kStrategy,
            "local_sgd", strategy},
           {"pipeline", "parallel.interleave", 1.0 * parallel.interleave(), "parallel.schedule",
            "interleaved", parallel.schedule()},
           {"compression", "parallel.rank", 1.0 * parallel.rank(), kCompression, "powersgd",
            compression},
           {"compression", "parallel.share", parallel.share(), kCompression, "topk",
            compression}}) {
    const Field& field = *FindField(one.path);
    const bool default_value = NumberText(one.value) == field.default_text;
    if (one.is == one.word || one.is == one.other || default_value) continue;
    if (!InRange(field, one.value)) continue;
    const std::string words =
        *one.other == '\0' ? one.word : absl::StrCat(one.word, " and ", one.other);
    out.push_back({one.code,
                   {one.path, one.by},
                   absl::StrCat(one.path, " ", NumberText(one.value), " is for ", words, "; ",
                                one.by, " is ", one.is),
                   absl::StrCat("leave it out, or set ", one.by, " to ", one.word),
                   Reach::kAllTrials});
  }
}

void CheckCompression(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  const std::string& method = parallel.compression();
  if (method.empty() || method == "none") return;
  const auto refuse = [&](const char* path, const std::string& message, const std::string& hint) {
    out.push_back({"compression",
                   {"parallel.compression", path},
                   absl::StrCat("parallel.compression ", method, message),
                   hint});
  };
  if (parallel.strategy() != "ddp") {
    return refuse(
        "parallel.strategy",
        absl::StrCat(" works on ddp's buckets; parallel.strategy is ", parallel.strategy()),
        "use precision.reduce bf16");
  }
  if (trial.precision().reduce() != "fp32") {
    refuse(
        "precision.reduce",
        absl::StrCat(method == "auto"
                         ? " sets the format of gradients in transit, and so does precision.reduce "
                         : " sends fp32; precision.reduce is ",
                     trial.precision().reduce()),
        "keep one of them");
  }
  if (trial.precision().compute() == "fp16" && method != "auto") {
    refuse("precision.compute",
           " adds what gradients lost to those of the next step, which precision.compute fp16 may "
           "scale otherwise",
           "use precision.compute bf16");
  }
  const int32_t gpus = trial.resources().gpus();
  if (method == "topk" && gpus > 1 && parallel.share() * gpus >= 1) {
    refuse("parallel.share",
           absl::StrCat(" with parallel.share ", NumberText(parallel.share()), " among ", gpus,
                        " ranks sends no less than the gradients"),
           absl::StrCat("use less than ", NumberText(1.0 / gpus)));
  }
}

// Checks that there is something to balance, among ranks that may each have a different share.
void CheckDeal(const v1::Spec& trial, const Combination& fields, std::vector<Violation>& out) {
  const size_t before = out.size();
  CheckBalance(fields, out);
  if (out.size() > before || trial.parallel().balance() != "auto") return;
  const int64_t ranks = DataRanksOf(trial);
  const int64_t pass = int64_t{trial.train().batch_size()} * ranks;
  if (ranks > 1 && pass > 0 && trial.train().global_batch_size() == pass) {
    out.push_back({"balance",
                   {"parallel.balance", "train.global_batch_size", "train.batch_size"},
                   "parallel.balance auto has nothing to distribute: each data rank has one "
                   "micro-batch in a step",
                   "raise train.global_batch_size, or lower train.batch_size",
                   Reach::kAllTrials});
  }
}

// Names the field that makes ranks share the model.
std::string ModelText(const v1::Spec& trial) {
  const int32_t tensor = trial.parallel().tensor(), pipeline = trial.parallel().pipeline();
  if (pipeline <= 1) return absl::StrCat("parallel.tensor ", tensor);
  if (tensor <= 1) return absl::StrCat("parallel.pipeline ", pipeline);
  return absl::StrCat("parallel.tensor ", tensor, " × parallel.pipeline ", pipeline);
}

// Checks that the gang has all ranks of each copy of the model.
void CheckMesh(const v1::Spec& trial, std::vector<Violation>& out) {
  const int32_t model = RanksOfModel(trial), gpus = trial.resources().gpus();
  if (model <= 1 || gpus <= 0 || gpus % model == 0) return;
  out.push_back({"mesh",
                 {"parallel.tensor", "parallel.pipeline", "resources.gpus"},
                 absl::StrCat("resources.gpus ", gpus, " is not a multiple of ", ModelText(trial)),
                 absl::StrCat("set resources.gpus to ", NearestMultiples(gpus, model))});
}

// Checks that each stage has layers, and that micro-batches come in multiples of the number of
// stages.
void CheckStages(const v1::Spec& trial, const Combination& fields, std::vector<Violation>& out) {
  CheckPipeline(fields, out);
  const int32_t stages = trial.parallel().pipeline();
  const int64_t micro_steps = stages > 1 ? MicroStepsOf(trial) : 0;
  if (trial.parallel().schedule() != "interleaved" || micro_steps <= 0) return;
  if (micro_steps % stages == 0) return;
  out.push_back({"pipeline",
                 {"parallel.pipeline", "parallel.schedule"},
                 absl::StrCat("parallel.schedule interleaved needs micro-batches in multiples of "
                              "parallel.pipeline ",
                              stages, ", not ", micro_steps),
                 absl::StrCat(NearestText(micro_steps, stages), " (parallel.microbatches)")});
}

// Names sizes of a layer, or values of parallel.tensor, so that one divides the other.
std::string CuttingText(const v1::Spec& trial, const std::string& path, int32_t size) {
  const v1::Model& model = trial.model();
  const int32_t tensor = trial.parallel().tensor();
  const int32_t slots = trial.resources().gpus() / std::max(1, trial.parallel().pipeline());
  std::vector<int32_t> sizes;
  const double most = FindField(path)->max;
  const int64_t below = size / tensor * tensor;
  for (const int64_t other : {below, below + tensor}) {
    // Each head has an equal part of the width.
    const bool fits =
        path != "model.n_head" || model.n_embd() <= 0 || other == 0 || model.n_embd() % other == 0;
    if (other > 0 && static_cast<double>(other) <= most && fits) {
      sizes.push_back(static_cast<int32_t>(other));
    }
  }
  std::vector<int32_t> tensors;
  const auto widest = static_cast<int32_t>(FindField("parallel.tensor")->max);
  for (int32_t ranks = 1; ranks <= std::clamp(model.n_head(), 1, widest); ++ranks) {
    if (model.n_head() % ranks == 0 && model.n_ff() % ranks == 0 && slots % ranks == 0) {
      tensors.push_back(ranks);
    }
  }
  std::string text = sizes.empty() ? "" : absl::StrCat("set ", path, " to ", SizesText(sizes));
  absl::StrAppend(&text, text.empty() ? "set " : ", or ", "parallel.tensor to ",
                  SizesText(tensors));
  return text;
}

// Checks that each layer can be cut into equal parts.
void CheckCuts(const v1::Spec& trial, const Combination& fields, std::vector<Violation>& out) {
  const size_t before = out.size();
  CheckTensor(fields, out);
  if (out.size() == before || !out.back().hint.empty()) return;
  const std::string& path = out.back().paths[1];
  out.back().hint = CuttingText(
      trial, path, path == "model.n_head" ? trial.model().n_head() : trial.model().n_ff());
}

}  // namespace

std::string NearestText(int64_t value, int64_t step) {
  return absl::StrCat("use ", NearestMultiples(value, step));
}

std::string DataRanksText(const v1::Spec& trial) {
  const int32_t gpus = trial.resources().gpus();
  if (RanksOfModel(trial) <= 1) return absl::StrCat("resources.gpus ", gpus);
  return absl::StrCat("the ", DataRanksOf(trial), " data ranks (resources.gpus ", gpus, " ÷ ",
                      ModelText(trial), ")");
}

void CheckParallel(const v1::Spec& trial, std::vector<Violation>& out) {
  const Combination fields = CombinationOf(trial);
  CheckHash(trial, out);
  CheckShard(trial, out);
  CheckAveraging(trial, out);
  CheckOwners(trial, out);
  CheckCompression(trial, out);
  CheckDeal(trial, fields, out);
  CheckMesh(trial, out);
  CheckCuts(trial, fields, out);
  CheckStages(trial, fields, out);
}

}  // namespace dt::spec::internal

namespace dt::spec {

bool AllowsParallel(const v1::Spec& trial) {
  std::vector<Violation> violations;
  internal::CheckParallel(trial, violations);
  return violations.empty();
}

}  // namespace dt::spec
