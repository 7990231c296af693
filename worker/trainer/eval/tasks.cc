// tasks.cc: files of evaluations, and the tasks one after another.
#include "worker/trainer/eval/tasks.h"

#include <cstdio>
#include <utility>

#include "corpus/glob.h"

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
  if (!spec.eval.hellaswag.empty()) {
    DT_TRY_ASSIGN(const std::string file, FileOf("eval.hellaswag", spec.eval.hellaswag, data_root));
    DT_TRY_ASSIGN(const bool text, corpus::IsHellaSwagText(file));
    std::optional<corpus::TextCodec> codec;
    if (text) {
      DT_TRY_ASSIGN(codec, OpenCodec(spec, data_root));
    }
    DT_TRY_ASSIGN(tasks.examples_,
                  corpus::ReadHellaSwag(file, codec ? &*codec : nullptr, spec.model.vocab_size));
    DT_TRY_ASSIGN(tasks.batches_, HellaSwagBatches(tasks.examples_, spec.model.n_positions));
  }
  return tasks;
}

void EvalTasks::Run(const TrialSpec& spec, const Transformer& model, Device& device, Group* group,
                    frames::Eval& eval) const {
  if (examples_.empty()) return;
  const HellaSwagScore score = ScoreHellaSwag(spec, examples_, batches_, model, device, group);
  eval.hellaswag_acc = score.acc;
  eval.hellaswag_acc_norm = score.acc_norm;
  if (group == nullptr || group->rank() == 0) {
    std::fprintf(stderr, "step %llu  HellaSwag %.4f, normalised %.4f\n",
                 static_cast<unsigned long long>(eval.step), score.acc, score.acc_norm);
  }
}

}  // namespace dt::trainer
