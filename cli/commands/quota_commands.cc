// quota_commands.cc: dtctl quota set | remove | list.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct QuotaOptions {
  std::string user;
  std::string label;
  uint32_t slots = 0;
};

std::string NameOf(const QuotaOptions& options) {
  return options.user.empty() ? absl::StrCat("experiments with the label ", options.label)
                              : absl::StrCat("experiments of ", options.user);
}

absl::StatusOr<ExitCode> Set(Session& session, const QuotaOptions& options, bool removed) {
  v1::SetQuotaRequest request;
  request.set_user(options.user);
  request.set_label(options.label);
  request.set_slots(options.slots);
  request.set_removed(removed);
  request.set_who(WhoAmI(session));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::SetQuotaResponse response, client->SetQuota(request));
  std::string text = absl::StrCat(Printable(NameOf(options)), " ");
  if (removed) {
    absl::StrAppend(&text, response.changed() ? "have no quota any more" : "had no quota");
  } else {
    absl::StrAppend(&text, "hold at most ", Plural(options.slots, "slot"), " at once; now ",
                    response.quota().held());
  }
  PrintDocument(session, "Quota", api::QuotaFields(response), absl::StrCat(text, "\n"));
  return ExitCode::kOk;
}

Cell TextOrNone(const std::string& text) { return {text.empty() ? kNone : Printable(text)}; }

ListColumns<v1::QuotaSummary> QuotaColumns() {
  using Quota = v1::QuotaSummary;
  return {
      {{"USER"}, [](const Quota& one) { return TextOrNone(one.user()); }},
      {{"LABEL"}, [](const Quota& one) { return TextOrNone(one.label()); }},
      {{"SLOTS", Align::kRight}, [](const Quota& one) { return Cell{absl::StrCat(one.slots())}; }},
      {{"HELD", Align::kRight}, [](const Quota& one) { return Cell{absl::StrCat(one.held())}; }},
      {{"SET"}, [](const Quota& one) { return Cell{FormatLocalTime(one.set_wall_ms())}; }},
      {{"BY"}, [](const Quota& one) { return TextOrNone(one.set_by()); }}};
}

absl::StatusOr<ExitCode> ShowQuotas(Session& session) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::ListQuotasResponse response, client->ListQuotas());
  Listing listing;
  listing.kind = "QuotaList";
  listing.empty = "No quotas.";
  FillListing(QuotaColumns(), api::QuotaJson, response.quotas(), listing);
  // CSV has another order than JSON since its first version.
  listing.columns = {"user", "label", "slots", "held", "set_at", "set_time", "set_by"};
  for (const v1::QuotaSummary& one : response.quotas()) {
    listing.names.push_back(one.user().empty() ? one.label() : one.user());
  }
  Print(session, listing);
  return ExitCode::kOk;
}

void AddWhose(CLI::App* app, QuotaOptions& options) {
  CLI::Option* user =
      app->add_option("--user", options.user, "Of the experiments that this user submitted")
          ->option_text("NAME");
  app->add_option("--label", options.label, "Of the experiments with this label")
      ->option_text("KEY=VALUE")
      ->excludes(user);
}

}  // namespace

void AddQuotaCommands(CommandTree& tree) {
  CLI::App* group =
      tree.AddGroup("quota", "Bound the slots that a user's or a team's trials hold at once",
                    "dtctl quota set --user ann --slots 8\n"
                    "dtctl quota set --label team=vision --slots 16\n"
                    "dtctl quota list");
  auto set = std::make_shared<QuotaOptions>();
  CLI::App* app = tree.Add(group, "set", "Set or change a quota; what runs already is let run",
                           "dtctl quota set --user ann --slots 8\n"
                           "dtctl quota set --label team=vision --slots 16");
  AddWhose(app, *set);
  app->add_option("--slots", set->slots, "How many, all their trials together; 0: none start")
      ->option_text("N")
      ->required()
      ->check(CLI::Range(uint32_t{0}, static_cast<uint32_t>(limits::kWorkers)));
  tree.SetCommand(
      app, {[set](Session& session) { return Set(session, *set, false); }, kDocumentFormats});

  auto removed = std::make_shared<QuotaOptions>();
  app = tree.Add(group, "remove", "Take a quota away", "dtctl quota remove --user ann");
  AddWhose(app, *removed);
  tree.SetCommand(app, {[removed](Session& session) { return Set(session, *removed, true); },
                        kDocumentFormats});

  app = tree.Add(group, "list", "Quotas, and how much of each is used", "dtctl quota list");
  tree.SetCommand(app, {ShowQuotas, kListFormats});
}

}  // namespace dt::cli
