// read_output_test.cc: a short-lived program and what it prints.
#include "common/read_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "common/unique_fd.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

ProgramOutput ReadShell(const std::string& script, size_t bytes_max = 1000,
                        absl::Duration patience = absl::Minutes(1)) {
  return ReadOutput({.path = "/bin/sh", .arguments = {"-c", script}}, bytes_max, patience);
}

TEST(ReadOutputTest, StandardOutputIsReadToItsEnd) {
  const ProgramOutput output = ReadShell("echo one; echo error >&2; echo two");
  EXPECT_TRUE(output.ok);
  EXPECT_EQ(output.text, "one\ntwo\n");
}

TEST(ReadOutputTest, AFailureKeepsItsOutput) {
  const ProgramOutput output = ReadShell("echo one; exit 3");
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.text, "one\n");
}

TEST(ReadOutputTest, AProgramThatPrintsTooMuchIsKilled) {
  const ProgramOutput output = ReadShell("while :; do echo more; done", 10);
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.text.size(), 10u);
}

TEST(ReadOutputTest, ASilentProgramIsKilledAtTheDeadline) {
  const ProgramOutput output = ReadShell("exec tail -f /dev/null", 10, absl::Milliseconds(50));
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.text, "");
}

TEST(ReadOutputTest, StandardErrorIsReadIfItIsAskedFor) {
  const SpawnOptions shell = {.path = "/bin/sh", .arguments = {"-c", "echo out; echo error >&2"}};
  EXPECT_EQ(ReadOutput(shell, 100, absl::Minutes(1)).text, "out\n");
  EXPECT_EQ(ReadOutput(shell, 100, absl::Minutes(1), StandardError::kRead).text, "out\nerror\n");
}

TEST(ReadOutputTest, TheProgramHoldsTheDescriptorsOfTheCaller) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd low(ends[1]);
  const UniqueFd write_end(fcntl(low.get(), F_DUPFD_CLOEXEC, 20));
  low.Reset();
  // The lowest numbers, which the pipe of ReadOutput may have here.
  for (const int number : {3, 4, 5, 6}) {
    SpawnOptions shell = {.path = "/bin/sh",
                          .arguments = {"-c", "echo out; echo held >&" + std::to_string(number)}};
    shell.descriptors = {{write_end.get(), number}};
    const ProgramOutput output = ReadOutput(shell, 100, absl::Minutes(1));
    EXPECT_TRUE(output.ok) << number;
    EXPECT_EQ(output.text, "out\n") << number;
    char text[5] = {};
    ASSERT_EQ(read(read_end.get(), text, sizeof(text)), 5) << number;
    EXPECT_EQ(std::string_view(text, 5), "held\n") << number;
  }
}

TEST(ReadOutputTest, AProgramThatIsNotThereHasNoOutput) {
  const ProgramOutput output = ReadOutput({.path = "/nowhere/x"}, 10, absl::Minutes(1));
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.text, "");
}

}  // namespace
}  // namespace dt
