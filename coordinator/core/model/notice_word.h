// notice_word.h: the word that an experiment's file and receivers have for an event.
//
// Role:  pure. The words of spec/notify.h are these.
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
