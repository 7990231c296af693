// code_store_test.cc: code that arrives in parts, stays under its digest, and is deleted when room
// is needed.
#include "coordinator/code/code_store.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

bool NobodyNeeds(const std::string&) { return false; }
bool AllAreNeeded(const std::string&) { return true; }

// Returns packed code of about `bytes` bytes; another `name` gives another digest.
std::string Code(const std::string& name, size_t bytes = 100) {
  return *pack::Pack({{name, pack::Kind::kFile, std::string(bytes, 'x')}});
}

std::vector<CodePart> PartsOf(const std::string& code) {
  std::vector<CodePart> parts;
  for (size_t at = 0; at < code.size(); at += limits::kCodePartBytes) {
    parts.push_back({Sha256Hex(code), 0, static_cast<uint32_t>(parts.size()),
                     code.substr(at, limits::kCodePartBytes)});
  }
  for (CodePart& part : parts) part.parts = static_cast<uint32_t>(parts.size());
  return parts;
}

class CodeStoreTest : public ::testing::Test {
 protected:
  CodeStore Opened(uint64_t quota = limits::kCodeQuotaBytes) {
    auto store = CodeStore::Open(folder_ / "code", quota);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // Returns whether the code is complete after its last part.
  static absl::StatusOr<bool> PutAll(CodeStore& store, const std::string& code,
                                     const CodeInUse& in_use = NobodyNeeds) {
    absl::StatusOr<bool> complete = false;
    for (const CodePart& part : PartsOf(code)) {
      complete = store.Put(part, in_use);
      if (!complete.ok()) return complete;
    }
    return complete;
  }
  static std::string GetAll(const CodeStore& store, const std::string& digest) {
    std::string code;
    for (uint32_t part = 0, parts = 1; part < parts; ++part) {
      const auto found = store.Get(digest, part);
      if (!found.ok()) return std::string(found.status().message());
      parts = found->parts;
      code += found->data;
    }
    return code;
  }

  testing::TempFolder folder_;
};

TEST_F(CodeStoreTest, CodeIsCompleteWithItsLastPartInAnyOrderAndSurvivesARestart) {
  const std::string code = Code("train.py", 2 * limits::kCodePartBytes + 5);
  const std::string digest = Sha256Hex(code);
  {
    CodeStore store = Opened();
    const std::vector<CodePart> parts = PartsOf(code);
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_FALSE(*store.Put({digest, 0, 0, ""}, NobodyNeeds)) << "not there yet";
    EXPECT_FALSE(*store.Put(parts[2], NobodyNeeds));
    EXPECT_FALSE(*store.Put(parts[0], NobodyNeeds));
    EXPECT_FALSE(*store.Put(parts[0], NobodyNeeds)) << "twice is once";
    EXPECT_TRUE(*store.Put(parts[1], NobodyNeeds));
    EXPECT_TRUE(*store.Put(parts[2], NobodyNeeds)) << "a repeated call";
    EXPECT_EQ(GetAll(store, digest), code);
  }
  CodeStore store = Opened();
  EXPECT_TRUE(*store.Put({digest, 0, 0, ""}, NobodyNeeds));
  EXPECT_EQ(GetAll(store, digest), code);
  EXPECT_EQ(store.bytes(), code.size());
}

TEST_F(CodeStoreTest, AnUnfinishedUploadIsGoneAfterARestartAndCanBeRepeated) {
  const std::string code = Code("train.py", 2 * limits::kCodePartBytes);
  {
    CodeStore store = Opened();
    EXPECT_FALSE(*store.Put(PartsOf(code)[0], NobodyNeeds));
    EXPECT_GT(store.bytes(), 0u);
  }
  CodeStore store = Opened();
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_TRUE(fs::is_empty(folder_ / "code"));
  EXPECT_TRUE(*PutAll(store, code));
}

TEST_F(CodeStoreTest, BytesThatDoNotMatchTheDigestAreRefusedAndDropped) {
  CodeStore store = Opened();
  CodePart wrong = PartsOf(Code("a.py"))[0];
  wrong.data.back() = 'y';
  const auto refused = store.Put(wrong, NobodyNeeds);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_TRUE(*PutAll(store, Code("a.py")));
  // The digest of bytes that are no packed code.
  const CodePart noise{Sha256Hex("noise"), 1, 0, "noise"};
  EXPECT_EQ(store.Put(noise, NobodyNeeds).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CodeStoreTest, PartsThatCannotBeAreRefusedAndLeaveNothing) {
  CodeStore store = Opened();
  const std::string digest = Sha256Hex("x");
  const std::string full(limits::kCodePartBytes, 'x');
  for (const CodePart& part : std::vector<CodePart>{{"../../etc/passwd", 1, 0, "x"},
                                                    {"", 1, 0, "x"},
                                                    {digest, 0, 0, "x"},
                                                    {digest, 2, 2, "x"},
                                                    {digest, 33, 0, full},
                                                    {digest, ~0u, ~0u - 1, full},
                                                    {digest, 2, 0, "short"},
                                                    {digest, 1, 0, full + "x"}}) {
    SCOPED_TRACE(absl::StrCat(part.digest, " ", part.part, "/", part.parts));
    EXPECT_EQ(store.Put(part, NobodyNeeds).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "code"));
  EXPECT_FALSE(*store.Put({digest, 3, 0, full}, NobodyNeeds));
  EXPECT_EQ(store.Put({digest, 2, 0, full}, NobodyNeeds).status().code(),
            absl::StatusCode::kInvalidArgument)
      << "another number of parts";
}

TEST_F(CodeStoreTest, TheOldestUnneededCodeMakesRoomForNewCode) {
  CodeStore store = Opened(3 * limits::kCodePartBytes);
  const std::string first = Code("1", 700'000), second = Code("2", 700'000),
                    third = Code("3", 700'000), fourth = Code("4", 700'000);
  EXPECT_TRUE(*PutAll(store, first));
  EXPECT_TRUE(*PutAll(store, second));
  EXPECT_TRUE(*PutAll(store, third));
  EXPECT_TRUE(*store.Put({Sha256Hex(first), 0, 0, ""}, NobodyNeeds)) << "used again";
  EXPECT_TRUE(*PutAll(store, fourth));
  EXPECT_TRUE(store.Has(Sha256Hex(first)));
  EXPECT_FALSE(store.Has(Sha256Hex(second)));
  EXPECT_TRUE(store.Has(Sha256Hex(fourth)));
  const auto refused = PutAll(store, second, AllAreNeeded);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("dtctl delete"), std::string::npos);
}

TEST_F(CodeStoreTest, EndlessDigestsThatAreNeverFinishedStayWithinTheQuota) {
  CodeStore store = Opened(8 * limits::kCodePartBytes);
  const std::string full(limits::kCodePartBytes, 'x');
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(*store.Put({Sha256Hex(absl::StrCat(i)), 2, 0, full}, NobodyNeeds));
    EXPECT_LE(store.bytes(), 8 * limits::kCodePartBytes);
  }
  EXPECT_LE(std::distance(fs::directory_iterator(folder_ / "code"), {}), 4);
}

