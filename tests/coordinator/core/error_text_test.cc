#include "coordinator/core/model/error_text.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

TEST(ErrorTextTest, NumbersAddressesFoldersAndRandomNamesAreLeftOut) {
  EXPECT_EQ(ErrorOf("KeyError: 17 at 0x7f3a02"), ErrorOf("KeyError: 4 at 0x55aa10"));
  EXPECT_EQ(ErrorOf("No such file: '/run/dtrain/a1/code/x.py'"),
            ErrorOf("No such file: '/run/dtrain/a2/code/x.py'"));
  EXPECT_EQ(ErrorOf("cannot open /tmp/tmpabcdefg/model"),
            ErrorOf("cannot open /tmp/tmphijklmn/model"));
  EXPECT_EQ(ErrorOf("step-100 took 1.5e-3 s"), ErrorOf("step-7 took 2.25e-4 s"));
}

TEST(ErrorTextTest, WordsFilesAndTheStatusOfAnExitStay) {
  EXPECT_NE(ErrorOf("KeyError: lr"), ErrorOf("KeyError: wd"));
  EXPECT_NE(ErrorOf("No such file: '/data/train'"), ErrorOf("No such file: '/data/val'"));
  EXPECT_NE(ErrorOf("the program exited with status 1"),
            ErrorOf("the program exited with status 2"));
  EXPECT_NE(ErrorOf("was ended by signal 11 (SIGSEGV)"),
            ErrorOf("was ended by signal 6 (SIGABRT)"));
}

TEST(ErrorTextTest, OutsideKillsAndFullDisksAreRecognised) {
  EXPECT_TRUE(EndedFromOutside("the program was ended by signal 9 (SIGKILL)"));
  EXPECT_TRUE(EndedFromOutside("the program exited with status 143"));
  EXPECT_FALSE(EndedFromOutside("the program was ended by signal 11 (SIGSEGV)"));
  EXPECT_FALSE(EndedFromOutside("the program exited with status 1"));
  EXPECT_TRUE(IsFullDisk("OSError: [Errno 28] No space left on device"));
  EXPECT_FALSE(IsFullDisk("OSError: [Errno 13] Permission denied"));
}

}  // namespace
}  // namespace dt
