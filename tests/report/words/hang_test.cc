// hang_test.cc: the innermost frames of hung processes, from lines that dtprogram and Python print.
#include "report/words/hang.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"

namespace dt::report {
namespace {

constexpr char kBegin[] =
    "dtrain: no report for 2s, which is timeout.report; what its processes are doing:";

v1::LogLineChunk Chunk(int32_t rank, std::initializer_list<std::string> lines,
                       uint32_t attempt = 1) {
  v1::LogLineChunk chunk;
  chunk.set_attempt(attempt);
  chunk.mutable_log()->set_rank(rank);
  for (const std::string& line : lines) {
    absl::StrAppend(chunk.mutable_log()->mutable_text(), line, "\n");
  }
  return chunk;
}

std::vector<std::string> Texts(const HangReader& hang) {
  std::vector<std::string> texts;
  for (const HungRank& rank : hang.ranks()) {
    for (const HungProcess& process : rank.processes) {
      texts.push_back(absl::StrCat(rank.rank, ": ", HungText(process)));
    }
  }
  return texts;
}

std::vector<std::string> TextsOf(std::initializer_list<std::string> lines) {
  HangReader hang(1);
  hang.Add(Chunk(0, lines));
  return Texts(hang);
}

using Strings = std::vector<std::string>;

TEST(HangTest, TheFramesThatPySpyPrintsAreThoseOfTheMainThread) {
  EXPECT_EQ(TextsOf({kBegin, "dtrain: process 12 (python3) sleeps in futex_wait_queue, 2 threads",
                     "dtrain:   thread 12 (python3) sleeps in futex_wait_queue",
                     "dtrain:   Process 12: python3 train.py", "dtrain:   Python v3.11.2",
                     "dtrain:   Thread 13 (idle): \"loader\"", "dtrain:     get (queue.py:171)",
                     "dtrain:   Thread 12 (idle): \"MainThread\"",
                     "dtrain:     wait (threading.py:320)", "dtrain:     get (queue.py:171)",
                     "dtrain:     batch (train.py:30)", "dtrain:     main (train.py:40)"}),
            Strings{"0: process 12 (python3) sleeps in futex_wait_queue, 2 threads: wait "
                    "(threading.py:320), called by get (queue.py:171), called by batch "
                    "(train.py:30)"});
}

TEST(HangTest, TheFramesOfGdbLoseTheirAddresses) {
  EXPECT_EQ(TextsOf({kBegin, "dtrain: process 7 (train) runs", "dtrain:   Thread 2 (LWP 8):",
                     "dtrain:   #0  0x00007f01 in poll () from /lib/libc.so.6",
                     "dtrain:   Thread 1 (LWP 7):", "dtrain:   #0  spin (x=3) at train.c:12",
                     "dtrain:   #1  0x0000aa in main () at train.c:20"}),
            Strings{"0: process 7 (train) runs: spin (x=3) at train.c:12, called by main () at "
                    "train.c:20"});
}

TEST(HangTest, PythonsOwnPrintsBelongToTheProcessesThatAreNamed) {
  EXPECT_EQ(
      TextsOf({kBegin, "dtrain: process 5 (sh) sleeps in do_wait", "dtrain:   Thread 1 (LWP 5):",
               "dtrain:   #0  0x0 in wait4 ()", "dtrain: process 6 (python3) sleeps in do_select",
               "dtrain: Python's own stacks are on standard error, of process 6",
               "Fatal Python error: Aborted", "", "Thread 0x00007f02 (most recent call first):",
               "  File \"/usr/lib/python3.11/threading.py\", line 320 in wait", "",
               "Current thread 0x00007f01 (most recent call first):",
               "  File \"/srv/ann/train.py\", line 7 in all_reduce",
               "  File \"/srv/ann/train.py\", line 9 in <module>", "",
               "Extension modules: numpy.core (total: 1)"}),
      (Strings{"0: process 5 (sh) sleeps in do_wait: wait4 ()",
               "0: process 6 (python3) sleeps in do_select: all_reduce (train.py:7), called "
               "by <module> (train.py:9)"}));
}

// The prints come before the line that names their processes, or behind it.
TEST(HangTest, PrintsOfSeveralPythonProcessesComeInTheOrderOfTheirNumbers) {
  const std::string named = "dtrain: Python's own stacks are on standard error, of process 6 5";
  for (const bool before : {true, false}) {
    EXPECT_EQ(
        TextsOf({kBegin, "dtrain: process 5 (python3) sleeps", "dtrain: process 6 (python3) sleeps",
                 before ? named : "", "Fatal Python error: Aborted", "",
                 "Current thread 0x01 (most recent call first):", "  File \"a.py\", line 1 in get",
                 "Fatal Python error: Aborted", "", "Current thread 0x02 (most recent call first):",
                 "  File \"a.py\", line 2 in decode", before ? "" : named}),
        (Strings{"0: process 5 (python3) sleeps: decode (a.py:2)",
                 "0: process 6 (python3) sleeps: get (a.py:1)"}));
  }
  EXPECT_EQ(
      TextsOf({kBegin, "dtrain: process 5 (python3) sleeps", "Fatal Python error: Aborted", "",
               "Current thread 0x01 (most recent call first):", "  File \"a.py\", line 1 in get"}),
      (Strings{"0: process 5 (python3) sleeps", "0: a Python process: get (a.py:1)"}))
      << "its process is not named";
}

TEST(HangTest, EachRankHasItsOwnListingAndOnlyThisAttemptCounts) {
  HangReader hang(2);
  hang.Add(Chunk(0, {kBegin, "dtrain: process 1 (old) runs"}, 1));
  hang.Add(Chunk(1,
                 {"dtrain: another rank hangs and the gang ends; what its processes are doing:",
                  "dtrain: process 9 (b) runs"},
                 2));
  hang.Add(Chunk(0, {"loss 3", kBegin}, 2));
  hang.Add(Chunk(0, {"dtrain: process 8 (a) runs", "dtrain: killed 2 processes"}, 2));
  EXPECT_EQ(Texts(hang), (Strings{"0: process 8 (a) runs", "1: process 9 (b) runs"}));
}

TEST(HangTest, ALogWithoutStacksHasNone) {
  EXPECT_EQ(TextsOf({"dtrain: process 8 (a) runs", "Fatal Python error: Aborted",
                     "Current thread 0x02 (most recent call first):",
                     "  File \"a.py\", line 2 in decode", ""}),
            Strings{});
}

// A program prints whatever it likes, also these lines.
TEST(HangTest, HostileLinesAreBoundedAndMadeVisible) {
  HangReader hang(1);
  const std::string large(10'000, 'x');
  for (int32_t rank = 0; rank < 20; ++rank) {
    v1::LogLineChunk chunk = Chunk(rank, {kBegin});
    for (int i = 0; i < 10; ++i) {
      absl::StrAppend(chunk.mutable_log()->mutable_text(), "dtrain: process \x1b[2J\xff", large,
                      "\n", "dtrain:   #0  0x1 in ", large, "\nFatal Python error: \n",
                      "Current thread 0x\n  File \"\", line  in \n  File \"", large, "\", line ",
                      large, " in ", large, "\n");
    }
    hang.Add(chunk);
  }
  const std::vector<HungRank> ranks = hang.ranks();
  EXPECT_EQ(ranks.size(), kHungRanks);
  for (const HungRank& rank : ranks) {
    EXPECT_LE(rank.processes.size(), 2 * kHungProcesses);
    for (const HungProcess& process : rank.processes) {
      EXPECT_LE(process.frames.size(), kHungFrames);
      EXPECT_LT(HungText(process).size(), 16 * limits::kNameBytes);
      EXPECT_EQ(HungText(process).find('\x1b'), std::string::npos);
    }
  }
}

TEST(HangTest, OnlyTheNewestEndedAttemptIsAskedFor) {
  v1::ExplainTrialResponse found;
  const auto add = [&found](v1::Cause cause, int64_t ended) {
    v1::AttemptSummary& attempt = *found.add_attempts();
    attempt.set_attempt(static_cast<uint32_t>(found.attempts_size()));
    attempt.set_cause(cause);
    attempt.set_ended_wall_ms(ended);
  };
  EXPECT_EQ(HungAttempt(found), 0u);
  add(v1::CAUSE_HANG, 1);
  EXPECT_EQ(HungAttempt(found), 1u);
  add(v1::CAUSE_UNSPECIFIED, 0);
  EXPECT_EQ(HungAttempt(found), 1u) << "the second still runs";
  add(v1::CAUSE_OOM, 3);
  EXPECT_EQ(HungAttempt(found), 0u);
  EXPECT_EQ(HangJson(0, {}), nullptr);
  EXPECT_EQ(HangJson(1, {{.rank = 1, .processes = {{.doing = "p", .frames = {"f"}}}}}).dump(),
            R"({"attempt":1,"ranks":[{"rank":1,"processes":[{"doing":"p","frames":["f"]}]}]})");
}

}  // namespace
}  // namespace dt::report
