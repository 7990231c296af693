#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "common/sha256.h"
#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

TEST(SafetensorsTest, ReadsBackWrittenTensors) {
  const TempFolder folder;
  const std::vector<float> weight = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> steps = {7};
  const std::vector<uint16_t> half = {0x3f80};
  const absl::StatusOr<WrittenFile> written =
      WriteSafetensors(folder / "a", {{"h.0.weight", DType::kF32, {2, 3}, weight.data()},
                                      {"half", DType::kBF16, {1}, half.data()},
                                      {"nothing", DType::kF32, {0, 4}, nullptr},
                                      {"step", DType::kI64, {}, steps.data()}});
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->sha256, Sha256Hex(Slurp(folder / "a")));
  EXPECT_EQ(written->bytes, Slurp(folder / "a").size());

  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder / "a");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const TensorEntry* entry = file->Find("h.0.weight");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->dtype, DType::kF32);
  EXPECT_EQ(entry->shape, (std::vector<int64_t>{2, 3}));
  std::vector<float> read(6);
  ASSERT_EQ(entry->bytes(), sizeof(float) * read.size());
  ASSERT_TRUE(file->Read(*entry, read.data()).ok());
  EXPECT_EQ(read, weight);
  int64_t step = 0;
  ASSERT_TRUE(file->Read(*file->Find("step"), &step).ok());
  EXPECT_EQ(step, 7);
  EXPECT_EQ(file->Find("absent"), nullptr);
}

TEST(SafetensorsTest, WritesTheLayoutOfTheReference) {
  // Larger elements first, then by name; header padded to 8 with spaces.
  const TempFolder folder;
  const uint8_t byte = 9;
  const float b = 1, a = 2;
  ASSERT_TRUE(WriteSafetensors(folder / "a", {{"z", DType::kU8, {1}, &byte},
                                              {"b", DType::kF32, {1}, &b},
                                              {"a", DType::kF32, {1}, &a}})
                  .ok());
  const std::string content = Slurp(folder / "a");
  uint64_t length = 0;
  std::memcpy(&length, content.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},)"
      R"("b":{"data_offsets":[4,8],"dtype":"F32","shape":[1]},)"
      R"("z":{"data_offsets":[8,9],"dtype":"U8","shape":[1]}})";
  ASSERT_EQ(content.size(), 8 + length + 9);
  EXPECT_EQ(content.substr(8, header.size()), header);
  EXPECT_EQ(content.substr(8 + header.size(), length - header.size()).find_first_not_of(' '),
            std::string::npos);
  EXPECT_EQ(content.back(), 9);
}

TEST(SafetensorsTest, ReadsAnEmptyFileAndTensorsListedInAnyOrder) {
  EXPECT_TRUE(ParseSafetensorsHeader("{}", 0).ok());
  const absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsHeader(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                             R"("a":{"shape":[1],"data_offsets":[0,1],"dtype":"U8"}}   )",
                             3);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->tensors[0].name, "a");
}

struct BadHeader {
  const char* name;
  const char* header;
  uint64_t data_bytes;
  const char* expected;
};
class BadSafetensorsTest : public ::testing::TestWithParam<BadHeader> {};

TEST_P(BadSafetensorsTest, IsRefusedWithTheReason) {
  const absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsHeader(GetParam().header, GetParam().data_bytes);
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.status().code(), kDamagedError);
  EXPECT_NE(header.status().message().find(GetParam().expected), std::string::npos)
      << header.status();
}

