// body.h: a notice as JSON for receivers (docs/guides/notify.md), and in Slack's form.
//
// Role:  pure. Fields are added, never changed; an incompatible change raises `version`.
// Tests: tests/coordinator/notify/body_test.cc
#pragma once

#include <string>

#include "common/ids.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Returns the same id for each try, so that receivers recognise a repetition.
std::string NoticeId(JournalId journal, const v1::Notice& notice);
std::string NoticeBody(JournalId journal, const v1::Notice& notice);

// Returns whether the receiver at `url` gets Slack's form: the requested form, else Slack's form if
// the host is Slack's.
bool WantsSlack(const v1::Notice& notice, const std::string& url);
// Returns Slack's form: only the line for people. No name in it can notify a channel or hide a
// link.
std::string SlackBody(const v1::Notice& notice);

}  // namespace dt
