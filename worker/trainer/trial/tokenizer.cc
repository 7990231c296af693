// tokenizer.cc: see tokenizer.h.
#include "worker/trainer/trial/tokenizer.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/vocabulary.h"
#include "corpus/glob.h"
#include "corpus/tokenizer_record.h"

namespace dt::trainer {
namespace {

corpus::Tokenizer Settled(Tokenizer tokenizer) {
  switch (tokenizer) {
    case Tokenizer::kAuto:
      break;
    case Tokenizer::kGpt2:
      return corpus::Tokenizer::kGpt2;
    case Tokenizer::kByte:
      return corpus::Tokenizer::kByte;
  }
  DT_CHECK(false);
}

Tokenizer Of(corpus::Tokenizer tokenizer) {
  return tokenizer == corpus::Tokenizer::kByte ? Tokenizer::kByte : Tokenizer::kGpt2;
}

}  // namespace

absl::Status SettleTokenizer(const std::string& data_root, TrialSpec& spec) {
  DT_ASSIGN_OR_RETURN(std::vector<std::string> shards,
                      corpus::ResolveGlob(data_root, "data.train", spec.data.train));
  if (!spec.data.val.empty()) {
    DT_ASSIGN_OR_RETURN(const std::vector<std::string> more,
                        corpus::ResolveGlob(data_root, "data.val", spec.data.val));
    shards.insert(shards.end(), more.begin(), more.end());
  }
  DT_ASSIGN_OR_RETURN(const std::optional<corpus::TokenizerRecord> record,
                      corpus::RecordedTokenizer(shards));
  if (spec.data.tokenizer == Tokenizer::kAuto) {
    spec.data.tokenizer = record ? Of(record->tokenizer) : Tokenizer::kGpt2;
  } else if (record && record->tokenizer != Settled(spec.data.tokenizer)) {
    const char* made = corpus::NameOf(record->tokenizer);
    return DataError(absl::StrCat("data.tokenizer is ", TokenizerName(spec), " and the shards of '",
                                  spec.data.train, "' were made by ", made,
                                  " (the record beside them); set it to ", made, ", or to auto"));
  }
  if (record) spec.data.vocabulary_sha256 = record->vocabulary_sha256;
  ModelSpec& model = spec.model;
  if (model.vocab_size == 0) {
    model.vocab_size = corpus::VocabularyOf(Settled(spec.data.tokenizer));
  }
  if (model.vocab_pad == 0) model.vocab_pad = PaddedVocabulary(model.vocab_size);
  if (model.vocab_pad >= model.vocab_size) return absl::OkStatus();
  return ConfigError(absl::StrCat("model.vocab_pad ", model.vocab_pad, " is below the ",
                                  model.vocab_size, " tokens of data.tokenizer ",
                                  TokenizerName(spec), "; write 0, or raise it"));
}

const char* TokenizerName(const TrialSpec& spec) {
  return corpus::NameOf(Settled(spec.data.tokenizer));
}

}  // namespace dt::trainer
