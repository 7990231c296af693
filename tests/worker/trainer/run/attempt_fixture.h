// attempt_fixture.h: attempts of real dttrain processes on small data.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/worker/trainer/run/trainer_gang.h"

namespace dt::testing {

// Returns the bytes that a rank sent in the step of a row, by operation and axis.
inline std::map<std::string, double> BytesOf(const nlohmann::json& row) {
  std::map<std::string, double> bytes;
  for (const nlohmann::json& each : row.at("collectives")) {
    bytes[each.at("op").get<std::string>() + " " + each.at("axis").get<std::string>()] =
        each.at("bytes").get<double>();
  }
  return bytes;
}

// Returns the steps of checkpoints or evaluations.
template <typename Frame>
std::vector<uint64_t> StepsOf(const std::vector<Frame>& frames) {
  std::vector<uint64_t> steps;
  for (const Frame& frame : frames) steps.push_back(frame.step);
  return steps;
}

// Returns steps of `sequences`, `at_a_time` on each rank, for any number of ranks.
inline nlohmann::json StepsOfSequences(int steps, int sequences, int at_a_time) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = std::to_string(steps);
  spec["train"]["batch_size"] = at_a_time;
  spec["train"]["global_batch_size"] = std::to_string(sequences);
  return spec;
}

class AttemptTest : public ::testing::Test {
 protected:
  AttemptTest() {
    WriteShard(folder_, "data/train.bin", 20000);
    WriteShard(folder_, "data/val.bin", 3000);
  }

  frames::Start Start(const nlohmann::json& spec) {
    frames::Start start;
    start.token = "token";
    start.experiment = 7;
    start.trial = 2;
    start.attempt = 1;
    start.spec = Resolved(spec);
    start.data_root = folder_ / "data";
    return start;
  }
  frames::Start StoredStart(const nlohmann::json& spec) {
    frames::Start start = Start(spec);
    std::filesystem::create_directories(folder_ / "storage");
    start.storage = folder_ / "storage";
    return start;
  }
  // Returns the number of parameters of `spec`'s model with this many layers.
  uint64_t ParametersOf(nlohmann::json spec, int layers) {
    spec["model"]["n_layer"] = layers;
    spec["train"]["max_steps"] = "1";
    return TrainerGang(1).Run(Start(spec)).prepared.at(0).model_parameters;
  }
  // Writes example texts in which the right ending follows a pattern.
  void WriteEndings(const std::string& name, int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      nlohmann::json endings;
      for (int e = 0; e < 4; ++e) endings.push_back(std::string(1 + (i + 3 * e) % 7, 'a' + e));
      lines += nlohmann::json{{"ctx", "number " + std::to_string(int64_t{i} * i)},
                              {"endings", endings},
                              {"label", i % 4}}
                   .dump() +
               "\n";
    }
    folder_.Write("data/" + name, lines);
  }
  static frames::Resume ResumeOf(const frames::CheckpointDone& checkpoint) {
    return {checkpoint.step, checkpoint.path, checkpoint.manifest_hash};
  }
  static void ExpectFinished(const Told& told) {
    for (size_t rank = 0; rank < told.ends.size(); ++rank) {
      EXPECT_EQ(told.Cause(rank), "finished") << "rank " << rank << ": " << told.Message(rank);
    }
  }
  // Expects that both rows come from one training, bit for bit.
  static void ExpectSameStep(const nlohmann::json& row, const nlohmann::json& other) {
    for (const char* column : {"step", "loss", "grad_norm"}) {
      EXPECT_EQ(row.at(column), other.at(column)) << "step " << row.at("step");
    }
  }
  // Expects that an attempt that resumes from a checkpoint of `whole`, which `start` began, makes
  // the remaining rows again, bit for bit.
  static void ExpectTheRestAgain(TrainerGang& gang, frames::Start start, const Told& whole,
                                 const frames::CheckpointDone& from) {
    start.attempt = 2;
    start.resume = ResumeOf(from);
    const Told rest = gang.Run(start);
    ExpectFinished(rest);
    ASSERT_EQ(rest.rows.size(), whole.rows.size() - from.step);
    for (size_t i = 0; i < rest.rows.size(); ++i) {
      ExpectSameStep(rest.rows[i], whole.rows[i + from.step]);
    }
    ASSERT_FALSE(rest.evals.empty());
    EXPECT_EQ(rest.evals.back().loss, whole.evals.back().loss);
  }

  // Expects that the death of a rank after step 12 ends the others, and that the next attempt
  // resumes from the second checkpoint of `spec`, which saves every five steps.
  void ExpectToGoOnAfterADeath(nlohmann::json spec, int ranks, int dies, uint32_t trial = 2) {
    spec["checkpoint"]["every"]["steps"] = "5";
    frames::Start start = StoredStart(spec);
    start.trial = trial;
    const Told told = TrainerGang(ranks).Run(start, KillAfterStep(12, dies));
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == dies) continue;
      EXPECT_EQ(told.Cause(rank), "collective") << "rank " << rank << ": " << told.Message(rank);
    }
    // The kill comes after the twelfth step: nothing makes the ranks wait for it.
    ASSERT_GE(told.checkpoints.size(), 2u);
    const frames::CheckpointDone from = told.checkpoints.back();
    EXPECT_EQ(from.step, 5 * told.checkpoints.size());
    const auto steps =
        static_cast<size_t>(std::stoi(spec["train"]["max_steps"].get<std::string>()));
    ASSERT_LT(from.step, steps) << "it was over before the kill";
    start.attempt = 2;
    start.resume = ResumeOf(from);
    const Told rest = TrainerGang(ranks).Run(start);
    ExpectFinished(rest);
    EXPECT_EQ(rest.resumed_step, from.step);
    EXPECT_EQ(rest.rows.size(), steps - from.step);
  }

  // Returns the result of a training on this many ranks that stores nothing; it is made once in
  // this program.
  const Told& Known(int ranks, const nlohmann::json& spec,
                    const std::vector<std::string>& flags = {"--threads", "1"}) {
    using Key = std::tuple<int, std::string, std::vector<std::string>>;
    static std::map<Key, Told>& known = *new std::map<Key, Told>;
    const auto [it, is_new] = known.try_emplace({ranks, spec.dump(), flags});
    if (is_new) {
      it->second = TrainerGang(ranks, flags).Run(Start(spec));
      ExpectFinished(it->second);
    }
    return it->second;
  }
  // Starts new processes for the gangs of a test for which remains of earlier trainings in a
  // process matter.
  void BeginProcesses() { warm_.reset(); }

  TempFolder folder_;

 private:
  std::optional<WarmTrainers::Use> warm_{std::in_place};
};

}  // namespace dt::testing
