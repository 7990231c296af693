// token_commands.cc: dtctl token create | list | revoke, and get audit.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/commands/command_tree.h"
#include "cli/view/words.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct CreateOptions {
  std::string role;
  std::string name;
  std::string expires;
};

// Reads "30d", or an absl::Duration such as "12h" or "90m".
absl::StatusOr<int64_t> ExpirySeconds(const std::string& text) {
  if (text.empty()) return 0;
  absl::string_view days = text;
  int64_t count = 0;
  if (absl::ConsumeSuffix(&days, "d") && absl::SimpleAtoi(days, &count) && count > 0 &&
      count <= 36500) {
    return count * 24 * 3600;
  }
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration >= absl::Seconds(1) &&
      duration <= absl::Hours(36500 * 24)) {
    return absl::ToInt64Seconds(duration);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--expires is '", Printable(text), "'; write 30d, 12h or 90m, up to 36500d"));
}

std::string EndText(const v1::TokenSummary& token) {
  if (!token.used_for().empty()) return absl::StrCat("used for ", token.used_for());
  return token.expires_wall_ms() == 0 ? "never" : FormatLocalTime(token.expires_wall_ms());
}

const ListColumns<v1::TokenSummary>& TokenColumns() {
  using Token = v1::TokenSummary;
  static const auto* const columns = new ListColumns<Token>{
      {{"TOKEN"},
       [](const Token& one) { return Cell{one.id()}; },
       "id",
       [](const Token& one) { return Json(one.id()); }},
      {{"ROLE"},
       [](const Token& one) { return Cell{one.role()}; },
       "role",
       [](const Token& one) { return Json(one.role()); }},
      {{"NAME"},
       [](const Token& one) { return Cell{Printable(one.name())}; },
       "name",
       [](const Token& one) { return Json(one.name()); }},
      {{"ENDS"}, [](const Token& one) { return Cell{EndText(one)}; }},
      {{"MADE"},
       [](const Token& one) { return Cell{FormatLocalTime(one.created_wall_ms())}; },
       "created_time",
       [](const Token& one) { return TimeJson(one.created_wall_ms()); }},
      {{}, {}, "expires_time", [](const Token& one) { return TimeJson(one.expires_wall_ms()); }},
      {{"BY"},
       [](const Token& one) { return Cell{Printable(one.created_by())}; },
       "created_by",
       [](const Token& one) { return Json(one.created_by()); }},
      {{}, {}, "used_for", [](const Token& one) { return Json(one.used_for()); }}};
  return *columns;
}

absl::StatusOr<ExitCode> Create(Session& session, const CreateOptions& options) {
  v1::CreateTokenRequest request;
  request.set_role(options.role);
  request.set_name(options.name);
  DT_ASSIGN_OR_RETURN(const int64_t seconds, ExpirySeconds(options.expires));
  request.set_expires_seconds(seconds);
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::CreateTokenResponse made, client->CreateToken(request));
  Json fields = ItemJson(TokenColumns(), made.summary());
  fields["token"] = made.token();
  // Only the token goes to stdout, so that '> FILE' makes a file for --token-file.
  PrintDocument(session, "Token", fields, absl::StrCat(made.token(), "\n"));
  session.Note(absl::StrCat(
      "Token ", made.summary().id(), " of ", made.summary().role(), " '", made.summary().name(),
      "' ends: ", EndText(made.summary()),
      ". It is shown this once; keep it in a file that nobody else may "
      "read, for ",
      made.summary().role() == "joiner" ? "dtworker --join-token-file." : "--token-file."));
  return ExitCode::kOk;
}

Listing ListTokens(const google::protobuf::RepeatedPtrField<v1::TokenSummary>& tokens) {
  Listing listing;
  listing.kind = "TokenList";
  listing.empty = "No tokens.";
  FillListing(TokenColumns(), tokens, listing);
  for (const v1::TokenSummary& one : tokens) listing.names.push_back(one.id());
  return listing;
}

absl::StatusOr<ExitCode> ShowTokens(Session& session) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::ListTokensResponse response, client->ListTokens());
  Print(session, ListTokens(response.tokens()));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Revoke(Session& session, const std::string& token) {
  v1::RevokeTokenRequest request;
  request.set_token(token);
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::RevokeTokenResponse response, client->RevokeToken(request));
  Print(session, ListTokens(response.revoked()));
  session.Note("Taken back: from now on they are refused, on open streams too.");
  return ExitCode::kOk;
}

