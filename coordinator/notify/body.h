// body.h: a notice as the JSON that receivers get (docs/notify.md), and as Slack takes it.
//
// Role:  pure. Fields are added, never changed; what must change raises `version`.
// Tests: tests/coordinator/notify/body_test.cc
#pragma once

#include <string>

#include "common/ids.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// The same of every try: by it receivers know a repetition.
std::string NoticeId(JournalId journal, const v1::Notice& notice);
std::string NoticeBody(JournalId journal, const v1::Notice& notice);

// Whether the receiver at `url` gets Slack's form: as it was asked for, else where the host is
// Slack's.
bool WantsSlack(const v1::Notice& notice, const std::string& url);
// That form: the line for people alone, in which nobody's name calls a channel or hides a link.
std::string SlackBody(const v1::Notice& notice);

}  // namespace dt
