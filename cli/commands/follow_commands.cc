// follow_commands.cc: dtctl follow | wait.
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/remote/follow.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {
namespace {

struct WaitOptions {
  std::string selector;
  std::string until = "done";
  std::string timeout;
};

absl::StatusOr<ExitCode> Wait(Session& session, const WaitOptions& options) {
  static const std::map<std::string, Until> kWords = {
      {"done", Until::kDone}, {"running", Until::kRunning}, {"first-step", Until::kFirstStep}};
  const auto until = kWords.find(options.until);
  if (until == kWords.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'--for ", Printable(options.until), "' is unknown; use done, running or first-step"));
  }
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(options.selector));
  absl::Duration timeout = absl::InfiniteDuration();
  if (!options.timeout.empty()) {
    DT_ASSIGN_OR_RETURN(timeout, ParseDuration(options.timeout));
  }
  return WaitUntil(session, selector, until->second, timeout);
}

}  // namespace

void AddFollowCommands(CommandTree& tree) {
  auto followed = std::make_shared<std::string>();
  CLI::App* app =
      tree.Add(&tree.app(), "follow", "Watch an experiment until it ends, then show its results",
               "dtctl follow last\n"
               "dtctl follow 12 > follow.log   # a line per change");
  app->add_option("EXP", *followed, "12, or last for the newest")->required();
  tree.SetCommand(app, {[followed](Session& session) -> absl::StatusOr<ExitCode> {
                    DT_ASSIGN_OR_RETURN(const Selector selector,
                                        session.ChooseExperiment(*followed));
                    return FollowExperiment(session, selector);
                  }});

  auto wait = std::make_shared<WaitOptions>();
  app = tree.Add(&tree.app(), "wait",
                 "Wait in silence; exit 0 when finished, 10 when failed, 11 when cancelled",
                 "dtctl wait last && dtctl best last\n"
                 "dtctl wait 12 --for first-step --timeout 5m\n"
                 "dtctl wait 12/3");
  app->add_option("SEL", wait->selector, "12, 12/3, last or last/3")->required();
  tree.SetWords(
      app->add_option("--for", wait->until,
                      "done, running (a trial trains), or first-step (a trial made a step)")
          ->option_text("WHAT"),
      {"done", "running", "first-step"});
  app->add_option("--timeout", wait->timeout, "Give up after this, such as 90s or 2h, and exit 8")
      ->option_text("DURATION");
  tree.SetCommand(app, {[wait](Session& session) { return Wait(session, *wait); }});
}

}  // namespace dt::cli
