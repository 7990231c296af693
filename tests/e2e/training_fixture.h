// training_fixture.h: a cluster with the real trainer, used as a user does: through dtctl, with
// files. Models are tiny, and with one thread a rank, runs are equal to the bit.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/e2e/cluster_fixture.h"

namespace dt {

// The contents of an experiment file; members are YAML values.
struct FileOf {
  std::string name = "e2e";
  std::string parameters;  // "parameters: {…}" or nothing
  std::string train = "text/train_*.bin";
  std::string val = "text/val_*.bin";
  int ranks = 1;
  int batch_size = 4;
  int steps = 60;
  int vocab_size = 257;
  std::string precision = "{compute: fp32}";
  std::string checkpoint = "{every: 20}";
  std::string more_resources;  // ", key: value"

  std::string Text() const {
    return "version: 1\nname: " + name + "\nseed: 7\n" + parameters +
           "\nresources: {gpus: " + std::to_string(ranks) + ", device: cpu" + more_resources +
           "}\ndata: {train: \"" + train + "\", val: \"" + val +
           "\", tokenizer: byte, shuffle: true}\n"
           "model: {preset: gpt2, n_layer: 2, n_head: 2, n_embd: 48, n_ff: 96, n_positions: 64, "
           "vocab_size: " +
           std::to_string(vocab_size) + "}\ntrain: {" +
           (parameters.find("batch_size") == std::string::npos
                ? "batch_size: " + std::to_string(batch_size) + ", "
                : "") +
           "seq_len: 64, max_steps: " + std::to_string(steps) +
           "}\noptimizer: {lr: 3.0e-3}\nschedule: {warmup_steps: 5}\n"
           "precision: " +
           precision + "\neval: {every: 50, batches: 2}\ncheckpoint: " + checkpoint +
           "\nretries: {max: 5, backoff: 100ms}\n";
  }
};

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

class TrainingTest : public ClusterTest {
 protected:
  explicit TrainingTest(testing::Transport transport = testing::Transport::kUnixSocket)
      : ClusterTest({DTCOORD, DTWORKER, DTTRAIN}, transport) {}

  // Runs `dtctl ARGUMENTS…` for at most two minutes.
  Ran Dtctl(const std::vector<std::string>& arguments) {
    const std::string err = cluster_.folder() / "dtctl.err";
    std::string command = "timeout 120 '" DTCTL "'";
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    for (const std::string& flag : cluster_.ClientFlags()) command += " '" + flag + "'";
    Ran ran;
    FILE* pipe = popen((command + " 2> '" + err + "'").c_str(), "r");
    char buffer[4096];
    for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      ran.out.append(buffer, got);
    }
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.err = testing::Slurp(err);
    return ran;
  }
  Ran MustDtctl(const std::vector<std::string>& arguments) {
    Ran ran = Dtctl(arguments);
    EXPECT_EQ(ran.code, 0) << "dtctl " << arguments[0] << ": " << ran.err;
    return ran;
  }

  // Returns text that can be learned: each word depends on the word before. `seed` makes another
  // text of the same words.
  static std::string MakeText(uint32_t seed) {
    static const char* const kWords[] = {"one ",   "worker ", "trains ", "while ",      "another ",
                                         "waits ", "for ",    "its ",    "gradients.\n"};
    std::string text;
    for (uint32_t state = seed, word = 0; text.size() < 100000;) {
      state = state * 1664525 + 1013904223;
      word = (2 * word + 1 + (state >> 30)) % 9;
      text += kWords[word];
    }
    return text;
  }
  // Tokenises a text into DATA_ROOT/`name`.
  void MakeData(const std::string& name, uint32_t seed = 1) {
    const std::string text = cluster_.folder().Write("texts/" + name + ".txt", MakeText(seed));
    MustDtctl({"data", "tokenize", "--output", cluster_.folder() / ("data/" + name), text});
  }

  std::string WriteFile(const FileOf& file) {
    return cluster_.folder().Write(file.name + ".yaml", file.Text());
  }
  uint64_t Submit(const FileOf& file) {
    const Ran ran = MustDtctl({"submit", WriteFile(file), "--id-only"});
    return strtoull(ran.out.c_str(), nullptr, 10);
  }
  // Waits until the coordinator has paused the experiment because its data cannot be used.
  bool AwaitHeld(uint64_t experiment) {
    return testing::Await([&] { return !cluster_.Experiment(experiment).paused_why().empty(); },
                          std::chrono::seconds(60));
  }
  // Returns "step,loss,val_loss" of every valid row, as dtctl prints it: the shortest text that
  // reads back as the same number.
  std::vector<std::string> Losses(uint64_t experiment, uint32_t trial = 1) {
    const Ran ran = MustDtctl({"metrics", std::to_string(experiment) + "/" + std::to_string(trial),
                               "--metric", "loss", "--metric", "val_loss", "-o", "csv"});
    std::vector<std::string> rows;
    for (size_t at = ran.out.find('\n') + 1; at != 0 && at < ran.out.size();) {
      const size_t end = std::min(ran.out.find('\n', at), ran.out.size());
      std::string line = ran.out.substr(at, end - at);
      for (int field = 0; field < 3; ++field) line.erase(0, line.find(',') + 1);
      rows.push_back(line);
      at = end + 1;
    }
    return rows;
  }
  static double LossOf(const std::string& row) {
    return strtod(row.c_str() + row.find(',') + 1, nullptr);
  }
  // Another number of ranks sums in another order.
  static void ExpectNear(const std::vector<std::string>& losses,
                         const std::vector<std::string>& expected) {
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(LossOf(losses[step]), LossOf(expected[step]), 2e-3) << "step " << step + 1;
    }
  }
};

}  // namespace dt
