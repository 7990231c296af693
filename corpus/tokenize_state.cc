// tokenize_state.cc: see tokenize_state.h.
#include "corpus/tokenize_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/files.h"
#include "common/sha256.h"
#include "common/version.h"
#include "corpus/bpe.h"

namespace dt::corpus {
namespace {

using nlohmann::json;

constexpr char kName[] = "/state.json";
constexpr uint64_t kStateBytesMax = 4096;

// Visits each number of a state with its name.
template <typename State, typename Visit>
void ForEachNumber(State& state, const Visit& visit) {
  visit("document", state.place.document);
  visit("offset", state.place.offset);
  visit("line", state.place.line);
  visit("drawn", state.place.drawn);
  visit("lines", state.lines);
  visit("train_tokens", state.train_tokens);
  visit("val_tokens", state.val_tokens);
  visit("documents", state.documents);
  visit("bytes", state.bytes);
  visit("skipped", state.skipped);
}

}  // namespace

absl::StatusOr<std::string> RunKey(const TokenizeOptions& options,
                                   const std::vector<Document>& documents) {
  Sha256 hash;
  const auto text = [&hash](const std::string& part) {
    hash.Update(std::to_string(part.size()) + ":" + part);
  };
  const auto number = [&text](auto value) { text(std::to_string(value)); };
  text(kVersion);
  text(kRevision);
  number(static_cast<int>(options.tokenizer));
  if (!options.vocabulary.empty()) {
    DT_ASSIGN_OR_RETURN(const std::string merges,
                        ReadFile(options.vocabulary, kVocabularyFileBytes));
    text(merges);
  }
  text(options.text_field);
  number(options.shard_tokens);
  number(static_cast<int>(options.format));
  number(static_cast<int>(options.validation));
  hash.Update(&options.validation_fraction, sizeof options.validation_fraction);
  for (const Document& document : documents) {
    text(document.path);
    number(document.bytes);
    number(document.modified_ns);
    number(document.train_bytes);
  }
  return hash.FinishHex();
}

absl::Status SaveState(const std::string& folder, const std::string& key,
                       const TokenizeState& state) {
  json written = {{"key", key}};
  ForEachNumber(state, [&](const char* name, uint64_t value) { written[name] = value; });
  return WriteFileAtomically(folder + kName, written.dump() + "\n");
}

std::optional<TokenizeState> FindState(const std::string& folder, const std::string& key) {
  const absl::StatusOr<std::string> content = ReadFile(folder + kName, kStateBytesMax);
  if (!content.ok()) return std::nullopt;
  const json read = json::parse(*content, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object() || !read.contains("key") || read["key"] != key) return std::nullopt;
  TokenizeState state;
  bool whole = true;
  ForEachNumber(state, [&](const char* name, uint64_t& value) {
    const auto found = read.find(name);
    whole = whole && found != read.end() && found->is_number_unsigned();
    if (whole) value = found->template get<uint64_t>();
  });
  if (!whole) return std::nullopt;
  return state;
}

}  // namespace dt::corpus
