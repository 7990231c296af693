// hellaswag.h: the examples of HellaSwag: a beginning and four endings, one of them right.
//
// Role:   reads llm.c's packed file (256 int32: magic 20240522, version 1, examples, longest; then
//         uint16: 65535, bytes, index, label, 4, and each text with its length) and the original
//         JSON lines (ctx, endings, label), whose endings get a space in front.
// Source: Zellers et al., "HellaSwag: Can a Machine Really Finish Your Sentence?" (2019); llm.c,
//         dev/data/hellaswag.py.
// Errors: DataError naming file and example or line.
// Tests:  tests/corpus/hellaswag_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "corpus/text_codec.h"

namespace dt::corpus {

inline constexpr int kHellaSwagEndings = 4;
// Twelve times the size of HellaSwag as JSON lines.
inline constexpr uint64_t kHellaSwagBytesMax = uint64_t{1} << 30;

struct HellaSwagExample {
  std::vector<uint16_t> context;
  std::array<std::vector<uint16_t>, kHellaSwagEndings> endings;  // none is empty
  int label = 0;                                                 // index of the right ending
};

// Returns whether it is JSON lines, which need a tokenizer. Errors: DataError for a file that is
// neither.
absl::StatusOr<bool> IsHellaSwagText(const std::string& path);
// `codec` is used for JSON lines only. Ids are below `vocab_size`.
absl::StatusOr<std::vector<HellaSwagExample>> ReadHellaSwag(const std::string& path,
                                                            TextCodec* codec, int64_t vocab_size);

}  // namespace dt::corpus
