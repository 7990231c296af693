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
                   "parallel.strategy hsdp needs parallel.shard, of 2 or more: over how many ranks "
                   "one copy of the model is spread",
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

bool StepsAlone(const v1::Parallel& parallel) {
  return parallel.strategy() == "local_sgd" || parallel.strategy() == "gossip";
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
  if (!StepsAlone(trial.parallel()) || trial.precision().reduce() == "fp32") return;
  const std::string& strategy = trial.parallel().strategy();
  out.push_back({"averaging",
                 {"precision.reduce", "parallel.strategy"},
                 absl::StrCat("precision.reduce ", trial.precision().reduce(),
                              " rounds gradients on their way, and parallel.strategy ", strategy,
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
    refuse("precision.reduce",
           absl::StrCat(method == "auto" ? " says what gradients travel in, and so does "
                                           "precision.reduce "
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
void CheckBalance(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  if (parallel.balance() != "auto") return;
  const auto refuse = [&](const char* path, const std::string& message, const char* hint) {
    out.push_back({"balance", {"parallel.balance", path}, message, hint});
  };
  for (const auto& [path, ranks] : {std::pair("parallel.tensor", parallel.tensor()),
                                    std::pair("parallel.pipeline", parallel.pipeline())}) {
    if (ranks <= 1) continue;
    return refuse(path,
                  absl::StrCat("parallel.balance auto deals micro-batches to ranks that have the "
                               "whole model; ",
                               path, " is ", ranks),
                  "leave it out");
  }
  const std::string& strategy = parallel.strategy();
  if (StepsAlone(parallel)) {
    return refuse("parallel.strategy",
                  absl::StrCat("parallel.balance auto deals the micro-batches of a step that ranks "
                               "take together, and under parallel.strategy ",
                               strategy, " each takes its own"),
                  "leave it out");
  }
  if (strategy == "zero2" || strategy == "zero3" || strategy == "hsdp") {
    return refuse("parallel.strategy",
                  absl::StrCat("parallel.balance auto gives slow ranks fewer micro-batches, and "
                               "under parallel.strategy ",
                               strategy, " ranks wait for each other in every one"),
                  "use ddp or zero1");
  }
  const int64_t ranks = DataRanksOf(trial);
  const int64_t pass = int64_t{trial.train().batch_size()} * ranks;
  if (ranks > 1 && pass > 0 && trial.train().global_batch_size() == pass) {
    out.push_back({"balance",
                   {"parallel.balance", "train.global_batch_size", "train.batch_size"},
                   "parallel.balance auto has nothing to deal: each data rank has one micro-batch "
                   "in a step",
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

// Returns "4 or 8".
std::string Nearest(int64_t value, int64_t step) {
  const int64_t below = value / step * step;
  return below > 0 ? absl::StrCat(below, " or ", below + step) : absl::StrCat(below + step);
}

// Checks that the gang has all ranks of each copy of the model.
void CheckMesh(const v1::Spec& trial, std::vector<Violation>& out) {
  const int32_t model = RanksOfModel(trial), gpus = trial.resources().gpus();
  if (model <= 1 || gpus <= 0 || gpus % model == 0) return;
  out.push_back({"mesh",
                 {"parallel.tensor", "parallel.pipeline", "resources.gpus"},
                 absl::StrCat("resources.gpus ", gpus, " is not a multiple of ", ModelText(trial)),
                 absl::StrCat("set resources.gpus to ", Nearest(gpus, model))});
}

// Refuses features for data ranks only when `ranks` ranks, by the field at `path`, share the model.
void CheckDataRanksAlone(const v1::Parallel& parallel, const char* code, const char* path,
                         int32_t ranks, std::vector<Violation>& out) {
  const auto refuse = [&](const char* what, const std::string& word, const char* hint) {
    out.push_back({code,
                   {path, what},
                   absl::StrCat(what, " ", word, " is for data ranks only; ", path, " is ", ranks),
                   hint});
  };
  if (StepsAlone(parallel)) return refuse("parallel.strategy", parallel.strategy(), "use ddp");
  if (!parallel.compression().empty() && parallel.compression() != "none") {
    refuse("parallel.compression", parallel.compression(), "use precision.reduce bf16");
  }
}

// Checks that each stage has layers, and that micro-batches come in multiples of the number of
// stages.
void CheckPipeline(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  const int32_t stages = parallel.pipeline();
  if (stages <= 1) return;
  const bool interleaved = parallel.schedule() == "interleaved";
  const auto refuse = [&](const char* path, const std::string& message, const std::string& hint) {
    out.push_back({"pipeline", {"parallel.pipeline", path}, message, hint});
  };
  const int32_t chunks = ChunksEach(trial);
  const int32_t layers = trial.model().n_layer();
  if (layers > 0 && int64_t{stages} * chunks > layers) {
    refuse(interleaved ? "parallel.interleave" : "model.n_layer",
           absl::StrCat("parallel.pipeline ", stages,
                        interleaved ? absl::StrCat(" × parallel.interleave ", chunks) : "",
                        " is more than the ", layers, " layers of the model"),
           "each stage needs one at least: lower it");
  }
  const int64_t micro_steps = MicroStepsOf(trial);
  if (interleaved && micro_steps > 0 && micro_steps % stages != 0) {
    refuse("parallel.schedule",
           absl::StrCat("parallel.schedule interleaved needs micro-batches in multiples of "
                        "parallel.pipeline ",
                        stages, ", not ", micro_steps),
           absl::StrCat(NearestText(micro_steps, stages), " (parallel.microbatches)"));
  }
  CheckDataRanksAlone(parallel, "pipeline", "parallel.pipeline", stages, out);
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
void CheckTensor(const v1::Spec& trial, std::vector<Violation>& out) {
  const v1::Parallel& parallel = trial.parallel();
  const int32_t tensor = parallel.tensor();
  if (tensor <= 1) return;
  const auto refuse = [&](const char* path, const std::string& message, const std::string& hint) {
    out.push_back({"tensor", {"parallel.tensor", path}, message, hint});
  };
  const v1::Model& model = trial.model();
  const auto divides = [&](const char* path, int32_t size) {
    if (size <= 0 || size % tensor == 0) return true;
    refuse(path, absl::StrCat("parallel.tensor ", tensor, " does not divide ", path, " ", size),
           CuttingText(trial, path, size));
    return false;
  };
  if (!divides("model.n_head", model.n_head()) || !divides("model.n_ff", model.n_ff())) return;
  const int32_t seq_len = trial.train().seq_len();
  if (parallel.sequence() && seq_len > 0 && seq_len % tensor != 0) {
    return refuse(
        "train.seq_len",
        absl::StrCat("train.seq_len ", seq_len, " is not a multiple of parallel.tensor ", tensor),
        absl::StrCat("set train.seq_len to ", Nearest(seq_len, tensor),
                     ", or parallel.sequence to false"));
  }
  if (!parallel.sequence() && model.dropout() > 0) {
    return refuse("parallel.sequence",
                  "model.dropout with parallel.sequence false would differ among the ranks of one "
                  "layer",
                  "leave parallel.sequence out");
  }
  CheckDataRanksAlone(parallel, "tensor", "parallel.tensor", tensor, out);
}

}  // namespace

std::string NearestText(int64_t value, int64_t step) {
  return absl::StrCat("use ", Nearest(value, step));
}

std::string DataRanksText(const v1::Spec& trial) {
  const int32_t gpus = trial.resources().gpus();
  if (RanksOfModel(trial) <= 1) return absl::StrCat("resources.gpus ", gpus);
  return absl::StrCat("the ", DataRanksOf(trial), " data ranks (resources.gpus ", gpus, " ÷ ",
                      ModelText(trial), ")");
}

void CheckParallel(const v1::Spec& trial, std::vector<Violation>& out) {
  CheckHash(trial, out);
  CheckShard(trial, out);
  CheckAveraging(trial, out);
  CheckOwners(trial, out);
  CheckCompression(trial, out);
  CheckBalance(trial, out);
  CheckMesh(trial, out);
  CheckTensor(trial, out);
  CheckPipeline(trial, out);
}

}  // namespace dt::spec::internal

namespace dt::spec {

bool AllowsParallel(const v1::Spec& trial) {
  std::vector<internal::Violation> violations;
  internal::CheckParallel(trial, violations);
  return violations.empty();
}

}  // namespace dt::spec
