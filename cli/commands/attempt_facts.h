// attempt_facts.h: an attempt as lines of `dtctl describe` and `dtctl explain`, with where it hung.
//
// Role:  FindHang asks the coordinator; all else is pure.
// Tests: tests/cli/commands/describe_command_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/remote/client.h"
#include "cli/view/json.h"
#include "cli/view/table.h"
#include "dtrain/v1/control.pb.h"
#include "report/words/hang.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Appends "  key             text"; nothing where the text is empty.
void AppendFact(std::vector<Line>& lines, const std::string& key, const Cell& cell);
void AppendTitle(std::vector<Line>& lines, const std::string& title);

struct Hang {
  uint32_t attempt = 0;  // 0: the newest ended attempt did not hang
  std::vector<report::HungRank> ranks;
};
// Reads where the newest ended attempt hung. A log that cannot be read has no ranks: the trial is
// explained without them.
Hang FindHang(Client& client, const v1::ExplainTrialResponse& found);

void AppendAttempt(std::vector<Line>& lines, const v1::AttemptSummary& attempt,
                   const std::string& trial, const Hang& hang);
// Returns the fields of the explanation with `hang`: null, or the attempt and its ranks.
Json ExplainedFields(const v1::ExplainTrialResponse& found, const Hang& hang);

}  // namespace dt::cli
