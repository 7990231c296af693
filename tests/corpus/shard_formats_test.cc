// shard_formats_test.cc: .npy files, Megatron's pairs and bare ids: as other programs write them,
// and with false headers.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "corpus/megatron.h"
#include "corpus/npy.h"
#include "corpus/shard.h"
#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

std::string Bytes(const std::vector<uint16_t>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * 2};
}

template <typename T>
std::string Little(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<uint16_t> AllOf(const TokenShard& shard) {
  std::vector<uint16_t> ids(shard.tokens());
  EXPECT_TRUE(shard.Read(0, ids).ok());
  return ids;
}

const std::vector<uint16_t> kIds = {1, 0x1234, 50256, 7};

// ---- .npy ----

// Returns a header as numpy.save writes it: padded with spaces to a multiple of 64.
std::string Npy(const std::string& dictionary, int version = 1) {
  const size_t before = version == 1 ? 10 : 12;
  std::string text = dictionary;
  text.resize((before + text.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  text += '\n';
  return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + std::string(1, '\0') +
         (version == 1 ? Little(static_cast<uint16_t>(text.size()))
                       : Little(static_cast<uint32_t>(text.size()))) +
         text;
}

constexpr char kFour[] = "{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }";

TEST(NpyTest, WritesTheSameBytesAsNumpy) {
  const TempFolder folder;
  absl::StatusOr<ShardWriter> writer = ShardWriter::Create(folder / "a.npy", ShardFormat::kNpy);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(kIds).ok());
  EXPECT_FALSE(TokenShard::Open(folder / "a.npy").ok()) << "before its end";
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(Slurp(folder / "a.npy"), Npy(kFour) + Bytes(kIds));
}

TEST(NpyTest, IsRecognisedAndReadInEveryVersion) {
  const TempFolder folder;
  for (const int version : {1, 2, 3}) {
    const std::string path = folder.Write("a.npy", Npy(kFour, version) + Bytes(kIds));
    const absl::StatusOr<TokenShard> shard = TokenShard::Open(path);
    ASSERT_TRUE(shard.ok()) << shard.status();
    EXPECT_EQ(AllOf(*shard), kIds);
  }
  const std::string other = R"({"shape":(4),"fortran_order":False,"descr":"<u2"})";
  EXPECT_TRUE(TokenShard::Open(folder.Write("b", Npy(other) + Bytes(kIds))).ok());
}

TEST(NpyTest, OtherArraysAndLyingHeadersAreRefused) {
  const auto with = [](const std::string& type, const std::string& order,
                       const std::string& shape) {
    return Npy("{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }");
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {with("'<i4'", "False", "(2,)"), "'<i4'"},
      {with("'>u2'", "False", "(4,)"), "'>u2'"},
      {with("[('a', '<u2')]", "False", "(4,)"), "not understood"},
      {with("'<u2'", "True", "(4,)"), "Fortran"},
      {with("'<u2'", "False", "(2, 2)"), "2 dimensions (2 × 2)"},
      {with("'<u2'", "False", "()"), "0 dimensions"},
      {with("'<u2'", "False", "(0,)"), "no tokens"},
      {with("'<u2'", "False", "(5,)"), "5 tokens, which take 138 bytes"},
      {with("'<u2'", "False", "(3,)"), "has 136"},
      {with("'<u2'", "False", "(9223372036854775812,)"), "not understood"},
      {with("'<u2'", "False", "(-4,)"), "not understood"},
      {with("'<u2'", "Maybe", "(4,)"), "not understood"},
      {Npy("{'descr': '<u2', 'shape': (4,), }"), "not understood"},
      {Npy(std::string(kFour) + "x"), "not understood"},
      {Npy(kFour, 4), "version 4"},
      {std::string("\x93NUMPY\x01\0\xff\xff", 10), "65545 bytes; at most 4096"},
      {std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), "4294967307 bytes"},
      {std::string("\x93NUMPY\x01\0\x00\x0f", 10), "ends within"},
      {"\x93NUMPY", "ends within"}};
  const TempFolder folder;
  for (const auto& [header, reason] : wrong) {
    const bool short_of_ids = reason == "ends within";
    const std::string path = folder.Write("a.npy", short_of_ids ? header : header + Bytes(kIds));
    const absl::StatusOr<TokenShard> shard = TokenShard::Open(path);
    ASSERT_FALSE(shard.ok()) << reason;
    EXPECT_EQ(shard.status().code(), kDataError);
    EXPECT_NE(shard.status().message().find(reason), std::string::npos) << shard.status();
    EXPECT_NE(shard.status().message().find("a.npy"), std::string::npos);
  }
  const std::string plain = folder.Write("b.npy", Bytes(kIds));
  EXPECT_NE(TokenShard::Open(plain, ShardFormat::kNpy).status().message().find("not a .npy file"),
            std::string::npos);
}

// ---- Megatron ----

struct Index {
  uint64_t version = 1;
  uint8_t type = 8;
  std::vector<int32_t> lengths = {3, 0, 1};
  std::vector<int64_t> starts = {0, 6, 6};
  std::vector<int64_t> documents = {0, 1, 3};
  std::string modes;
  int64_t more_sequences = 0;  // announced, but missing

  std::string Text() const {
    std::string text =
        std::string("MMIDIDX\0\0", 9) + Little(version) + Little(type) +
        Little(static_cast<uint64_t>(lengths.size()) + static_cast<uint64_t>(more_sequences)) +
        Little(static_cast<uint64_t>(documents.size()));
    for (const int32_t length : lengths) text += Little(length);
    for (const int64_t start : starts) text += Little(start);
    for (const int64_t document : documents) text += Little(document);
    return text + modes;
  }
};

class MegatronTest : public ::testing::Test {
 protected:
  absl::StatusOr<TokenShard> Open(const Index& index, ShardFormat format = ShardFormat::kAuto) {
    folder_.Write("a.idx", index.Text());
    return TokenShard::Open(folder_.Write("a.bin", Bytes(kIds)), format);
  }
  TempFolder folder_;
};

TEST_F(MegatronTest, APairIsRecognisedAndReadAsOneStream) {
  const absl::StatusOr<TokenShard> shard = Open({});
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_EQ(AllOf(*shard), kIds);
  EXPECT_TRUE(Open({}, ShardFormat::kMegatron).ok());
  EXPECT_TRUE(Open({.modes = std::string(3, '\0')}).ok());
}

TEST_F(MegatronTest, AnIndexThatIsWrongIsRefusedByName) {
  const std::vector<std::pair<Index, std::string>> wrong = {
      {{.version = 2}, "version 2"},
      {{.type = 4}, "int32; only uint16"},
      {{.type = 99}, "type 99"},
      {{.lengths = {3}, .starts = {0, 6}}, "which its"},
      {{.more_sequences = int64_t{1} << 61}, "2305843009213693955 sequences"},
      {{.more_sequences = -1}, "which its"},
      {{.lengths = {}, .starts = {}}, "no sequences"},
      {{.modes = "12"}, "which its"},
      {{.lengths = {3, 0, 2}}, "sequence 2 has 2 tokens from byte 6"},
      {{.lengths = {3, -1, 2}}, "sequence 1 has -1 tokens"},
      {{.lengths = {3, 0, 0}}, "6 bytes, but its .bin has 8"},
      {{.starts = {0, 4, 6}}, "sequence 1 has 0 tokens from byte 4"},
      {{.starts = {-2, 6, 6}}, "sequence 0 has 3 tokens from byte -2"}};
  for (const auto& [index, reason] : wrong) {
    const absl::StatusOr<TokenShard> shard = Open(index);
    ASSERT_FALSE(shard.ok()) << reason;
    EXPECT_EQ(shard.status().code(), kDataError);
    EXPECT_NE(shard.status().message().find(reason), std::string::npos) << shard.status();
    EXPECT_NE(shard.status().message().find("a.idx"), std::string::npos) << shard.status();
  }
}

TEST_F(MegatronTest, HalfAPairIsRefused) {
  ASSERT_TRUE(Open({}).ok());
  EXPECT_NE(TokenShard::Open(folder_ / "a.idx").status().message().find("name the .bin files"),
            std::string::npos);
  const std::string alone = folder_.Write("b.bin", Bytes(kIds));
  EXPECT_NE(
      TokenShard::Open(alone, ShardFormat::kMegatron).status().message().find("no Megatron index"),
      std::string::npos);
  folder_.Write("b.idx", "MMIDIDX");
  EXPECT_FALSE(TokenShard::Open(alone, ShardFormat::kMegatron).ok());
  folder_.Write("c.idx", Index{.lengths = {0}, .starts = {0}, .documents = {}}.Text());
  EXPECT_NE(TokenShard::Open(folder_.Write("c.bin", "")).status().message().find("no tokens"),
            std::string::npos);
}

TEST_F(MegatronTest, AnIndexOfManySequencesIsCheckedToItsEnd) {
  Index index{.lengths = std::vector<int32_t>(200000, 1), .starts = {}, .documents = {0}};
  for (int64_t i = 0; i < 200000; ++i) index.starts.push_back(2 * i);
  folder_.Write("a.idx", index.Text());
  const std::string bin = folder_.Write("a.bin", std::string(400000, '\x01'));
  EXPECT_EQ(TokenShard::Open(bin)->tokens(), 200000u);
  index.starts[150000] = 0;
  folder_.Write("a.idx", index.Text());
  EXPECT_NE(TokenShard::Open(bin).status().message().find("sequence 150000"), std::string::npos);
}

// ---- bare ids ----

TEST(RawTest, BareIdsAreReadOnlyOnRequest) {
  const TempFolder folder;
  const std::string path = folder.Write("a.bin", Bytes(kIds));
  const absl::StatusOr<TokenShard> shard = TokenShard::Open(path, ShardFormat::kRawU16);
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(AllOf(*shard), kIds);
  EXPECT_FALSE(TokenShard::Open(path).ok());
  EXPECT_FALSE(TokenShard::Open(folder.Write("odd", "abc"), ShardFormat::kRawU16).ok());
  EXPECT_FALSE(TokenShard::Open(folder.Write("none", ""), ShardFormat::kRawU16).ok());
}

TEST(RawTest, AFileWithAHeaderIsNotBareIds) {
  const TempFolder folder;
  const auto header = [](int32_t magic) {
    std::string bytes(1024 + 8, '\0');
    bytes.replace(0, sizeof magic, reinterpret_cast<const char*>(&magic), sizeof magic);
    return bytes;
  };
  const std::pair<std::string, const char*> files[] = {
      {header(20240520), "an llm.c shard"},
      {header(20240801), "an llm.c shard"},
      {NpyHeader(4) + std::string(8, '\0'), "a .npy file"},
      {"MMIDIDX" + std::string(41, '\0'), "a Megatron index"}};
  for (const auto& [bytes, what] : files) {
    const auto refused = TokenShard::Open(folder.Write("a.bin", bytes), ShardFormat::kRawU16);
    ASSERT_FALSE(refused.ok()) << what;
    EXPECT_NE(refused.status().message().find(what), std::string::npos) << refused.status();
    EXPECT_NE(refused.status().message().find("leave data.format out"), std::string::npos);
  }
}

TEST(ShardFormatTest, HasTheNamesOfTheExperimentFile) {
  EXPECT_EQ(*ShardFormatOf("raw_u16"), ShardFormat::kRawU16);
  EXPECT_EQ(*ShardFormatOf("auto"), ShardFormat::kAuto);
  EXPECT_EQ(ShardFormatOf("arrow").status().code(), kConfigError);
}

}  // namespace
}  // namespace dt::corpus
