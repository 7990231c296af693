#include "coordinator/rpc/submitted_file.h"

#include <string>

#include "common/limits.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

constexpr char kFile[] =
    "version: 1\n"
    "name: mine  # a comment\n"
    "data: {train: \"a/train_*.bin\", val: \"a/val_*.bin\"}\n";

v1::SubmitRequest Bringing(const std::string& text) {
  v1::SubmitRequest request;
  request.set_file_name("grid.yaml");
  request.set_file_text(text);
  return request;
}

TEST(SubmittedFileTest, AFileIsReadIntoTheRequestThatDtctlSends) {
  v1::SubmitRequest request = Bringing(kFile);
  ASSERT_TRUE(BringsFileAlone(request));
  request.add_overrides("train.max_steps=7");
  const auto answer = ReadSubmittedFile(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->diagnostics_size(), 0) << answer->DebugString();
  EXPECT_EQ(request.spec().name(), "mine");
  EXPECT_EQ(request.spec().base().train().max_steps(), 7);
  EXPECT_EQ(request.file_text(), std::string(kFile) + "train: {max_steps: 7}\n");
  EXPECT_EQ(request.overrides_size(), 0);
  EXPECT_FALSE(BringsFileAlone(request));
}

TEST(SubmittedFileTest, UploadedCodeBelongsToASpecificationThatNamesAFolder) {
  v1::SubmitRequest request = Bringing("version: 1\nname: mine\nrun: 'true'\ncode: src\n");
  request.mutable_spec()->mutable_code()->set_digest("d");
  ASSERT_TRUE(BringsFileAlone(request));
  ASSERT_TRUE(ReadSubmittedFile(request).ok());
  EXPECT_EQ(request.spec().name(), "mine");
  EXPECT_EQ(request.spec().code().digest(), "d");
  request = Bringing(kFile);
  request.mutable_spec()->mutable_code()->set_digest("d");
  ASSERT_TRUE(ReadSubmittedFile(request).ok());
  EXPECT_FALSE(request.spec().has_code());
  request = Bringing("version: 1\nrun: 'true'\ncode: src\n");
  request.mutable_spec()->mutable_code()->set_digest("d");
  EXPECT_EQ(ReadSubmittedFile(request)->diagnostics_size(), 1);
  EXPECT_FALSE(request.has_spec()) << "a file with a mistake has none";
  request = Bringing(kFile);
  request.mutable_spec()->mutable_code()->set_digest("d");
  request.mutable_spec()->set_version(1);
  EXPECT_FALSE(BringsFileAlone(request)) << "dtctl sends the specification that it read";
}

TEST(SubmittedFileTest, EveryErrorIsReportedAtItsPlaceAndNothingIsRead) {
  v1::SubmitRequest request = Bringing(std::string(kFile) + "trian: {}\ntrain: {seq_len: 0}\n");
  request.add_overrides("seed=x");
  const auto answer = ReadSubmittedFile(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->diagnostics_size(), 3) << answer->DebugString();
  const v1::Diagnostic& unknown = answer->diagnostics(0);
  EXPECT_EQ(unknown.severity(), "error");
  EXPECT_EQ(unknown.file(), "grid.yaml");
  EXPECT_EQ(unknown.line(), 4);
  EXPECT_EQ(unknown.column(), 1);
  EXPECT_EQ(unknown.path(), "trian");
  EXPECT_EQ(unknown.code(), "unknown_key");
  EXPECT_EQ(unknown.hint(), "did you mean 'train'?");
  EXPECT_EQ(unknown.source_line(), "trian: {}");
  EXPECT_EQ(answer->diagnostics(1).path(), "train.seq_len");
  EXPECT_EQ(answer->diagnostics(2).file(), "--set seed=x");
  EXPECT_EQ(answer->diagnostics(2).line(), 0);
  EXPECT_FALSE(request.has_spec());
}

TEST(SubmittedFileTest, UnlikelySettingsCauseWarningsAndTheFileIsRead) {
  v1::SubmitRequest request = Bringing(std::string(kFile) + "optimizer: {lr: 1000}\n");
  const auto answer = ReadSubmittedFile(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->diagnostics_size(), 1) << answer->DebugString();
  EXPECT_EQ(answer->diagnostics(0).severity(), "warning");
  EXPECT_TRUE(request.has_spec());
}

TEST(SubmittedFileTest, TextRepeatedInEachDiagnosticIsBounded) {
  v1::SubmitRequest request = Bringing(kFile);
  request.set_file_name(std::string(limits::kTextBytes + 1, 'x'));
  EXPECT_EQ(ReadSubmittedFile(request).status().message(),
            "file_name has 4097 bytes; the limit is 4096; give a shorter one");
  request = Bringing(kFile);
  request.add_overrides(std::string(limits::kTextBytes + 1, 'x'));
  EXPECT_EQ(ReadSubmittedFile(request).status().message(),
            "an override has 4097 bytes; the limit is 4096; write it into the file");
  request = Bringing(kFile);
  for (size_t i = 0; i <= limits::kOverrides; ++i) request.add_overrides("seed=1");
  EXPECT_EQ(ReadSubmittedFile(request).status().message(),
            "257 overrides were given; the limit is 256; write them into the file");
}

// Each of many mistakes would quote the same long line.
TEST(SubmittedFileTest, TheAnswerToAFileOfOneLongLineFitsAMessage) {
  std::string text = "{version: 1, name: mine, data: {train: a}";
  for (int i = 0; text.size() < limits::kExperimentFileBytes / 2; ++i) {
    text += ", wrong" + std::to_string(i) + ": " + std::string(5000, 'x');
  }
  v1::SubmitRequest request = Bringing(text + "}\n");
  const auto answer = ReadSubmittedFile(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_GT(answer->diagnostics_size(), 50);
  EXPECT_LT(answer->ByteSizeLong(), limits::kControlMessageBytes / 8);
  EXPECT_EQ(answer->diagnostics(0).source_line(), "");
}

TEST(SubmittedFileTest, ASubmissionWithASpecificationIsNotReadAgain) {
  v1::SubmitRequest request = Bringing("not: [what, the, specification, says]");
  request.mutable_spec()->set_name("mine");
  EXPECT_FALSE(BringsFileAlone(request));
  EXPECT_FALSE(BringsFileAlone(v1::SubmitRequest()));
}

}  // namespace
}  // namespace dt
