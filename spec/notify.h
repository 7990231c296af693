// notify.h: whom an experiment's file has told what comes of it: words, rules and defaults.
//
// Role:  pure.
// Tests: tests/spec/notify_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// What one may be told of: an experiment that ended, a trial that failed, one that is better than
// all before it, one that makes no step.
const std::vector<std::string>& NoticeWords();
// Whether `notify` asks for it; without events it asks for all but `best`, which may be many.
bool AsksFor(const ::dtrain::v1::Notify& notify, std::string_view word);
// What a person is told of them: "finished, failed, stalled".
std::string NoticeText(const ::dtrain::v1::Notify& notify);

}  // namespace dt::spec
