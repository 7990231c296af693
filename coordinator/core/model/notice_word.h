// notice_word.h: the word for an event in experiment files and for receivers.
//
// Role:  pure. spec/notify.h has the same words.
// Tests: tests/coordinator/core/notifications_test.cc
#pragma once

#include <string>

#include "absl/strings/ascii.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

inline std::string WordOf(::dtrain::v1::Notice::Event event) {
  return absl::AsciiStrToLower(::dtrain::v1::Notice::Event_Name(event));
}

}  // namespace dt
