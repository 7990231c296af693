// tasks.cc: files of evaluations, and the tasks one after another.
#include "worker/trainer/eval/tasks.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "corpus/glob.h"
#include "worker/trainer/eval/samples.h"

namespace dt::trainer {
namespace {

// The one file that a field names.
Result<std::string> FileOf(const char* field, const std::string& pattern,
                           const std::string& data_root) {
  const std::string context = std::string(field) + " '" + pattern + "'";
  Result<std::vector<std::string>> files = corpus::ResolveGlob(data_root, pattern);
  if (!files.ok()) return std::move(files).error().Within(context);
  if (files->size() == 1) return (*files)[0];
  return Error{ErrorKind::kConfig,
               context + " matches " + std::to_string(files->size()) + " files; name one"};
}

Result<corpus::TextCodec> OpenCodec(const TrialSpec& spec, const std::string& data_root) {
  if (spec.data.bytes) return corpus::TextCodec();
  Result<std::string> file = FileOf("eval.vocab", spec.eval.vocab, data_root);
  if (!file.ok()) {
    Error error = std::move(file).error();
    error.message +=
        "; place GPT-2's vocab.bpe there ('dtctl data fetch gpt2-vocab' gets it), or set "
        "eval.vocab";
    return error;
  }
  return corpus::TextCodec::OpenGpt2(*file);
}

}  // namespace

Result<EvalTasks> EvalTasks::Open(const TrialSpec& spec, const std::string& data_root) {
  EvalTasks tasks;
  DT_TRY(tasks.OpenHellaSwag(spec, data_root));
  DT_TRY(tasks.OpenSamples(spec, data_root));
  return tasks;
}

Result<void> EvalTasks::OpenHellaSwag(const TrialSpec& spec, const std::string& data_root) {
  if (spec.eval.hellaswag.empty()) return {};
  DT_TRY_ASSIGN(const std::string file, FileOf("eval.hellaswag", spec.eval.hellaswag, data_root));
  DT_TRY_ASSIGN(const bool text, corpus::IsHellaSwagText(file));
  std::optional<corpus::TextCodec> codec;
  if (text) {
    DT_TRY_ASSIGN(codec, OpenCodec(spec, data_root));
  }
  DT_TRY_ASSIGN(examples_,
                corpus::ReadHellaSwag(file, codec ? &*codec : nullptr, spec.model.vocab_size));
  DT_TRY_ASSIGN(batches_, HellaSwagBatches(examples_, spec.model.n_positions));
  return {};
}

Result<void> EvalTasks::OpenSamples(const TrialSpec& spec, const std::string& data_root) {
  if (spec.eval.samples == 0) return {};
  DT_TRY_ASSIGN(codec_, OpenCodec(spec, data_root));
  prompt_ = codec_.Encode(spec.eval.sample_prompt);
  if (prompt_.empty()) prompt_ = {codec_.end_of_text()};
  const uint16_t largest =
      std::max(*std::max_element(prompt_.begin(), prompt_.end()), codec_.end_of_text());
  if (largest < spec.model.vocab_size) return {};
  return Error{ErrorKind::kConfig, "eval.samples needs token " + std::to_string(largest) +
                                       " of data.tokenizer; model.vocab_size is " +
                                       std::to_string(spec.model.vocab_size) +
                                       ". Set the tokenizer of the data"};
}

int64_t EvalTasks::Parts(const TrialSpec& spec, int32_t rank, int32_t size) const {
  const int64_t batches = (std::ssize(batches_) - rank + size - 1) / size;
  return batches + (prompt_.empty() || rank != 0 ? 0 : spec.eval.sample_tokens);
}

Result<void> EvalTasks::Run(const TrialSpec& spec, const Transformer& model, Device& device,
                            Group* group, EvalMeter& meter, frames::Eval& eval) const {
  const bool is_root = group == nullptr || group->rank() == 0;
  const auto step = static_cast<unsigned long long>(eval.step);
  if (!examples_.empty()) {
    DT_TRY_ASSIGN(const HellaSwagScore score,
                  ScoreHellaSwag(spec, examples_, batches_, model, device, group, meter));
    eval.hellaswag_acc = score.acc;
    eval.hellaswag_acc_norm = score.acc_norm;
    if (is_root) {
      std::fprintf(stderr, "step %llu  HellaSwag %.4f, normalised %.4f\n", step, score.acc,
                   score.acc_norm);
    }
  }
  if (prompt_.empty()) return {};
  if (!is_root) {
    KeepCompany(*group);
    return {};
  }
  // Other texts at each evaluation, and the same after a resume.
  const uint64_t seed = static_cast<uint64_t>(spec.seed) + 0x9e3779b97f4a7c15 * (eval.step + 1);
  const Generation generation{prompt_, codec_.end_of_text(), seed};
  DT_TRY_ASSIGN(const auto samples, Generate(spec, generation, model, device, group, meter));
  for (const std::vector<uint16_t>& ids : samples) {
    eval.samples.push_back(ShownText(spec.eval.sample_prompt + codec_.Decode(ids)));
    std::fprintf(stderr, "step %llu  sample %zu: %s\n", step, eval.samples.size(),
                 eval.samples.back().c_str());
  }
  return {};
}

}  // namespace dt::trainer
