// tokenize_fixture.h: runs of TokenizeFiles that must succeed, and the contents of their shards.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corpus/byte_tokenizer.h"
#include "corpus/shard.h"
#include "corpus/tokenize.h"
#include "tests/testing/temp_folder.h"

namespace dt::corpus {

class TokenizeFixture : public ::testing::Test {
 protected:
  TokenizeFixture() {
    options_.output = folder_ / "out";
    options_.validation_fraction = 0;
  }
  TokenizeSummary Run() {
    absl::StatusOr<TokenizeSummary> summary = TokenizeFiles(options_, nullptr);
    EXPECT_TRUE(summary.ok()) << summary.status();
    return summary.ok() ? *summary : TokenizeSummary{};
  }
  // Returns the ids of some shards as text, end-of-text as '|'.
  static std::string Text(const std::vector<std::string>& paths) {
    std::string text;
    for (const std::string& path : paths) {
      const absl::StatusOr<TokenShard> shard = TokenShard::Open(path);
      EXPECT_TRUE(shard.ok());
      std::vector<uint16_t> ids(shard->tokens());
      EXPECT_TRUE(shard->Read(0, ids).ok());
      for (const uint16_t id : ids) text += id == kByteEndOfText ? '|' : static_cast<char>(id);
    }
    return text;
  }

  ::dt::testing::TempFolder folder_{::dt::testing::Medium::kMemory};
  TokenizeOptions options_;
};

}  // namespace dt::corpus
