// noticed.cc: see noticed.h.
#include "coordinator/core/answer/noticed.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/view.h"
#include "coordinator/core/model/patience.h"
#include "coordinator/core/model/silence.h"
#include "spec/program.h"
#include "spec/table/field.h"

namespace dt {
namespace {

std::string Text(absl::Duration time) {
  return spec::DurationText(absl::ToDoubleSeconds(absl::Ceil(time, absl::Seconds(1))));
}

std::string_view WorkText(Work work) {
  switch (work) {
    case Work::kUnannounced:
      return "of a gang with workers of an older version";
    case Work::kFirstStep:
      return "before its first steps";
    case Work::kSteps:
      return "between its steps";
    case Work::kEvaluates:
      return "in this evaluation";
    case Work::kPauses:
      return "while it saves or evaluates";
  }
  return "";
}

// Returns what else would be noticed in this phase of the attempt.
std::string PhaseText(const LiveAttempt& attempt, bool several_hosts) {
  const Signs signs = SignsOf(attempt);
  const Patience gang = PatienceOf(signs);
  if (const auto* connecting = std::get_if<Connecting>(&attempt.phase); connecting != nullptr) {
    if (!several_hosts || connecting->joined) return {};
    return absl::StrCat(", ranks that do not meet ", Text(gang.rendezvous));
  }
  if (!attempt.Is<Training>() || spec::IsProgram(attempt.spec)) return {};
  return absl::StrCat(", a standstill ", View(WorkText(signs.work)), " ", Text(gang.progress));
}

}  // namespace

std::string NoticedText(const LiveState& live, const LiveAttempt& attempt) {
  if (!attempt.Open() || attempt.Is<Settling>()) return {};
  absl::Duration closed, silent;
  const std::string* host = nullptr;
  bool several_hosts = false;
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker == kNoWorker) continue;
    const Worker& worker = live.workers[rank.worker];
    if (IsClient(worker)) return {};
    const Patience patience = PatienceOf(SignsOf(worker));
    closed = std::max(closed, patience.closed);
    silent = std::max(silent, AreOthersHeard(live, worker) ? patience.silence : patience.alone);
    several_hosts = several_hosts || (host != nullptr && *host != worker.hello.host());
    host = &worker.hello.host();
  }
  return absl::StrCat("; would be noticed within: a worker that ends ", Text(closed),
                      ", a silent host ", Text(silent), PhaseText(attempt, several_hosts));
}

std::string NoticedNote(const v1::Spec& spec) {
  const Patience unknown = PatienceOf({.work = Work::kFirstStep});
  const Patience least = PatienceOf({.round_trip = absl::ZeroDuration(), .work = Work::kSteps});
  const std::string stands =
      spec::IsProgram(spec)
          ? "a program that reports nothing, by timeout.report"
          : absl::StrCat("a standstill ", Text(least.progress), " or 20 of its longest steps (",
                         Text(unknown.progress), " before its first ones)");
  return absl::StrCat("would be noticed within: a worker that ends ", Text(unknown.closed),
                      ", a silent host ", Text(least.silence), " (", Text(unknown.alone),
                      " if no other is heard), ", stands);
}

}  // namespace dt
