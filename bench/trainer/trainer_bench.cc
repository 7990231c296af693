// trainer_bench.cc: the speed of dttrain on this machine's CPU.
//
// Catalogue (medians over the steps after the first three; tokens/s count data loading and
// reporting):
//   small gpt          4 layers, width 128, byte vocabulary; 16 × 64 tokens a step; 1 rank and 2
//   tiny_transformer   the study's 38.2M parameters, fp32; 8 × 64 tokens a rank; 1 rank and 2
// One thread a rank, as a slot of a shared host has. `--steps N` trains longer (default 12).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/worker/trainer/run/trainer_gang.h"

namespace dt::testing {
namespace {

constexpr size_t kWarmUpSteps = 3;

struct Case {
  const char* name;
  nlohmann::json spec;
  int ranks;
};

double Median(std::vector<double> values) {
  if (values.size() <= kWarmUpSteps) return 0;
  values.erase(values.begin(), values.begin() + kWarmUpSteps);
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

nlohmann::json SmallGpt() {
  nlohmann::json spec = SmallSpec();
  spec["model"] = {{"preset", "gpt2"},  {"n_layer", 4},    {"n_head", 4},
                   {"n_embd", 128},     {"n_ff", 512},     {"n_positions", 64},
                   {"vocab_size", 257}, {"vocab_pad", 320}};
  spec["train"] = {{"batch_size", 16}, {"seq_len", 64}};
  spec["parallel"]["bucket_mb"] = 25;
  return spec;
}

nlohmann::json TinyTransformer() {
  nlohmann::json spec = SmallGpt();
  spec["model"] = {{"preset", "tiny_transformer"},
                   {"n_layer", 5},
                   {"n_head", 5},
                   {"n_embd", 300},
                   {"n_ff", 2048},
                   {"vocab_size", 50257},
                   {"tie_head", false},
                   {"head_bias", true},
                   {"norm", "post"},
                   {"activation", "relu"},
                   {"positions", "sinusoidal"}};
  spec["train"] = {{"batch_size", 8}, {"seq_len", 64}};
  return spec;
}

void Measure(const TempFolder& folder, const Case& c, const std::string& steps) {
  frames::Start start;
  start.token = "bench";
  start.experiment = start.trial = start.attempt = 1;
  start.data_root = folder.path();
  start.spec = c.spec;
  start.spec["train"]["max_steps"] = steps;
  start.spec["data"]["val"] = "";
  const Told told = TrainerGang(c.ranks).Run(start);
  if (told.Cause() != "finished") {
    std::printf("%-18s %5d  failed: %s\n", c.name, c.ranks, told.Cause().c_str());
    return;
  }
  const double seconds = Median(told.Column("seconds"));
  std::printf("%-18s %5d %10.1f %10.0f %9.1f %9.1f %9.1f %9.1f %9.1f\n", c.name, c.ranks,
              1e3 * seconds, told.Column("tokens").back() / seconds,
              1e3 * Median(told.Column("forward_seconds")),
              1e3 * Median(told.Column("backward_seconds")),
              1e3 * Median(told.Column("comm_exposed_seconds")),
              1e3 * Median(told.Column("optimizer_seconds")),
              1e3 * Median(told.Column("allreduce_seconds")));
}

}  // namespace
}  // namespace dt::testing

int main(int argc, char** argv) {
  std::string steps = "12";
  if (argc == 3 && std::strcmp(argv[1], "--steps") == 0) {
    steps = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: %s [--steps N]\n", argv[0]);
    return 2;
  }
  const dt::testing::TempFolder folder;
  dt::testing::WriteShard(folder, "train.bin", 200000);
  std::printf("%-18s %5s %10s %10s %9s %9s %9s %9s %9s\n", "model", "ranks", "ms/step", "tokens/s",
              "forward", "backward", "exposed", "optimizer", "allreduce");
  for (const auto& [name, spec] : {std::pair{"small gpt", dt::testing::SmallGpt()},
                                   std::pair{"tiny_transformer", dt::testing::TinyTransformer()}}) {
    for (const int ranks : {1, 2}) dt::testing::Measure(folder, {name, spec, ranks}, steps);
  }
  return 0;
}
