// pack_test.cc: the bytes of packed code: the same for the same files, and refused if an attacker
// or a bad disk made them.
#include "common/pack/pack.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/sha256.h"
#include "gtest/gtest.h"

namespace dt::pack {
namespace {

std::vector<File> SomeFiles() {
  return {{"train.py", Kind::kFile, "print('hello')\n"},
          {"bin/run", Kind::kExecutable, "#!/bin/sh\nexit 0\n"},
          {"a-b", Kind::kFile, ""},
          {"a/c", Kind::kFile, std::string("\0\xff binary", 9)},
          {"bin/again", Kind::kLink, "../train.py"}};
}

// Written by hand, so that it can also make bytes that Pack refuses.
std::string Raw(const std::vector<File>& files) {
  std::string bytes = "dtrain code 1\n";
  for (const File& file : files) {
    bytes.push_back(static_cast<char>(file.kind));
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(file.path.size() >> (8 * i)));
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(file.content.size() >> (8 * i)));
    bytes += file.path + file.content;
  }
  return bytes;
}

void ExpectRefused(const std::vector<File>& files, const std::string& because) {
  const auto read = Read(Raw(files));
  ASSERT_FALSE(read.ok()) << files.back().path;
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(read.status().message().find(because), std::string::npos) << read.status();
}

TEST(PackTest, TheSameFilesGiveTheSameBytesInAnyOrder) {
  std::vector<File> files = SomeFiles();
  const auto once = Pack(files);
  std::reverse(files.begin(), files.end());
  const auto again = Pack(files);
  ASSERT_TRUE(once.ok() && again.ok()) << once.status();
  EXPECT_EQ(*once, *again);
  // The digest of a pack never changes.
  EXPECT_EQ(Sha256Hex(*once), Sha256Hex(Raw({SomeFiles()[2], SomeFiles()[3], SomeFiles()[4],
                                             SomeFiles()[1], SomeFiles()[0]})));
}

TEST(PackTest, PackedFilesAreReadBack) {
  const auto packed = Pack(SomeFiles());
  ASSERT_TRUE(packed.ok());
  const auto read = Read(*packed);
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<File> sorted = SomeFiles();
  std::sort(sorted.begin(), sorted.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  ASSERT_EQ(read->size(), sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ((*read)[i].path, sorted[i].path);
    EXPECT_EQ((*read)[i].kind, sorted[i].kind);
    EXPECT_EQ((*read)[i].content, sorted[i].content);
  }
}

TEST(PackTest, PathsThatLeaveTheFolderAreRefused) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "..", ".", "a//b", "a/./b", "a/"}) {
    SCOPED_TRACE(path);
    EXPECT_FALSE(Read(Raw({{path, Kind::kFile, ""}})).ok());
    EXPECT_FALSE(Pack({{path, Kind::kFile, ""}}).ok());
  }
  ExpectRefused({{"", Kind::kFile, ""}}, "no path");
  for (const std::string& name :
       {std::string("a\0b", 3), std::string("a\nb"), std::string("\x1b[1m"), std::string("x/y\r"),
        std::string("t\tt"), std::string("\x7f")}) {
    ExpectRefused({{name, Kind::kFile, ""}}, "a line break or another control character");
    ExpectRefused({{"link", Kind::kLink, name}}, "without control characters");
  }
  ExpectRefused({{std::string(256, 'n'), Kind::kFile, ""}}, "the limit is 255");
  std::string deep = "d";
  while (deep.size() <= limits::kCodePathBytes) deep += "/d";
  ExpectRefused({{deep, Kind::kFile, ""}}, "the limit is 1024");
}

