// fixture.h: runs complete command lines against a fake coordinator.
#pragma once

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "gtest/gtest.h"
#include "tests/testing/fake_control.h"

namespace dt::cli {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Keeps the text written to it, and calls `asked` when a question is written.
class AskedBuffer : public std::stringbuf {
 public:
  explicit AskedBuffer(const std::function<void()>& asked) : asked_(asked) {}

 protected:
  int sync() override {
    if (asked_ && Has(str(), "[y/N]")) asked_();
    return 0;
  }

 private:
  const std::function<void()>& asked_;
};

class CommandTest : public ::testing::Test {
 protected:
  // Runs `dtctl ARGUMENTS…` against the fake.
  Ran Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--address", control_.address()});
    return RunAsWritten(arguments);
  }

  // Does the same without --address.
  Ran RunAsWritten(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    AskedBuffer asked_buffer(asked_);
    std::ostream err(&asked_buffer);
    std::istringstream in(input_);
    Terminal terminal;
    terminal.out = out_ == nullptr ? &out : out_;
    terminal.err = &err;
    terminal.in = &in;
    terminal.out_error = out_error_;
    terminal.in_fd = in_fd_;
    terminal.programs = programs_;
    terminal.out_is_tty = terminal.in_is_tty = terminal.err_is_tty = tty_;
    terminal.environment = [this](const std::string& name) { return environment_[name]; };
    terminal.size = [this] { return TerminalSize{columns_, 30}; };
    const Pace pace{absl::Milliseconds(1), absl::Milliseconds(1), absl::Milliseconds(1)};
    Ran ran;
    ran.code = dt::cli::Run(arguments, terminal, interrupt_, pace);
    ran.out = out.str();
    ran.err = asked_buffer.str();
    return ran;
  }

  // Makes `file` the experiment file `-`, which the coordinator answers with this number of trials
  // and device.
  void Offer(const std::string& file, uint32_t trials, const std::string& device) {
    input_ = file;
    control_.Edit([&](FakeControl::World& world) {
      world.submit_answer.set_trials(trials);
      world.submit_answer.set_device(device);
    });
  }
  // Adds experiment `id` with `trials` trials of batch_size 8, 16, …, all waiting.
  void AddExperiment(uint64_t id, uint32_t trials);
  v1::TrialSummary& Trial(FakeControl::World& world, uint64_t experiment, uint32_t trial) {
    return world.experiments.at(experiment).trials.at(trial - 1);
  }
  // Ends every trial as finished, the first with the lowest val_loss.
  static void FinishAll(FakeControl::World& world, uint64_t experiment);

  FakeControl control_;
  Interrupt interrupt_;
  std::map<std::string, std::string> environment_ = {{"TERM", "xterm"}, {"LANG", "C.UTF-8"}};
  std::string input_;
  std::string programs_;  // the folder of dtcoord and dtworker
  bool tty_ = false;
  int in_fd_ = -1;
  std::function<void()> asked_;  // called when a question has been asked
  int columns_ = 100;
  int calls_ = 0;                // for hooks that count
  std::ostream* out_ = nullptr;  // in place of Ran::out
  std::function<int()> out_error_ = [] { return 0; };
};

}  // namespace dt::cli
