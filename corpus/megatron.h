// megatron.h: Megatron's pairs of files: NAME.bin is ids one after another, NAME.idx has the place
// of each sequence.
//
// Role:   checks that the .bin is the stream of its sequences, as Megatron's own tools write it, so
//         that it can be read as one.
// Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
// Errors: DataError; the message goes after the .idx file's name.
// Tests:  tests/corpus/shard_formats_test.cc, tests/fuzz/shard_fuzz.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/files.h"
#include "common/status.h"

namespace dt::corpus {

inline constexpr size_t kMegatronHeaderBytes = 34;

bool IsMegatronIndex(std::string_view start);
// Returns NAME.idx for NAME.bin; "" for any other name.
std::string MegatronIndexOf(const std::string& bin_path);
// Checks a header against the size of its file; returns the number of sequences. REQUIRES: header
// has kMegatronHeaderBytes bytes, or all bytes of a shorter file.
absl::StatusOr<uint64_t> ParseMegatronHeader(std::string_view header, uint64_t file_bytes);
// Checks the complete index against the size of its .bin.
absl::Status CheckMegatronIndex(const InputFile& index, uint64_t bin_bytes);

}  // namespace dt::corpus
