// npy.h: token ids as NumPy saves them: a .npy file of one dimension, uint16, little-endian.
//
// Role:   pure. Files come from anywhere, so nothing in a header is trusted before it is checked.
// Source: NumPy's format description (numpy.lib.format), versions 1.0 to 3.0.
// Errors: DataError; the message goes after the file's name.
// Tests:  tests/corpus/shard_formats_test.cc, tests/fuzz/shard_fuzz.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"

namespace dt::corpus {

// The size that NumPy and we write for an array of one dimension.
inline constexpr size_t kNpyHeaderBytes = 128;
// NumPy pads to 64; a longer header than this describes a structure, not an array of ids.
inline constexpr size_t kNpyHeaderMax = 4096;

struct NpyLayout {
  uint64_t first_byte = 0;
  uint64_t tokens = 0;
};

bool IsNpy(std::string_view start);
// `start` holds the file's first kNpyHeaderMax bytes, or all if it has fewer.
absl::StatusOr<NpyLayout> ParseNpyHeader(std::string_view start, uint64_t file_bytes);
// Returns a header of version 1.0, kNpyHeaderBytes long.
std::string NpyHeader(uint64_t tokens);

}  // namespace dt::corpus
