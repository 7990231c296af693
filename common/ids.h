// ids.h: the names of things: typed ids of trials and attempts, and how people write them.
//
//   experiment 12    trial 12/3    attempt 12/3#2    the newest experiment: last
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dt {

using ExperimentId = uint64_t;  // from 1, in order of submission
using JournalId = uint64_t;     // random, made with the database
using InstanceId = uint64_t;    // random, one life of a dtworker process

struct TrialId {
  ExperimentId experiment = 0;
  uint32_t trial = 0;  // from 1 within the experiment
  auto operator<=>(const TrialId&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const TrialId& id) {
    return H::combine(std::move(h), id.experiment, id.trial);
  }
};

struct AttemptId {
  TrialId trial;
  uint32_t attempt = 0;  // from 1 within the trial
  auto operator<=>(const AttemptId&) const = default;
};

// 128 random bits made with an attempt: the fence that every effect of the attempt must carry.
struct AttemptToken {
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const AttemptToken&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttemptToken& token) {
    return H::combine(std::move(h), token.bytes);
  }
  std::string ToBytes() const;  // 16 raw bytes, as in protobuf
  std::string ToHex() const;    // 32 digits, as in frames and store keys
  // Errors: InvalidArgument unless exactly 16 bytes (32 hex digits).
  static absl::StatusOr<AttemptToken> FromBytes(std::string_view bytes);
  static absl::StatusOr<AttemptToken> FromHex(std::string_view hex);
};

std::string ToString(TrialId id);           // "12/3"
std::string ToString(const AttemptId& id);  // "12/3#2"

// A person's way to name an experiment or a trial.
struct Selector {
  bool last = false;            // "last", "last/3"
  ExperimentId experiment = 0;  // set unless last
  uint32_t trial = 0;           // 0: the experiment
};
// Errors: InvalidArgument naming the text and the accepted forms.
absl::StatusOr<Selector> ParseSelector(std::string_view text);

}  // namespace dt
