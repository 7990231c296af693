// trainer_look_test.cc: whether a trainer would start, without starting it.
#include "worker/shell/trainer_look.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/trainer_limits.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

std::string Why(const std::string& path) {
  return WhyNoTrainer(path, limits::kFirstTrainerLook).value_or("no answer in time");
}

TEST(TrainerLookTest, AProgramWhoseLibrariesAreThereIsATrainer) {
  EXPECT_EQ(Why(FAKE_TRAINER), "");
}

TEST(TrainerLookTest, AMissingProgramIsNamedWithTheFix) {
  const std::string why = Why("/nowhere/dttrain");
  EXPECT_EQ(
      why,
      "there is no program /nowhere/dttrain; install dttrain there, or name it with --trainer");
}

TEST(TrainerLookTest, LibrariesThatWereNotFoundAreNamed) {
  EXPECT_EQ(FaultInList("\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n", "/bin/dttrain"), "");
  const std::string two = FaultInList(
      "\tlibtorch_cpu.so => not found\n\tlibc10.so => not found\n"
      "\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n",
      "/bin/dttrain");
  EXPECT_EQ(two,
            "its dttrain does not find libtorch_cpu.so, libc10.so; install LibTorch on its host");
  const std::string five = FaultInList(
      "\ta => not found\n\tb => not found\n\tc => not found\n\td => not found\n\te => not found\n",
      "/bin/dttrain");
  EXPECT_NE(five.find("a, b, c, 2 more;"), std::string::npos) << five;
}

TEST(TrainerLookTest, AnotherLibTorchThanItsOwnIsNamedByAMissingSymbol) {
  const std::string list =
      "\tlibtorch_cpu.so => /lib/libtorch_cpu.so (0x00007f)\n"
      "undefined symbol: of_a_library\t(/lib/libtorch_cpu.so)\n"
      "undefined symbol: _ZNK2at10TensorBase4fooEv\t(/bin/dttrain)\n";
  const std::string why = FaultInList(list, "/bin/dttrain");
  EXPECT_NE(why.find("built for another LibTorch than it finds (which has no "
                     "_ZNK2at10TensorBase4fooEv)"),
            std::string::npos)
      << why;
}

TEST(TrainerLookTest, AProgramWithoutItsLibraryIsNotStarted) {
  const std::string why = Why(NEEDS_LIBRARY);
  const std::string begin =
      "its dttrain does not find libdt_absent.so; install LibTorch on its host: ";
  EXPECT_EQ(why.find(begin), 0u) << why;
  EXPECT_GT(why.size(), begin.size()) << "the fix follows";
}

// The fix is that of the installation around the program: here a package of Debian, by its place.
TEST(TrainerLookTest, TheFixFitsHowTheProgramWasInstalled) {
  const testing::TempFolder folder;
  std::filesystem::create_directories(folder / "tree/bin");
  std::filesystem::copy_file(NEEDS_LIBRARY, folder / "tree/bin/dttrain");
  EXPECT_NE(Why(folder / "tree/bin/dttrain").find("on its host: pip install \"torch\""),
            std::string::npos);
  folder.Write("tree/CMakeCache.txt", "");
  EXPECT_NE(Why(folder / "tree/bin/dttrain").find("on its host: ./dev setup"), std::string::npos);
}

TEST(TrainerLookTest, AProgramThatMissesASymbolIsNotATrainer) {
  const std::string why = Why(NEEDS_SYMBOL);
  EXPECT_NE(why.find("built for another LibTorch than it finds (which has no "), std::string::npos)
      << why;
}

TEST(TrainerLookTest, AScriptIsATrainer) {
  const testing::TempFolder folder;
  const std::string script = folder.path() + "/dttrain";
  std::ofstream(script) << "#!/bin/sh\nexit 3\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(Why(script), "");
}

// The loader may have finished before it is asked.
TEST(TrainerLookTest, ALookThatIsCutOffFindsNoFault) {
  EXPECT_EQ(WhyNoTrainer(FAKE_TRAINER, absl::ZeroDuration()).value_or(""), "");
}

}  // namespace
}  // namespace dt
