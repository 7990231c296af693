// worker_commands.cc: dtctl worker drain | undrain.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/view/words.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct MarkOptions {
  std::string worker;
  std::string reason;
};

enum class DrainChange { kDrain, kUndrain };

std::string MarkedText(const MarkOptions& options, DrainChange change,
                       const v1::MarkWorkerResponse& response) {
  std::string text = absl::StrCat("worker ", Printable(options.worker));
  if (change == DrainChange::kUndrain) {
    absl::StrAppend(&text, response.changed() ? " takes work again" : " took work already");
    return text;
  }
  absl::StrAppend(&text, response.changed() ? " takes no more work" : " took no work already");
  if (response.stopping() > 0) absl::StrAppend(&text, "; its trial saves, to go on elsewhere");
  if (!response.known()) {
    absl::StrAppend(&text, "; no worker of this name is connected, and one that comes is drained");
  }
  return text;
}

absl::StatusOr<ExitCode> Mark(Session& session, const MarkOptions& options, DrainChange change) {
  v1::MarkWorkerRequest request;
  request.set_worker(options.worker);
  request.set_drain(change == DrainChange::kDrain);
  request.set_who(WhoAmI(session));
  request.set_reason(options.reason);
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::MarkWorkerResponse response, client->MarkWorker(request));
  PrintDocument(session, "Marked", ToJson(response),
                absl::StrCat(MarkedText(options, change, response), "\n"));
  return ExitCode::kOk;
}

}  // namespace

void AddWorkerCommands(CommandTree& tree) {
  CLI::App* group = tree.AddGroup("worker", "Say which workers take work",
                                  "dtctl worker drain gpu07/cuda:0 --reason 'new disk'\n"
                                  "dtctl worker undrain gpu07/cuda:0\n"
                                  "dtctl get workers");
  auto drain = std::make_shared<MarkOptions>();
  CLI::App* app =
      tree.Add(group, "drain", "Free a worker of work; its trial saves and goes on elsewhere",
               "dtctl worker drain gpu07/cuda:0\n"
               "dtctl worker drain gpu07/cuda:0 --reason 'new disk'");
  app->add_option("WORKER", drain->worker, "Its name; it need not be connected")->required();
  app->add_option("--reason", drain->reason, "Why; get workers shows it")->option_text("TEXT");
  tree.SetCommand(app, {[drain](Session& s) { return Mark(s, *drain, DrainChange::kDrain); },
                        kDocumentFormats});

  auto undrain = std::make_shared<MarkOptions>();
  app = tree.Add(group, "undrain",
                 "Let a worker that was drained, or is in quarantine, take work again",
                 "dtctl worker undrain gpu07/cuda:0");
  app->add_option("WORKER", undrain->worker, "Its name; it need not be connected")->required();
  tree.SetCommand(app, {[undrain](Session& s) { return Mark(s, *undrain, DrainChange::kUndrain); },
                        kDocumentFormats});
}

}  // namespace dt::cli
