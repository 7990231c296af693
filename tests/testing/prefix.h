// prefix.h: the precompiled header of test programs that see the messages: what the rooms have
// (proto/prefix.h), GoogleTest, the service that most of them call, and the comparisons that most
// of them make.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dtrain/v1/control.grpc.pb.h"
#include "proto/prefix.h"

namespace dt::precompiled {

// Makes GoogleTest's templates for these types once, in the header, instead of in each unit.
inline void CompareUsualTypes() {
  const nlohmann::json json;
  EXPECT_EQ(json, json);
  EXPECT_EQ(json, "");
  EXPECT_EQ(json, std::string());
  EXPECT_EQ(json, 0);
  EXPECT_EQ(json, 0.0);
  EXPECT_NE(json, json);
  EXPECT_EQ(std::string(), "");
  EXPECT_EQ(std::vector<std::string>(), std::vector<std::string>());
}

}  // namespace dt::precompiled