TEST(PackTest, LinksThatLeaveTheFolderAreRefusedAlsoThroughOtherLinks) {
  for (const char* target : {"../x", "/etc", "../../x", "a/../../x", "a/..", "b/../c"}) {
    SCOPED_TRACE(target);
    EXPECT_FALSE(Read(Raw({{"link", Kind::kLink, target}})).ok());
  }
  EXPECT_FALSE(Read(Raw({{"d/link", Kind::kLink, "../../x"}})).ok());
  EXPECT_FALSE(Read(Raw({{"link", Kind::kLink, ""}})).ok());
  EXPECT_TRUE(Read(Raw({{"d/e/link", Kind::kLink, "../../x/y"}})).ok());
}

TEST(PackTest, NothingComesTwiceOutOfOrderOrUnderAFile) {
  ExpectRefused({{"a", Kind::kFile, ""}, {"a", Kind::kFile, ""}}, "for the second time");
  ExpectRefused({{"b", Kind::kFile, ""}, {"a", Kind::kFile, ""}}, "out of order");
  ExpectRefused({{"a", Kind::kLink, "b"}, {"a/x", Kind::kFile, ""}}, "lies under 'a'");
  // Another name lies between the two in byte order.
  ExpectRefused({{"a", Kind::kLink, "b"}, {"a-b", Kind::kFile, ""}, {"a/x", Kind::kFile, ""}},
                "lies under 'a'");
  EXPECT_FALSE(Pack({{"a", Kind::kFile, ""}, {"a", Kind::kFile, ""}}).ok());
}

TEST(PackTest, ATooLargeFolderIsRefusedNamingItsLargestFiles) {
  const absl::Status status = CheckSizes({{"small.py", 100},
                                          {"data/big.bin", limits::kCodeBytes},
                                          {"weights.pt", 3 << 20},
                                          {"b.py", 200}});
  const std::string message(status.message());
  EXPECT_NE(message.find("the limit is 32.0 MiB"), std::string::npos) << message;
  EXPECT_NE(message.find("'data/big.bin' (32.0 MiB), 'weights.pt' (3.00 MiB), 'b.py' (200 B)"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find(".gitignore"), std::string::npos) << message;
  EXPECT_FALSE(CheckSizes(std::vector<Sized>(limits::kCodeFiles + 1, Sized{"x", 0})).ok());
  EXPECT_TRUE(CheckSizes(std::vector<Sized>(limits::kCodeFiles, Sized{"x", 0})).ok());
}

TEST(PackTest, DamagedBytesAreRefusedOrReadAsFilesThatStayInside) {
  const auto whole = Pack(SomeFiles());
  ASSERT_TRUE(whole.ok());
  std::mt19937 random(20);  // the same each time
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = *whole;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        case 2:
          bytes.insert(at, 1 + random() % 8, static_cast<char>(random()));
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), 40));
      }
      if (bytes.empty()) bytes = "d";
    }
    const auto read = Read(bytes);
    if (!read.ok()) {
      ++refused;
      continue;
    }
    std::vector<File> files;
    for (const FileView& file : *read) {
      EXPECT_TRUE(CheckPath(file.path).ok()) << "round " << i;
      files.push_back({std::string(file.path), file.kind, std::string(file.content)});
    }
    const auto again = Pack(files);
    ASSERT_TRUE(again.ok() && *again == bytes) << "round " << i;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(PackTest, SizesThatWouldOverflowAreRefused) {
  std::string bytes = Raw({{"a", Kind::kFile, ""}});
  for (const size_t field : {15u, 19u}) {  // the lengths of the path and of the content
    std::string huge = bytes;
    for (size_t i = field; i < field + (field == 15 ? 4 : 8); ++i) huge[i] = '\xff';
    EXPECT_FALSE(Read(huge).ok());
  }
}

TEST(PackTest, ADigestIs64SmallHexDigits) {
  EXPECT_TRUE(IsDigest(Sha256Hex("")));
  EXPECT_FALSE(IsDigest(std::string(64, 'A')));
  EXPECT_FALSE(IsDigest(std::string(63, 'a')));
  EXPECT_FALSE(IsDigest("../../" + std::string(58, 'a')));
}

}  // namespace
}  // namespace dt::pack