INSTANTIATE_TEST_SUITE_P(
    SafetensorsTest, BadSafetensorsTest,
    ::testing::Values(
        BadHeader{"Empty", "", 0, "start with"}, BadHeader{"List", "[]", 0, "start with"},
        BadHeader{"LeadingSpace", " {}", 0, "start with"},
        BadHeader{"Cut", R"({"a":{"dtype":"U8")", 0, "not JSON"},
        BadHeader{"TrailingText", "{} x", 0, "not JSON"},
        BadHeader{"BadText", "{\"\xff\":{}}", 0, "not JSON"},
        BadHeader{"TensorIsNumber", R"({"a":1})", 0, "a number"},
        BadHeader{"TensorIsNull", R"({"a":null})", 0, "null"},
        BadHeader{"TensorIsList", R"({"a":[1]})", 0, "a list"},
        BadHeader{"Deep", R"({"a":{"dtype":{"b":{}}}})", 0, "an object"},
        BadHeader{"DeepList", R"({"a":{"shape":[[1]]}})", 0, "a list"},
        BadHeader{"UnknownDtype", R"({"a":{"dtype":"F31","shape":[],"data_offsets":[0,4]}})", 4,
                  "unknown dtype"},
        BadHeader{"UnknownKey",
                  R"({"a":{"stride":"x","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1,
                  "a text"},
        BadHeader{"NoDtype", R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1, "lacks"},
        BadHeader{"NoShape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "lacks"},
        BadHeader{"NoOffsets", R"({"a":{"dtype":"U8","shape":[]}})", 1, "lacks"},
        BadHeader{"OneOffset", R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0]}})", 1, "lacks"},
        BadHeader{"ThreeOffsets", R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1,2]}})", 1,
                  "a number"},
        BadHeader{"TwoShapes", R"({"a":{"dtype":"U8","shape":[],"shape":[],"data_offsets":[0,1]}})",
                  1, "a list"},
        BadHeader{"TwoDtypes",
                  R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1,
                  "dtype twice"},
        BadHeader{"NameTwice",
                  R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                  R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                  2, "appears twice"},
        BadHeader{"MetadataTwice", R"({"__metadata__":{},"__metadata__":{}})", 0, "twice"},
        BadHeader{"MetadataNotText", R"({"__metadata__":{"a":1}})", 0, "a number"},
        BadHeader{"NegativeShape", R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1,
                  "negative"},
        BadHeader{"FractionalShape", R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})",
                  1, "fraction"},
        BadHeader{"HugeNumber",
                  R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1]}})", 1,
                  "fraction"},
        BadHeader{"ManyDims",
                  R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
                  R"("data_offsets":[0,1]}})",
                  1, "dimensions"},
        BadHeader{"ShapeOverflows",
                  R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
                  "dtype and shape"},
        BadHeader{"ShapeProductOverflows",
                  R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                  "dtype and shape"},
        BadHeader{"ShapeAboveSigned",
                  R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", 1,
                  "dtype and shape"},
        BadHeader{"SizeDiffers", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                  "dtype and shape"},
        BadHeader{"Backwards", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1,
                  "outside"},
        BadHeader{"PastTheEnd", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1,
                  "outside"},
        BadHeader{"FarPastTheEnd",
                  R"({"a":{"dtype":"U8","shape":[1],)"
                  R"("data_offsets":[18446744073709551614,18446744073709551615]}})",
                  1, "outside"},
        BadHeader{"GapAtStart", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2,
                  "begins at 1"},
        BadHeader{"Gap",
                  R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                  R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                  3, "begins at 2"},
        BadHeader{"Overlap",
                  R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  3, "begins at 1"},
        BadHeader{"Shared",
                  R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                  2, "begins at 0"},
        BadHeader{"DataLeftOver", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2,
                  "the file 2"},
        BadHeader{"DataWithoutTensors", "{}", 1, "the file 1"}),
    [](const auto& info) { return info.param.name; });

TEST(SafetensorsTest, AHostileNestingIsRefusedQuickly) {
  std::string header = R"({"a":)";
  header += std::string(4 << 20, '[');
  EXPECT_FALSE(ParseSafetensorsHeader(header, 0).ok());
}

TEST(SafetensorsTest, RefusesLyingHeaderLengths) {
  const TempFolder folder(::dt::testing::Medium::kMemory);
  const float value = 1;
  ASSERT_TRUE(WriteSafetensors(folder / "a", {{"a", DType::kF32, {1}, &value}}).ok());
  const std::string good = Slurp(folder / "a");
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, good.size() - 7, uint64_t{9} << 20, UINT64_MAX, UINT64_MAX - 7}) {
    std::string bad = good;
    std::memcpy(bad.data(), &length, 8);
    EXPECT_FALSE(SafetensorsFile::Open(folder.Write("bad", bad)).ok()) << length;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(SafetensorsFile::Open(folder.Write("bad", good.substr(0, size))).ok()) << size;
  }
  EXPECT_FALSE(SafetensorsFile::Open(folder.Write("bad", good + "x")).ok());
  EXPECT_EQ(SafetensorsFile::Open(folder / "absent").status().code(), kDataError);
}

}  // namespace
}  // namespace dt::checkpoint
