// tasks.cc: opens the files of evaluations and runs the tasks in order.
#include "worker/trainer/eval/tasks.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "corpus/glob.h"
#include "corpus/tokenizer_record.h"
#include "worker/trainer/eval/samples.h"

namespace dt::trainer {
namespace {

// Returns the single file that a field names.
absl::StatusOr<std::string> FileOf(const char* field, const std::string& pattern,
                                   const std::string& data_root) {
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                      corpus::ResolveGlob(data_root, field, pattern));
  if (files.size() == 1) return files[0];
  return ConfigError(
      absl::StrCat(field, " '", pattern, "' matches ", files.size(), " files; name one"));
}

absl::StatusOr<corpus::TextCodec> OpenCodec(const TrialSpec& spec, const std::string& data_root) {
  if (spec.data.tokenizer == Tokenizer::kByte) return corpus::TextCodec();
  absl::StatusOr<std::string> file = FileOf("eval.vocab", spec.eval.vocab, data_root);
  if (!file.ok()) {
    return StatusOf(file.status().code(),
                    absl::StrCat(file.status().message(),
                                 "; place GPT-2's vocab.bpe there ('dtctl data fetch gpt2-vocab' "
                                 "gets it), or set eval.vocab"));
  }
  DT_ASSIGN_OR_RETURN(const std::string hash, corpus::VocabularyHash(*file));
  if (!spec.data.vocabulary_sha256.empty() && spec.data.vocabulary_sha256 != hash) {
    return DataError(absl::StrCat("eval.vocab '", spec.eval.vocab,
                                  "' is not the vocabulary that made the shards: its SHA-256 is ",
                                  hash, ", that in the record beside them ",
                                  spec.data.vocabulary_sha256,
                                  "; name the one they were made with"));
  }
  return corpus::TextCodec::OpenGpt2(*file);
}

}  // namespace

absl::StatusOr<EvalTasks> EvalTasks::Open(const TrialSpec& spec, const std::string& data_root) {
  EvalTasks tasks;
  DT_RETURN_IF_ERROR(tasks.OpenHellaSwag(spec, data_root));
  DT_RETURN_IF_ERROR(tasks.OpenSamples(spec, data_root));
  return tasks;
}

absl::Status EvalTasks::OpenHellaSwag(const TrialSpec& spec, const std::string& data_root) {
  if (spec.eval.hellaswag.empty()) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const std::string file,
                      FileOf("eval.hellaswag", spec.eval.hellaswag, data_root));
  DT_ASSIGN_OR_RETURN(const bool text, corpus::IsHellaSwagText(file));
  std::optional<corpus::TextCodec> codec;
  if (text) {
    DT_ASSIGN_OR_RETURN(codec, OpenCodec(spec, data_root));
  }
  DT_ASSIGN_OR_RETURN(
      examples_, corpus::ReadHellaSwag(file, codec ? &*codec : nullptr, spec.model.vocab_size));
  DT_ASSIGN_OR_RETURN(batches_, HellaSwagBatches(examples_, spec.model.n_positions));
  return absl::OkStatus();
}

absl::Status EvalTasks::OpenSamples(const TrialSpec& spec, const std::string& data_root) {
  if (spec.eval.samples == 0) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(codec_, OpenCodec(spec, data_root));
  prompt_ = codec_.Encode(spec.eval.sample_prompt);
  if (prompt_.empty()) prompt_ = {codec_.end_of_text()};
  const uint16_t largest =
      std::max(*std::max_element(prompt_.begin(), prompt_.end()), codec_.end_of_text());
  if (largest < spec.model.vocab_size) return absl::OkStatus();
  return ConfigError("eval.samples needs token " + std::to_string(largest) +
                     " of data.tokenizer; model.vocab_size is " +
                     std::to_string(spec.model.vocab_size) + ". Set the tokenizer of the data");
}

int64_t EvalTasks::Parts(const TrialSpec& spec, int32_t rank, int32_t size) const {
  const int64_t batches = (std::ssize(batches_) - rank + size - 1) / size;
  return batches + (prompt_.empty() || rank != 0 ? 0 : spec.eval.sample_tokens);
}

absl::Status EvalTasks::Run(const TrialSpec& spec, const Transformer& model, Device& device,
                            Mesh& mesh, EvalMeter& meter, frames::Eval& eval) const {
  const bool is_root = mesh.IsRoot();
  const auto step = static_cast<unsigned long long>(eval.step);
  if (!examples_.empty()) {
    DT_ASSIGN_OR_RETURN(const HellaSwagScore score,
                        ScoreHellaSwag(spec, examples_, batches_, model, device, mesh, meter));
    eval.hellaswag_acc = score.acc;
    eval.hellaswag_acc_norm = score.acc_norm;
    if (is_root) {
      std::fprintf(stderr, "step %llu  HellaSwag %.4f, normalised %.4f\n", step, score.acc,
                   score.acc_norm);
    }
  }
  if (prompt_.empty()) return absl::OkStatus();
  if (mesh.rank(Axis::kData) != 0) {
    KeepCompany(model, mesh);
    return absl::OkStatus();
  }
  // Different samples at each evaluation, but the same ones after a resume.
  const uint64_t seed = static_cast<uint64_t>(spec.seed) + 0x9e3779b97f4a7c15 * (eval.step + 1);
  const Generation generation{prompt_, codec_.end_of_text(), seed};
  DT_ASSIGN_OR_RETURN(const auto samples, Generate(spec, generation, model, device, mesh, meter));
  if (!is_root) return absl::OkStatus();
  for (const std::vector<uint16_t>& ids : samples) {
    eval.samples.push_back(ShownText(spec.eval.sample_prompt + codec_.Decode(ids)));
    std::fprintf(stderr, "step %llu  sample %zu: %s\n", step, eval.samples.size(),
                 eval.samples.back().c_str());
  }
  return absl::OkStatus();
}

}  // namespace dt::trainer
