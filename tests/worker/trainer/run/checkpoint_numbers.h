// checkpoint_numbers.h: reads the files of a checkpoint as numbers by name.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "worker/frames/frames.h"

namespace dt::testing {

inline constexpr char kModel[] = "model.safetensors", kMoments[] = "optimizer.safetensors",
                      kOuter[] = "outer.safetensors";

using Tensors = std::map<std::string, std::vector<float>>;

// Returns all numbers of the file `name`. Fails the test and returns none if it cannot be read.
inline Tensors Numbers(const frames::Start& start, const frames::CheckpointDone& checkpoint,
                       const char* name) {
  Tensors numbers;
  const auto file =
      checkpoint::SafetensorsFile::Open(start.storage + "/" + checkpoint.path + "/" + name);
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return numbers;
  for (const checkpoint::TensorEntry& entry : file->tensors()) {
    std::vector<float>& values = numbers[entry.name];
    values.resize(entry.bytes() / sizeof(float));
    EXPECT_TRUE(file->Read(entry, values.data()).ok());
  }
  return numbers;
}

}  // namespace dt::testing