TEST_F(CodeStoreTest, ACheckFindsDamageAndTheNextUploadRepairsIt) {
  const std::string code = Code("train.py");
  const std::string digest = Sha256Hex(code);
  CodeStore store = Opened();
  EXPECT_TRUE(*PutAll(store, code));
  EXPECT_TRUE(CheckCode(folder_ / "code").damaged.empty());
  EXPECT_EQ(CheckCode(folder_ / "code").kept, 1);
  for (size_t byte = 0; byte < code.size(); byte += 7) {
    std::string damaged = code;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 1);
    std::ofstream(folder_ / ("code/" + digest), std::ios::binary) << damaged;
    const CodeReport report = CheckCode(folder_ / "code");
    ASSERT_EQ(report.damaged.size(), 1u) << "byte " << byte;
    EXPECT_NE(report.damaged[0].find(digest), std::string::npos);
  }
  EXPECT_FALSE(*store.Put({digest, 0, 0, ""}, AllAreNeeded)) << "it has to come again";
  EXPECT_TRUE(*PutAll(store, code, AllAreNeeded));
  EXPECT_TRUE(CheckCode(folder_ / "code").damaged.empty());
  EXPECT_EQ(CheckCode(folder_ / "none").kept, 0);
}

TEST_F(CodeStoreTest, APartThatIsNotThereIsNamed) {
  CodeStore store = Opened();
  EXPECT_TRUE(absl::IsNotFound(store.Get(Sha256Hex("x"), 0).status()));
  const std::string code = Code("a");
  EXPECT_TRUE(*PutAll(store, code));
  EXPECT_TRUE(absl::IsInvalidArgument(store.Get(Sha256Hex(code), 1).status()));
}

}  // namespace
}  // namespace dt
