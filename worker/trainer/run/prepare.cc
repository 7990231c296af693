// prepare.cc: see prepare.h.
#include "worker/trainer/run/prepare.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/trainer/trial/tokenizer.h"

namespace dt::trainer {
namespace {

absl::Status OpenData(const frames::Start& start, TrainingState& state) {
  DT_ASSIGN_OR_RETURN(const corpus::ShardFormat format,
                      corpus::ShardFormatOf(state.spec.data.format));
  const auto open = [&](const char* field, const std::string& pattern, bool by_tokens) {
    return Dataset::Open({.data_root = start.data_root,
                          .field = field,
                          .pattern = pattern,
                          .format = format,
                          .vocab_size = static_cast<int32_t>(state.spec.model.vocab_size),
                          .seq_len = state.spec.train.seq_len,
                          .by_tokens = by_tokens});
  };
  DT_ASSIGN_OR_RETURN(state.train_data, open("data.train", state.spec.data.train, false));
  if (!state.spec.data.val.empty()) {
    DT_ASSIGN_OR_RETURN(state.val_data,
                        open("data.val", state.spec.data.val, state.spec.eval.batches == 0));
  }
  DT_ASSIGN_OR_RETURN(state.tasks, EvalTasks::Open(state.spec, start.data_root));
  if (!state.spec.model.init_from.empty()) {
    DT_ASSIGN_OR_RETURN(state.pretrained, FindPretrained(start.data_root, state.spec.model));
  }
  return absl::OkStatus();
}

bool IsForValidation(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.starts_with("val_") || name.find("_val_") != std::string::npos;
}

// Warns about training on validation data: it makes the validation loss meaningless, and one '*'
// too many is enough.
void WarnOfOverlap(const TrainingState& state) {
  const std::vector<std::string>& train = state.train_data->paths();
  std::vector<std::string> odd;
  for (const std::string& path : train) {
    const bool also = state.val_data && std::binary_search(state.val_data->paths().begin(),
                                                           state.val_data->paths().end(), path);
    if (also || IsForValidation(path)) odd.push_back(path);
  }
  if (odd.empty()) return;
  std::fprintf(stderr,
               "warning: data.train '%s' matches %zu validation shards, such as '%s', so the "
               "trial trains on its validation data; use a narrower pattern, such as train_*.bin\n",
               state.spec.data.train.c_str(), odd.size(), odd.front().c_str());
}

void Print(const frames::Start& start, const frames::Prepared& prepared) {
  std::fprintf(stderr,
               "trial %llu/%u attempt %u, rank %d of %d: %.1fM parameters, %.2fM training tokens, "
               "%lld steps of %lld tokens\n",
               static_cast<unsigned long long>(start.experiment), start.trial, start.attempt,
               start.rank, start.world_size, static_cast<double>(prepared.model_parameters) / 1e6,
               static_cast<double>(prepared.train_tokens) / 1e6,
               static_cast<long long>(prepared.target_steps),
               static_cast<long long>(prepared.tokens_per_step));
}

}  // namespace

DataMarks MarksOf(const TrainingState& state) {
  return {state.train_data->fingerprint(), state.val_data ? state.val_data->fingerprint() : ""};
}

absl::StatusOr<frames::Prepared> Prepare(const frames::Start& start, TrainingState& state,
                                         StepPlan& plan) {
  DT_ASSIGN_OR_RETURN(state.spec, ParseTrialSpec(start.spec));
  const int64_t shard = std::max<int64_t>(1, state.spec.shard);
  const int64_t data_ranks = start.world_size / (state.spec.tensor * state.spec.pipeline);
  if (state.spec.sharing == Sharing::kHsdp && data_ranks % shard != 0) {
    return ConfigError(absl::StrCat("parallel.shard ", shard, " does not divide the ", data_ranks,
                                    " data ranks of this attempt"));
  }
  const bool asks_shards = state.spec.data.tokenizer == Tokenizer::kAuto;
  DT_RETURN_IF_ERROR(SettleTokenizer(start.data_root, state.spec));
  DT_RETURN_IF_ERROR(OpenData(start, state));
  DT_ASSIGN_OR_RETURN(
      plan, PlanSteps(state.spec, start.rank, start.world_size, state.train_data->windows()));

  frames::Prepared prepared;
  prepared.token = start.token;
  prepared.target_steps = plan.target_steps;
  prepared.train_files = state.train_data->files();
  prepared.train_tokens = state.train_data->tokens();
  prepared.val_tokens = state.val_data ? state.val_data->tokens() : 0;
  prepared.data_fingerprint = state.train_data->fingerprint();
  if (state.val_data) prepared.data_fingerprint += "-" + state.val_data->fingerprint();
  // A rank whose shards name another tokenizer would build a model of another size.
  if (asks_shards) prepared.data_fingerprint += absl::StrCat("-", TokenizerName(state.spec));
  prepared.model_parameters = CountParameters(state.spec.model);
  prepared.tokens_per_step = plan.tokens_per_step;
  Print(start, prepared);
  if (start.rank == 0) WarnOfOverlap(state);
  return prepared;
}

}  // namespace dt::trainer
