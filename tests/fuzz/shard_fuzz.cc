// shard_fuzz.cc: any bytes as a token shard: refused, or readable to the last token.
//
// The header is checked against the input's length, and also against lengths that no file here has.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "corpus/megatron.h"
#include "corpus/npy.h"
#include "corpus/shard.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using dt::corpus::kShardHeaderBytes;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<uint64_t> tokens =
      dt::corpus::ParseShardHeader(text.substr(0, kShardHeaderBytes), size);
  if (tokens.ok() && kShardHeaderBytes + 2 * *tokens != size) std::abort();
  if (size >= sizeof(uint64_t)) {
    uint64_t claimed = 0;
    std::memcpy(&claimed, data + size - sizeof claimed, sizeof claimed);
    const absl::StatusOr<uint64_t> of_claimed =
        dt::corpus::ParseShardHeader(text.substr(0, kShardHeaderBytes), claimed);
    if (of_claimed.ok() && kShardHeaderBytes + 2 * *of_claimed != claimed) std::abort();
  }
  const absl::StatusOr<dt::corpus::NpyLayout> npy =
      dt::corpus::ParseNpyHeader(text.substr(0, dt::corpus::kNpyHeaderMax), size);
  if (npy.ok() && npy->first_byte + 2 * npy->tokens != size) std::abort();
  const absl::StatusOr<uint64_t> sequences =
      dt::corpus::ParseMegatronHeader(text.substr(0, dt::corpus::kMegatronHeaderBytes), size);
  if (sequences.ok() && 12 * *sequences > size) std::abort();
  return 0;
}
