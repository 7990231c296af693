// notify.h: the file's `notify`: its words, rules and defaults.
//
// Role:  pure.
// Tests: tests/spec/notify_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// Returns the events that can be notified: an experiment ended, a trial failed, a trial is better
// than all before it, a trial makes no step.
const std::vector<std::string>& NoticeWords();
// Returns whether `notify` asks for an event. Without a list it asks for all but `best`, which may
// be many.
bool AsksFor(const ::dtrain::v1::Notify& notify, std::string_view word);
// Returns the events as text: "finished, failed, stalled".
std::string NoticeText(const ::dtrain::v1::Notify& notify);

}  // namespace dt::spec