// Returns a column of a text, which the table shows without control characters.
ListColumn<v1::AuditEntry> TextColumn(Column column, const char* name,
                                      const std::string& (v1::AuditEntry::*text)() const) {
  return {std::move(column),
          [text](const v1::AuditEntry& one) {
            const std::string& written = (one.*text)();
            return Cell{written.empty() ? kNone : Printable(written)};
          },
          name, [text](const v1::AuditEntry& one) { return Json((one.*text)()); }};
}

const ListColumns<v1::AuditEntry>& AuditColumns() {
  using Entry = v1::AuditEntry;
  static const auto* const columns = new ListColumns<Entry>{
      {{"TIME"},
       [](const Entry& one) { return Cell{FormatLocalTime(one.wall_ms())}; },
       "time",
       [](const Entry& one) { return TimeJson(one.wall_ms()); }},
      TextColumn({"WHO"}, "who", &Entry::who),
      TextColumn({"ROLE"}, "role", &Entry::role),
      {{"CALL"},
       [](const Entry& one) { return Cell{one.method()}; },
       "method",
       [](const Entry& one) { return Json(one.method()); }},
      TextColumn({"ABOUT"}, "subject", &Entry::subject),
      {{"OUTCOME"},
       [](const Entry& one) {
         return Cell{one.outcome(), one.outcome() == "OK" ? Style::kPlain : Style::kBad};
       },
       "outcome",
       [](const Entry& one) { return Json(one.outcome()); }},
      TextColumn({"MESSAGE", Align::kLeft, Shown::kWide}, "message", &Entry::message),
      TextColumn({"FROM", Align::kLeft, Shown::kWide}, "peer", &Entry::peer)};
  return *columns;
}

absl::StatusOr<ExitCode> Audit(Session& session, uint32_t newest) {
  v1::ListAuditRequest request;
  request.set_newest(newest);
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::ListAuditResponse response, client->ListAudit(request));
  Listing listing;
  listing.kind = "AuditList";
  listing.empty = "Nothing was done yet.";
  FillListing(AuditColumns(), response.entries(), listing);
  Print(session, listing);
  return ExitCode::kOk;
}

}  // namespace

void AddTokenCommands(CommandTree& tree) {
  CLI::App* group = tree.AddGroup("token", "Say who may do what, where dtcoord has --auth=tokens",
                                  "dtctl token create --role submitter --name ann > ann.token\n"
                                  "dtctl token list\n"
                                  "dtctl token revoke ann");
  auto create = std::make_shared<CreateOptions>();
  CLI::App* app = tree.Add(
      group, "create", "Make a token; it is shown this once",
      "dtctl token create --role submitter --name ann > ann.token\n"
      "dtctl token create --role worker --name gpu07 --expires 90d > gpu07.token\n"
      "dtctl token create --role joiner --name gpu07 > gpu07.join    # once, within 15 minutes");
  tree.SetWords(
      app->add_option("--role", create->role,
                      "admin: everything; submitter: submits, and changes their own "
                      "experiments; observer: reads; worker: a worker's own; joiner: becomes a "
                      "worker, once")
          ->option_text("ROLE")
          ->required(),
      {"admin", "submitter", "observer", "worker", "joiner"});
  app->add_option("--name", create->name,
                  "Whose it is; of a worker's: the worker, or its host, or * for any")
      ->option_text("NAME")
      ->required();
  app->add_option("--expires", create->expires,
                  "When it ends, from now: 30d, 12h [never; a joiner's: 15m]")
      ->option_text("TIME");
  tree.SetCommand(
      app, {[create](Session& session) { return Create(session, *create); }, kDocumentFormats});

  app = tree.Add(group, "list", "Tokens that were made and not taken back", "dtctl token list");
  tree.SetCommand(app, {ShowTokens, kListFormats});

  auto revoked = std::make_shared<std::string>();
  app = tree.Add(group, "revoke", "Take a token back, or all of a name",
                 "dtctl token revoke 1f2e3d4c5b6a\n"
                 "dtctl token revoke ann");
  app->add_option("TOKEN", *revoked, "Its id, or a name: every token of that name")->required();
  tree.SetCommand(
      app, {[revoked](Session& session) { return Revoke(session, *revoked); }, kListFormats});

  auto newest = std::make_shared<uint32_t>(100);
  app = tree.Add(tree.app().get_subcommand("get"), "audit",
                 "Who did what, and who was refused, the newest last",
                 "dtctl get audit\n"
                 "dtctl get audit --newest 1000 -o csv");
  app->add_option("--newest", *newest, "How many, up to 1000")
      ->option_text("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  tree.SetCommand(app,
                  {[newest](Session& session) { return Audit(session, *newest); }, kListFormats});
}

}  // namespace dt::cli
