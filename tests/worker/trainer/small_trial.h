// small_trial.h: a trial that trains dozens of steps a second, data for it, and its results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/resolved_spec.h"
#include "worker/frames/frames.h"

namespace dt::testing {

// A vector that throws for a missing element, so that a frame that the trainer failed to send fails
// one test only.
template <typename T>
class Sayings : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  const T& operator[](size_t i) const { return this->at(i); }
  T& operator[](size_t i) { return this->at(i); }
  const T& front() const { return this->at(0); }
  const T& back() const { return this->at(this->size() - 1); }
};

// The results of one attempt.
struct Told {
  Sayings<frames::Prepared> prepared;  // from every rank, in the order of arrival
  Sayings<nlohmann::json> rows;
  Sayings<nlohmann::json> missing;  // rows that a survivor of a broken gang reports for rank 0
  Sayings<frames::Eval> evals;
  Sayings<frames::CheckpointDone> checkpoints;
  Sayings<frames::CheckpointRemoved> removed;
  Sayings<std::optional<frames::End>> ends;  // by rank; nothing: the process ended without a frame
  uint64_t resumed_step = 0;

  Sayings<double> Losses() const { return Column("loss"); }
  Sayings<double> Column(const char* field) const {
    Sayings<double> values;
    for (const nlohmann::json& row : rows) values.push_back(row.at(field).get<double>());
    return values;
  }
  void Note(size_t rank, const frames::FromTrainer& frame) {
    if (const auto* end = std::get_if<frames::End>(&frame)) {
      EXPECT_FALSE(ends.at(rank)) << "two ends of one attempt";
      ends[rank] = *end;
    } else if (const auto* said = std::get_if<frames::Prepared>(&frame)) {
      prepared.push_back(*said);
    } else if (const auto* running = std::get_if<frames::Running>(&frame)) {
      resumed_step = running->resumed_step;
    } else if (const auto* step = std::get_if<frames::StepDone>(&frame)) {
      (rank == 0 ? rows : missing).push_back(step->row);
    } else if (const auto* eval = std::get_if<frames::Eval>(&frame)) {
      evals.push_back(*eval);
    } else if (const auto* checkpoint = std::get_if<frames::CheckpointDone>(&frame)) {
      checkpoints.push_back(*checkpoint);
    } else if (const auto* gone = std::get_if<frames::CheckpointRemoved>(&frame)) {
      removed.push_back(*gone);
    }
  }
  std::string Cause(size_t rank = 0) const { return ends.at(rank) ? ends[rank]->cause : "gone"; }
  std::string Message(size_t rank = 0) const {
    return ends.at(rank) ? ends[rank]->message : "the process ended without a word";
  }
  // Returns UINT64_MAX, a step that no trial reaches, for a process that ended without a frame.
  uint64_t EndStep(size_t rank = 0) const { return ends.at(rank) ? ends[rank]->step : UINT64_MAX; }
};

// Expects that all left because they were asked to stop without a checkpoint. Then no rank waits
// for the others, so that a rank may see a peer leave before its own order arrives.
inline void ExpectAllStopped(const Told& told) {
  int heard = 0;
  for (size_t rank = 0; rank < told.ends.size(); ++rank) {
    const std::string cause = told.Cause(rank);
    EXPECT_TRUE(cause == "cancelled" || cause == "collective")
        << "rank " << rank << ": " << cause << ": " << told.Message(rank);
    if (cause == "cancelled") ++heard;
  }
  EXPECT_GE(heard, 1) << "no rank left by the word itself";
}

// Returns the largest difference between two curves of equal length, which must not be empty.
inline double LargestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  EXPECT_FALSE(a.empty());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

// Writes a shard in llm.c's format.
inline void WriteTokens(const TempFolder& folder, const std::string& name,
                        const std::vector<uint16_t>& tokens) {
  std::string bytes(1024, '\0');
  const int32_t header[3] = {20240520, 1, static_cast<int32_t>(tokens.size())};
  bytes.replace(0, sizeof(header), reinterpret_cast<const char*>(header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(tokens.data()), 2 * tokens.size());
  folder.Write(name, bytes);
}

// Writes text-like tokens from a formula: learnable, and the same everywhere.
inline void WriteShard(const TempFolder& folder, const std::string& name, int count) {
  std::vector<uint16_t> tokens;
  uint32_t state = 12345;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    // Mostly a pattern, sometimes noise.
    tokens.push_back((state >> 24) < 64 ? static_cast<uint16_t>((state >> 16) & 63)
                                        : static_cast<uint16_t>((i * 7 + i / 5) % 61));
  }
  WriteTokens(folder, name, tokens);
}

// A rate or an epsilon that must be above 0: in fp32 it is 0.
inline constexpr double kNothing = 1e-300;

// A model that trains dozens of steps a second. Resolved fills in the other fields.
inline nlohmann::json SmallSpec() {
  return {
      {"seed", "11"},
      {"data", {{"train", "train.bin"}, {"val", "val.bin"}, {"shuffle", true}}},
      {"model",
       {{"preset", "gpt2"},
        {"n_layer", 2},
        {"n_head", 2},
        {"n_embd", 32},
        {"n_ff", 64},
        {"n_positions", 32},
        {"vocab_size", 64},
        {"vocab_pad", 64}}},
      {"train", {{"batch_size", 4}, {"seq_len", 32}, {"max_steps", "8"}, {"grad_clip", 1.0}}},
      {"optimizer", {{"lr", 6e-4}}},
      {"schedule", {{"type", "cosine"}, {"warmup_steps", "4"}}},
      {"precision", {{"compute", "fp32"}}},
      {"parallel", {{"bucket_mb", 0.02}}},  // several buckets even here
      {"eval", {{"every", "0"}, {"batches", 4}}},
      {"checkpoint", {{"every", {{"steps", "0"}, {"seconds", 0}}}}},
  };
}

}  // namespace dt::testing
