// values_test.cc: which single values are accepted, how they are refused, and how they are printed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "spec/spec.h"

namespace dt::spec {
namespace {

ReadValue Read(const char* path, const char* text, Quoting quoting = Quoting::kPlain) {
  const Field* field = FindField(path);
  EXPECT_NE(field, nullptr) << path;
  return ReadText(*field, text, quoting);
}
std::string Accepted(const char* path, const char* text) {
  const ReadValue read = Read(path, text);
  return read.value ? ValueText(*read.value) : "refused: " + read.issue.message;
}
std::string Refused(const char* path, const char* text, Quoting quoting = Quoting::kPlain) {
  const ReadValue read = Read(path, text, quoting);
  return read.value ? "accepted as " + ValueText(*read.value) : read.issue.code;
}

TEST(ValuesTest, IntegersAreDecimal) {
  EXPECT_EQ(Accepted("train.batch_size", "8"), "8");
  EXPECT_EQ(Accepted("train.batch_size", "+8"), "8");
  EXPECT_EQ(Accepted("schedule.warmup_steps", "-1"), "-1");
  EXPECT_EQ(Accepted("train.max_tokens", "1e9"), "1000000000");
  EXPECT_EQ(Accepted("train.max_tokens", "2.5E+6"), "2500000");
  for (const char* wrong : {"8.0", "1.5", "0x10", "1_000", "eight", "", "1e-3", "1:30", "8 "}) {
    EXPECT_EQ(Refused("train.batch_size", wrong), "wrong_type") << wrong;
  }
  for (const char* wrong : {"010", "-010", "00"}) {
    EXPECT_EQ(Refused("train.batch_size", wrong), "leading_zero") << wrong;
  }
  for (const char* wrong : {"0", "-1", "99999999", "99999999999999999999999", "1e300"}) {
    EXPECT_EQ(Refused("train.batch_size", wrong), "out_of_range") << wrong;
  }
  EXPECT_EQ(Refused("train.batch_size", ".inf"), "not_finite");
  EXPECT_EQ(Refused("train.batch_size", "8", Quoting::kQuoted), "wrong_type");
}

TEST(ValuesTest, ARangeWithoutAnUpperEndOfInterestNamesTheLowerAlone) {
  EXPECT_EQ(Accepted("eval.every", "-1"), "refused: eval.every is -1; it must be at least 0");
  EXPECT_EQ(Accepted("eval.every", "1e300"),
            "refused: eval.every is 1e300; it must be at most 9007199254740991");
}

TEST(ValuesTest, DataPatternsStayBelowTheDataRootAndNameEachLevel) {
  EXPECT_EQ(Accepted("data.train", "fineweb/*_train_*.bin"), "fineweb/*_train_*.bin");
  EXPECT_EQ(Accepted("data.val", "a..b/**.bin"), "a..b/**.bin");
  for (const char* path :
       {"data.train", "data.val", "eval.hellaswag", "eval.vocab", "model.init_from"}) {
    for (const char* wrong : {"../x", "a/../b", "..", "**/x.bin", "a/**", "/etc/passwd", "/"}) {
      EXPECT_EQ(Refused(path, wrong), "bad_glob") << wrong;
    }
  }
}

TEST(ValuesTest, NumbersMayHaveExponentsOfEitherSpelling) {
  EXPECT_EQ(Accepted("optimizer.lr", "1e-3"), "0.001");
  EXPECT_EQ(Accepted("optimizer.lr", "1.0e-3"), "0.001");
  EXPECT_EQ(Accepted("optimizer.lr", ".5"), "0.5");
  EXPECT_EQ(Accepted("optimizer.lr", "5."), "5");
  EXPECT_EQ(Accepted("optimizer.lr", "1"), "1");
  EXPECT_EQ(Accepted("optimizer.eps", "1e-12"), "1.0e-12");
  for (const char* wrong : {"fast", "1e", "e5", ".", "-", "1.2.3", "0x1p3", "1,5"}) {
    EXPECT_EQ(Refused("optimizer.lr", wrong), "wrong_type") << wrong;
  }
  for (const char* wrong : {".nan", ".NaN", "nan", ".inf", "-.Inf", "inf", "infinity"}) {
    EXPECT_EQ(Refused("optimizer.lr", wrong), "not_finite") << wrong;
  }
  for (const char* wrong : {"0", "-0.1", "1001", "1e999", "1e-999", "0.0"}) {
    EXPECT_EQ(Refused("optimizer.lr", wrong), "out_of_range") << wrong;
  }
  EXPECT_EQ(Refused("model.dropout", "1"), "out_of_range");
  EXPECT_EQ(Accepted("model.dropout", "0"), "0");
}

TEST(ValuesTest, FlagsAreTrueOrFalseAndOldYamlsWordsAreRefusedWithTheFix) {
  EXPECT_EQ(Accepted("data.shuffle", "true"), "true");
  for (const char* wrong : {"yes", "on", "True", "TRUE", "1"}) {
    const ReadValue read = Read("data.shuffle", wrong);
    EXPECT_FALSE(read.value) << wrong;
    EXPECT_EQ(read.issue.hint, "write true") << wrong;
  }
  for (const char* wrong : {"no", "off", "False", "0"}) {
    EXPECT_EQ(Read("data.shuffle", wrong).issue.hint, "write false") << wrong;
  }
}

TEST(ValuesTest, ChoicesTellUnknownWordsFromThoseOfLater) {
  EXPECT_EQ(Accepted("parallel.strategy", "ddp"), "ddp");
  EXPECT_EQ(Accepted("parallel.strategy", "zero1"), "zero1");
  EXPECT_EQ(Accepted("parallel.strategy", "fsdp"), "zero3") << "two words for one thing";
  EXPECT_EQ(Accepted("parallel.strategy", "gossip"), "gossip");
  EXPECT_EQ(Refused("optimizer.type", "lion"), "not_available");
  EXPECT_EQ(Refused("parallel.strategy", "dpp"), "unknown_choice");
  EXPECT_EQ(Read("parallel.strategy", "dpp").issue.hint, "did you mean 'ddp'?");
  EXPECT_EQ(Accepted("precision.reduce", "bf16"), "bf16");
  EXPECT_EQ(Accepted("precision.reduce", "fp16"), "fp16");
}

TEST(ValuesTest, TimesHaveUnits) {
  EXPECT_EQ(Accepted("retries.backoff", "10s"), "10s");
  EXPECT_EQ(Accepted("retries.backoff", "2m"), "2m");
  EXPECT_EQ(Accepted("retries.backoff", "500ms"), "0.5s");
  EXPECT_EQ(Accepted("retries.backoff", "1m30s"), "90s");
  EXPECT_EQ(Accepted("checkpoint.every", "1h"), "1h");
  EXPECT_EQ(Accepted("checkpoint.every", "500"), "500");
  EXPECT_EQ(Accepted("checkpoint.every", "0s"), "0");
  EXPECT_EQ(Refused("retries.backoff", "10"), "wrong_type");
  EXPECT_EQ(Read("retries.backoff", "10").issue.hint, "write 10s");
  EXPECT_EQ(Refused("retries.backoff", "-10s"), "wrong_type");
  EXPECT_EQ(Refused("retries.backoff", "inf"), "wrong_type");
  EXPECT_EQ(Refused("retries.backoff", "6m"), "out_of_range");
  EXPECT_EQ(Refused("checkpoint.every", "1ns"), "out_of_range");
  EXPECT_EQ(Refused("checkpoint.every", "10000h"), "out_of_range");
  EXPECT_EQ(Refused("checkpoint.every", "-5"), "out_of_range");
}

TEST(ValuesTest, ListsOfNumbersHaveTheirLength) {
  EXPECT_EQ(Accepted("optimizer.betas", "[0.9, 0.999]"), "[0.9, 0.999]");
  EXPECT_EQ(Refused("optimizer.betas", "[0.9]"), "wrong_type");
  EXPECT_EQ(Refused("optimizer.betas", "[0.9, 1]"), "out_of_range");
  EXPECT_EQ(Refused("optimizer.betas", "0.9"), "wrong_type");
  EXPECT_EQ(Refused("optimizer.betas", "[]"), "wrong_type");
}

TEST(ValuesTest, TextMayNotCarryTerminalControls) {
  EXPECT_EQ(Accepted("data.train", "fineweb/*_train_*.bin"), "fineweb/*_train_*.bin");
  EXPECT_EQ(Accepted("data.train", "Köln/*.bin"), "Köln/*.bin");
  EXPECT_EQ(Refused("data.train", ""), "empty");
  EXPECT_EQ(Refused("data.train", "a\x1b[31mb"), "bad_text");
  EXPECT_EQ(Refused("data.train",
                    "a\xc2\x9b"
                    "b"),
            "bad_text");
  EXPECT_EQ(Refused("data.train", "a\nb"), "bad_text");
  EXPECT_EQ(Refused("data.train", std::string(5000, 'x').c_str()), "bad_text");
}

TEST(ValuesTest, ANameMustNotLookLikeANumberOrTheNewest) {
  for (const char* selects : {"last", "12", "12/3", "last/2"}) {
    EXPECT_NE(NameProblem(selects), "") << selects;
  }
  for (const char* name : {"lasts", "12a", "a/3", "12/", "12/3/4", "/3", "last/best", "Last"}) {
    EXPECT_EQ(NameProblem(name), "") << name;
  }
  const Field& field = *FindExperimentField("name");
  EXPECT_EQ(ReadText(field, "last", Quoting::kPlain).issue.message,
            "name 'last' would be read by commands as the newest experiment");
  EXPECT_TRUE(ReadText(field, "lasts", Quoting::kPlain).value);
}

TEST(ValuesTest, ValuesOfOtherClientsAreBroughtToOneForm) {
  v1::Value integer;
  integer.set_integer(1);
  const ReadValue number = Canonical(*FindField("optimizer.lr"), integer);
  ASSERT_TRUE(number.value);
  EXPECT_EQ(number.value->number(), 1.0);

  v1::Value text;
  text.set_text("60000ms");
  EXPECT_EQ(ValueText(*Canonical(*FindField("checkpoint.every"), text).value), "60s");

  v1::Value real;
  real.set_number(8.0);
  EXPECT_EQ(Canonical(*FindField("train.batch_size"), real).value->integer(), 8);
  real.set_number(8.5);
  EXPECT_EQ(Canonical(*FindField("train.batch_size"), real).issue.code, "wrong_type");
  real.set_number(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Canonical(*FindField("optimizer.lr"), real).issue.code, "not_finite");
  EXPECT_EQ(Canonical(*FindField("train.batch_size"), real).issue.code, "not_finite");
  EXPECT_EQ(Canonical(*FindField("optimizer.lr"), v1::Value()).issue.code, "missing");
  text.set_text("8");
  EXPECT_EQ(Canonical(*FindField("train.batch_size"), text).issue.code, "wrong_type");
}

TEST(ValuesTest, PrintedNumbersReadBackTheSame) {
  for (const double number :
       {0.0006, 1e-5, 1e-8, 3.16228e-4, 25.0, 1e15, 1e300, 0.1 + 0.2, 1.0 / 3, 123456789.125}) {
    const std::string text = NumberText(number);
    EXPECT_EQ(std::stod(text), number) << text;
    // Parsers of YAML 1.1 need a point before an exponent.
    EXPECT_TRUE(text.find('e') == std::string::npos || text.find('.') != std::string::npos) << text;
  }
  EXPECT_EQ(NumberText(6e-4), "0.0006");
  EXPECT_EQ(NumberText(1e-5), "1.0e-5");
}

TEST(ValuesTest, UnknownFieldsAreRefusedWithASuggestion) {
  v1::Spec spec;
  v1::Value value;
  value.set_integer(8);
  const absl::Status status = SetField(spec, "train.batchsize", value);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("train.batch_size"), std::string::npos);
}

}  // namespace
}  // namespace dt::spec
