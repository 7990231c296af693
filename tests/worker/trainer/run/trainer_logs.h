// trainer_logs.h: keeps the output of a test's trainers, and shows it only if the test failed, so
// that nobody has to search for a failure among the lines of a hundred healthy processes.
//
// Ownership: the lines, until the next test begins.
// Threads:   the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>

namespace dt::testing {

class TrainerLogs final : public ::testing::EmptyTestEventListener {
 public:
  static TrainerLogs& Get() {
    static TrainerLogs* const logs = [] {
      auto made = new TrainerLogs;  // GoogleTest owns it from here on
      ::testing::UnitTest::GetInstance()->listeners().Append(made);
      return made;
    }();
    return *logs;
  }
  void Add(std::string log) { text_ += "---- dttrain:\n" + std::move(log); }

 private:
  void OnTestStart(const ::testing::TestInfo& /*info*/) override { text_.clear(); }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (info.result()->Failed()) std::cerr << std::exchange(text_, {});
  }

  std::string text_;
};

}  // namespace dt::testing
