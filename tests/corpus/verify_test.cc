#include "corpus/verify.h"

#include <filesystem>

#include "tests/corpus/tokenize_fixture.h"

namespace dt::corpus {
namespace {

using ::dt::testing::Slurp;

class VerifyTest : public TokenizeFixture {
 protected:
  VerifyTest() {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i % 26);
    options_.inputs = {folder_.Write("in.txt", text)};
    options_.shard_tokens = 1024;
    options_.validation_fraction = 0.1;
    made_ = Run();
  }
  // Returns the error of each shard, by its place; nothing if there is none.
  std::vector<std::string> Wrong() {
    std::vector<std::string> wrong;
    const auto verdicts = VerifyShards(options_.output);
    EXPECT_TRUE(verdicts.ok()) << verdicts.status();
    if (!verdicts.ok()) return {"unread"};
    for (const ShardVerdict& verdict : *verdicts) {
      if (!verdict.wrong.empty()) {
        wrong.push_back(std::filesystem::path(verdict.path).filename().string() + ": " +
                        verdict.wrong);
      }
    }
    return wrong;
  }
  TokenizeSummary made_;
};
using Texts = std::vector<std::string>;

TEST_F(VerifyTest, ShardsMatchTheirSums) {
  const auto verdicts = VerifyShards(options_.output);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ(verdicts->size(), made_.train_files.size() + made_.val_files.size());
  EXPECT_EQ(Wrong(), Texts{});
}

TEST_F(VerifyTest, EachFaultIsNamedWithItsShard) {
  const std::string before = Slurp(made_.train_files[0]);
  std::string changed = before;
  changed[1500] ^= 1;
  folder_.Write("out/train_000000.bin", changed);
  EXPECT_EQ(Wrong(), Texts{"train_000000.bin: its bytes are not those that were written"});
  folder_.Write("out/train_000000.bin", before + "x");
  ASSERT_EQ(Wrong().size(), 1u);
  EXPECT_NE(Wrong()[0].find("it has 3073 bytes and was written with 3072"), std::string::npos)
      << Wrong()[0];
  folder_.Write("out/train_000000.bin", before);
  std::filesystem::rename(made_.train_files[1], folder_ / "out/train_000009.bin");
  EXPECT_EQ(Wrong(), (Texts{"train_000001.bin: it is not there",
                            "train_000009.bin: it is not among those that were written"}));
}

TEST_F(VerifyTest, AFolderWithoutSumsIsRefused) {
  folder_.Write("old/train_000000.bin", "ids");
  folder_.Write("old/tokenizer.json", R"({"tokenizer": "byte"})");
  for (const char* folder : {"old", "absent"}) {
    const auto refused = VerifyShards(folder_ / folder);
    ASSERT_FALSE(refused.ok()) << folder;
    EXPECT_EQ(refused.status().code(), kDataError);
    EXPECT_NE(refused.status().message().find("has no record of its shards' sums"),
              std::string::npos)
        << refused.status();
  }
}

TEST_F(VerifyTest, VerifyingStopsOnRequest) {
  int asked = 0;
  const auto stopped = VerifyShards(
      options_.output, [&](uint64_t done, uint64_t) { return ++asked < 3 && done < 9; });
  EXPECT_EQ(stopped.status().code(), kCancelledError);
}

}  // namespace
}  // namespace dt::corpus
