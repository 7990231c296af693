// tokenizer_fuzz.cc: any bytes as a vocab.bpe, and as text that it encodes: refused, or every text
// decodes to itself.
//
// The text follows the first empty line; without one, it is the vocabulary itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "corpus/bpe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = all.find("\n\n");
  const std::string_view merges = cut == std::string_view::npos ? all : all.substr(0, cut + 1);
  const std::string_view text = cut == std::string_view::npos ? all : all.substr(cut + 2);
  const auto vocabulary = dt::corpus::BpeVocabulary::Parse(merges, "vocab.bpe");
  if (!vocabulary.ok()) return 0;
  dt::corpus::BpeEncoder encoder(*vocabulary);
  std::vector<uint16_t> ids;
  encoder.Append(text, ids);
  for (const uint16_t id : ids) {
    if (id >= vocabulary->size()) std::abort();
  }
  if (vocabulary->Decode(ids) != text) std::abort();
  return 0;
}
