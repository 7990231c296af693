#include "corpus/shard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

std::string WriteShard(const TempFolder& folder, const std::string& name,
                       const std::vector<uint16_t>& ids) {
  const std::string path = folder / name;
  absl::StatusOr<ShardWriter> writer = ShardWriter::Create(path);
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(writer->Append(ids).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return path;
}

std::vector<uint16_t> Ids(size_t count) {
  std::vector<uint16_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(ShardTest, WritesTheBytesOfLlmC) {
  const TempFolder folder;
  const std::string content = Slurp(WriteShard(folder, "a.bin", {1, 0x1234, 50256}));
  ASSERT_EQ(content.size(), 1024u + 6);
  EXPECT_EQ(content.substr(0, 12), std::string("\x88\xd8\x34\x01\x01\0\0\0\x03\0\0\0", 12));
  EXPECT_EQ(content.substr(12, 1012), std::string(1012, '\0'));
  EXPECT_EQ(content.substr(1024), std::string("\x01\0\x34\x12\x50\xc4", 6));
}

TEST(ShardTest, ReadsAnyWindow) {
  const TempFolder folder;
  const absl::StatusOr<TokenShard> shard = TokenShard::Open(WriteShard(folder, "a.bin", Ids(1000)));
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->tokens(), 1000u);
  std::vector<uint16_t> window(10);
  ASSERT_TRUE(shard->Read(990, window).ok());
  EXPECT_EQ(window.front(), 990);
  EXPECT_EQ(window.back(), 999);
}

TEST(ShardTest, AnUnfinishedFileIsNotAShard) {
  const TempFolder folder;
  absl::StatusOr<ShardWriter> writer = ShardWriter::Create(folder / "a.bin");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(Ids(10)).ok());
  EXPECT_FALSE(TokenShard::Open(folder / "a.bin").ok());
}

TEST(ShardTest, AFileThatShrinksWhileOpenIsADataError) {
  const TempFolder folder;
  const std::string path = WriteShard(folder, "a.bin", Ids(1000));
  const absl::StatusOr<TokenShard> shard = TokenShard::Open(path);
  ASSERT_TRUE(shard.ok());
  folder.Write("a.bin", Slurp(path).substr(0, 1500));
  std::vector<uint16_t> window(500);
  const absl::Status read = shard->Read(400, window);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.code(), kDataError);
}

struct BadHeader {
  const char* name;
  int32_t magic;
  int32_t version;
  int32_t count;
  uint64_t file_bytes;
  const char* expected;
};

class BadHeaderTest : public ::testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaderTest, IsRefusedWithTheReason) {
  const BadHeader& bad = GetParam();
  std::string header(std::min<uint64_t>(kShardHeaderBytes, bad.file_bytes), '\0');
  const int32_t words[] = {bad.magic, bad.version, bad.count};
  std::memcpy(header.data(), words, std::min(header.size(), sizeof words));
  const absl::StatusOr<uint64_t> parsed = ParseShardHeader(header, bad.file_bytes);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), kDataError);
  EXPECT_NE(parsed.status().message().find(bad.expected), std::string::npos) << parsed.status();
}

INSTANTIATE_TEST_SUITE_P(
    ShardTest, BadHeaderTest,
    ::testing::Values(
        BadHeader{"Empty", 0, 0, 0, 0, "not a token shard"},
        BadHeader{"ShorterThanAHeader", kShardMagic, 1, 4, 1023, "not a token shard"},
        BadHeader{"OtherMagic", 20240522, 1, 4, 1032, "20240522"},
        BadHeader{"WideIds", 20240801, 7, 4, 1040, "32-bit"},
        BadHeader{"LaterVersion", kShardMagic, 2, 4, 1032, "version 2"},
        BadHeader{"NoTokens", kShardMagic, 1, 0, 1024, "0 tokens"},
        BadHeader{"NegativeCount", kShardMagic, 1, -1, 1024, "-1 tokens"},
        BadHeader{"CountAboveTheFile", kShardMagic, 1, 5, 1032, "1034 bytes"},
        BadHeader{"CountBelowTheFile", kShardMagic, 1, 3, 1032, "1030 bytes"},
        BadHeader{"CountThatOverflows32Bits", kShardMagic, 1, 0x7fffffff, 1022, "not a token"},
        BadHeader{"CountThatWrapsTo1024", kShardMagic, 1, 0x7fffffff, 1024, "4294968318"},
        BadHeader{"OddSize", kShardMagic, 1, 4, 1033, "1032 bytes"}),
    [](const auto& info) { return info.param.name; });

TEST(ShardTest, NamesTheByteOrderOfABigEndianFile) {
  std::string header(kShardHeaderBytes, '\0');
  const char magic[] = {0x01, 0x34, static_cast<char>(0xd8), static_cast<char>(0x88)};
  std::memcpy(header.data(), magic, 4);
  EXPECT_NE(ParseShardHeader(header, 1026).status().message().find("big-endian"),
            std::string::npos);
}

}  // namespace
}  // namespace dt::corpus
