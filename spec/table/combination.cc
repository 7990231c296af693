// combination.cc: see combination.h.
#include "spec/table/combination.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace dt::spec {
namespace {

// Refuses what needs all of the model on each rank. `ranks` is the value of the field at `path`.
void CheckDataRanksAlone(const Combination& trial, const char* rule, const char* path,
                         int64_t ranks, std::vector<Violation>& out) {
  const auto refuse = [&](const char* what, std::string_view word, const char* hint) {
    out.push_back({rule,
                   {path, what},
                   absl::StrCat(what, " ", std::string(word), " is for data ranks only; ", path,
                                " is ", ranks),
                   hint});
  };
  if (StepsAlone(trial.strategy)) return refuse("parallel.strategy", trial.strategy, "use ddp");
  if (!trial.compression.empty() && trial.compression != "none") {
    refuse("parallel.compression", trial.compression, "use precision.reduce bf16");
  }
}

}  // namespace

bool StepsAlone(std::string_view strategy) {
  return strategy == "local_sgd" || strategy == "gossip";
}

std::string NearestMultiples(int64_t value, int64_t step) {
  const int64_t below = value / step * step;
  return below > 0 ? absl::StrCat(below, " or ", below + step) : absl::StrCat(below + step);
}

void CheckModel(const Combination& trial, std::vector<Violation>& out) {
  if (trial.n_head > 0 && trial.n_embd > 0 && trial.n_embd % trial.n_head != 0) {
    const int64_t per_head = trial.n_embd / trial.n_head;
    out.push_back({"heads",
                   {"model.n_head", "model.n_embd", "model.preset"},
                   absl::StrCat("model.n_embd ", trial.n_embd, " is not divisible by model.n_head ",
                                trial.n_head),
                   absl::StrCat("n_embd ", trial.n_head * (per_head + 1), " is")});
  }
  if (trial.positions == "sinusoidal" && trial.n_embd % 2 != 0) {
    out.push_back(
        {"sinusoidal_width",
         {"model.n_embd", "model.positions"},
         absl::StrCat("sinusoidal positions need an even model.n_embd, not ", trial.n_embd),
         "use learned positions or an even width"});
  }
  if (trial.vocab_pad > 0 && trial.vocab_pad < trial.vocab_size) {
    out.push_back({"vocab_pad",
                   {"model.vocab_pad", "model.vocab_size", "data.tokenizer", "model.preset"},
                   absl::StrCat("model.vocab_pad ", trial.vocab_pad, " is below model.vocab_size ",
                                trial.vocab_size),
                   "leave vocab_pad out, or raise it"});
  }
  if (trial.positions == "learned" && trial.n_positions > 0 && trial.seq_len > trial.n_positions) {
    out.push_back({"positions",
                   {"train.seq_len", "model.n_positions", "model.positions", "model.preset"},
                   absl::StrCat("train.seq_len ", trial.seq_len, " is beyond the ",
                                trial.n_positions, " learned positions of the model"),
                   absl::StrCat("set model.n_positions to ", trial.seq_len)});
  }
}

void CheckTensor(const Combination& trial, std::vector<Violation>& out) {
  const int64_t tensor = trial.tensor;
  if (tensor <= 1) return;
  const auto refuse = [&](const char* path, const std::string& message, const std::string& hint) {
    out.push_back({"tensor", {"parallel.tensor", path}, message, hint});
  };
  for (const auto& [path, size] :
       {std::pair("model.n_head", trial.n_head), std::pair("model.n_ff", trial.n_ff)}) {
    if (size <= 0 || size % tensor == 0) continue;
    return refuse(
        path, absl::StrCat("parallel.tensor ", tensor, " does not divide ", path, " ", size), "");
  }
  if (trial.sequence && trial.seq_len > 0 && trial.seq_len % tensor != 0) {
    return refuse("train.seq_len",
                  absl::StrCat("train.seq_len ", trial.seq_len,
                               " is not a multiple of parallel.tensor ", tensor),
                  absl::StrCat("set train.seq_len to ", NearestMultiples(trial.seq_len, tensor),
                               ", or parallel.sequence to false"));
  }
  if (!trial.sequence && trial.dropout > 0) {
    return refuse("parallel.sequence",
                  "model.dropout with parallel.sequence false would differ among the ranks of one "
                  "layer",
                  "leave parallel.sequence out");
  }
  CheckDataRanksAlone(trial, "tensor", "parallel.tensor", tensor, out);
}

void CheckPipeline(const Combination& trial, std::vector<Violation>& out) {
  const int64_t stages = trial.pipeline;
  if (stages <= 1) return;
  const bool interleaved = trial.schedule == "interleaved";
  const int64_t chunks = interleaved && trial.interleave > 1 ? trial.interleave : 1;
  if (trial.n_layer > 0 && stages * chunks > trial.n_layer) {
    out.push_back({"pipeline",
                   {"parallel.pipeline", interleaved ? "parallel.interleave" : "model.n_layer"},
                   absl::StrCat("parallel.pipeline ", stages,
                                interleaved ? absl::StrCat(" × parallel.interleave ", chunks) : "",
                                " is more than the ", trial.n_layer, " layers of the model"),
                   "each stage needs one at least: lower it"});
  }
  CheckDataRanksAlone(trial, "pipeline", "parallel.pipeline", stages, out);
}

void CheckBalance(const Combination& trial, std::vector<Violation>& out) {
  if (trial.balance != "auto") return;
  const auto refuse = [&](const char* path, const std::string& message, const char* hint) {
    out.push_back({"balance",
                   {"parallel.balance", path},
                   absl::StrCat("parallel.balance auto ", message),
                   hint});
  };
  for (const auto& [path, ranks] : {std::pair("parallel.tensor", trial.tensor),
                                    std::pair("parallel.pipeline", trial.pipeline)}) {
    if (ranks <= 1) continue;
    return refuse(path,
                  absl::StrCat("deals micro-batches to ranks that hold the full model; ", path,
                               " is ", ranks),
                  "leave it out");
  }
  const std::string strategy(trial.strategy);
  if (StepsAlone(strategy)) {
    return refuse("parallel.strategy",
                  absl::StrCat("deals the micro-batches of a step that ranks take together, and "
                               "under parallel.strategy ",
                               strategy, " each takes its own"),
                  "leave it out");
  }
  if (strategy == "zero2" || strategy == "zero3" || strategy == "hsdp") {
    refuse("parallel.strategy",
           absl::StrCat("gives slow ranks fewer micro-batches, and under parallel.strategy ",
                        strategy, " ranks wait for each other in every one"),
           "use ddp or zero1");
  }
}

}  // namespace dt::spec
