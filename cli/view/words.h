// words.h: names of report/ that dtctl uses as its own: words for numbers, summaries and
// configurations. A new name gets a line here.
#pragma once

#include "report/analysis/configurations.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// format.h
using report::FormatCount;
using report::FormatDuration;
using report::FormatElapsed;
using report::FormatExact;
using report::FormatLocalTime;
using report::FormatLoss;
using report::FormatRate;
using report::FormatRatio;
using report::FormatShort;
using report::kNone;
using report::ParseDuration;
using report::Plural;

// summary.h
using report::AssignmentsText;
using report::AssignmentText;
using report::BestLossText;
using report::BestText;
using report::BuildText;
using report::CommShareText;
using report::CountStoppedEarly;
using report::Ended;
using report::FailedText;
using report::LineName;
using report::MetricText;
using report::NeedsColumn;
using report::NoteText;
using report::Progress;
using report::RateText;
using report::StateText;
using report::StepText;
using report::StoppedEarly;
using report::Swept;
using report::SweptParameters;
using report::ToComeText;
using report::TorchText;
using report::TrialName;
using report::TrialsInAll;

// ranking.h
using report::BetterButEarlyText;
using report::Early;
using report::EarlyOf;
using report::Goal;
using report::GoalOf;
using report::IsBetter;
using report::Ranked;

// configurations.h
using report::BestFirst;
using report::BestTrial;
using report::Configuration;
using report::ConfigurationJson;
using report::ConfigurationLineName;
using report::ConfigurationName;
using report::ConfigurationsOf;
using report::HasReplicates;
using report::SpreadText;

}  // namespace dt::cli
