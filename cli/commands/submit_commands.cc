// submit_commands.cc: dtctl submit | validate | resolve: makes an experiment, or a trial, of a
// file.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands/caller.h"
#include "cli/commands/code.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/data_note.h"
#include "cli/commands/plan_text.h"
#include "cli/commands/repeated_call.h"
#include "cli/commands/script_note.h"
#include "cli/commands/search_text.h"
#include "cli/commands/strategy_text.h"
#include "cli/commands/submit.h"
#include "cli/import/import.h"
#include "cli/local/cluster.h"
#include "cli/remote/follow.h"
#include "cli/remote/page_link.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "spec/file/experiment_file.h"
#include "spec/search.h"
#include "spec/spec.h"
#include "spec/warning_codes.h"

namespace dt::cli {
namespace {

constexpr size_t kTrialsShown = 100;  // of a dry run's table; -o csv has all

struct LoadedFile {
  std::string name;
  spec::ExperimentFile content;
  bool of_other_tool = false;
};

// Returns whether 'dtctl import' reads the text. A file of ours has a version, whatever else is
// wrong with it.
bool IsOfOtherTool(const std::string& text, const spec::ExperimentFile& content) {
  const auto& errors = content.diagnostics;
  const bool no_version = std::any_of(errors.begin(), errors.end(), [](const auto& one) {
    return one.path == "version" && one.code == "missing";
  });
  return no_version && Import(text, "").ok();
}

absl::StatusOr<LoadedFile> Load(Session& session, const SubmitOptions& options) {
  LoadedFile loaded;
  loaded.name = options.file == "-" ? "stdin" : options.file;
  std::string text = options.text.value_or("");
  if (!options.text) {
    DT_ASSIGN_OR_RETURN(text, ReadText(session, options.file));
  }
  std::vector<std::string> overrides = options.assignments;
  if (options.max_concurrent.has_value()) {
    DT_RETURN_IF_ERROR(CheckAtLeast("--max-concurrent", *options.max_concurrent, 0));
    overrides.push_back(absl::StrCat("search.max_concurrent=", *options.max_concurrent));
  }
  loaded.content = spec::ReadExperimentFile(text, loaded.name, overrides);
  loaded.of_other_tool = IsOfOtherTool(text, loaded.content);
  const auto unnamed = [](const spec::Diagnostic& warning) {
    return warning.code == spec::kUnnamedParameter;
  };
  const v1::Spec& base = loaded.content.spec.base();
  auto& warnings = loaded.content.warnings;
  if (!base.code().empty() && std::any_of(warnings.begin(), warnings.end(), unnamed) &&
      ReadsParameters(CodeFolder(options.file, base), base)) {
    std::erase_if(warnings, unnamed);
  }
  return loaded;
}

// Prints the problems on stderr. `end` is the end of the line that counts them.
void Show(Session& session, const LoadedFile& loaded,
          const std::vector<spec::Diagnostic>& diagnostics, std::string_view end) {
  std::ostream& err = *session.terminal().err;
  if (session.format() == Format::kJson) {
    Json items = Json::array();
    for (const spec::Diagnostic& one : diagnostics) {
      items.push_back({{"severity", Word(one.severity)},
                       {"file", one.file},
                       {"line", one.line},
                       {"column", one.column},
                       {"path", one.path},
                       {"code", one.code},
                       {"message", one.message},
                       {"hint", one.hint}});
    }
    err << JsonText(List("DiagnosticList", items)) << std::flush;
    return;
  }
  const bool in_file = std::all_of(diagnostics.begin(), diagnostics.end(),
                                   [&](const auto& one) { return one.file == loaded.name; });
  err << spec::RenderDiagnostics(diagnostics)
      << Plural(diagnostics.size(), Word(diagnostics.front().severity));
  if (in_file) err << " in " << Printable(loaded.name);
  err << end << std::endl;
}

enum class Purpose { kSubmit, kCheck };
// Prints all errors of the file, and likely mistakes. Returns whether to continue.
bool Passes(Session& session, const LoadedFile& loaded, Purpose purpose) {
  if (const auto& errors = loaded.content.diagnostics; !errors.empty()) {
    Show(session, loaded, errors, purpose == Purpose::kSubmit ? "; nothing was submitted." : ".");
    if (session.format() == Format::kJson) return false;
    // The errors of the file would hide those of its folder of code until the next try.
    const std::string fault = CodeFault(loaded.name, loaded.content.spec);
    if (!fault.empty()) session.Note(fault);
    if (loaded.of_other_tool) {
      const std::string file = loaded.name == "stdin" ? "-" : loaded.name;
      session.Note(absl::StrCat("This looks like a file of another tool: 'dtctl import ",
                                Printable(file), " > ours.yaml' writes it as one of ours."));
    }
    return false;
  }
  const auto& warnings = loaded.content.warnings;
  if (!warnings.empty() && !session.options().quiet) Show(session, loaded, warnings, ".");
  if (const std::string note = MissingDataNote(session, loaded.content.spec); !note.empty()) {
    session.Note(note);
  }
  return true;
}

// Returns the trials of the grid as a table.
Listing Expansion(const std::vector<v1::ExpandedTrial>& expanded, size_t shown) {
  std::vector<v1::TrialSummary> trials;
  Listing listing;
  listing.kind = "ExpandedTrialList";
  for (const v1::ExpandedTrial& one : expanded) {
    v1::TrialSummary& trial = trials.emplace_back();
    trial.set_trial(one.trial());
    *trial.mutable_assignments() = one.assignments();
    Json& item = listing.items.emplace_back(ToJson(one));
    for (const char* of_the_journal :
         {"choices", "resolved", "differs", "configuration", "replicate"})
      item.erase(of_the_journal);
    listing.names.push_back(absl::StrCat(one.trial()));
  }
  const std::vector<Swept> swept = SweptParameters(trials);
  std::vector<std::string> paths;
  paths.reserve(swept.size());
  for (const Swept& one : swept) paths.push_back(one.path);
  listing.columns = WithParameters({"trial"}, paths);
  listing.table.columns = {{"TRIAL", Align::kRight}};
  for (const Swept& one : swept) listing.table.columns.push_back({one.header, Align::kRight});
  for (size_t i = 0; i < trials.size() && i < shown; ++i) {
    std::vector<Cell> row = {{absl::StrCat(trials[i].trial())}};
    for (const Swept& one : swept) row.push_back({AssignmentText(trials[i], one.path)});
    listing.table.rows.push_back(std::move(row));
  }
  return listing;
}

// Submits. The request id makes repeated submissions the same experiment.
absl::StatusOr<v1::SubmitResponse> SubmitPatiently(Session& session, Client& client,
                                                   const v1::SubmitRequest& request) {
  if (request.dry_run()) return client.Submit(request);
  return CallUntilAnswered(session, [&] { return client.Submit(request); });
}

absl::StatusOr<ExitCode> ShowDryRun(Session& session, const LoadedFile& loaded,
                                    const v1::SubmitResponse& response,
                                    const std::string& misfits) {
  DT_ASSIGN_OR_RETURN(const auto expanded, spec::Expand(loaded.content.spec));
  Print(session, Expansion(expanded, kTrialsShown));
  if (expanded.size() > kTrialsShown) {
    session.Note(absl::StrCat("and ", FormatCount(expanded.size() - kTrialsShown),
                              " more; -o csv lists all"));
  }
  const v1::ExperimentSpec& spec = loaded.content.spec;
  const SearchPlan plan = PlanOf(spec, expanded.size());
  for (const std::string& line : plan.lines) session.Note(line);
  if (spec.has_code()) session.Note(absl::StrCat("code: ", CodeText(spec.code())));
  const bool drawn = spec::SamplerOf(spec) == spec::Sampler::kRandom && spec.seeds().empty();
  if (drawn && !spec::IsExplicit(spec, "seed")) {
    session.Note("The file names no seed: a submit chooses one, and with it other values.");
  }
  session.Note(absl::StrCat(Plural(plan.trials, "trial"), " on ", Printable(response.device()),
                            "; nothing was submitted."));
  if (!response.note().empty()) session.Note(absl::StrCat("Note: ", Printable(response.note())));
  if (response.cannot_be_placed()) return ExitCode::kCannotBePlaced;
  if (misfits.empty()) return ExitCode::kOk;
  session.Note(absl::StrCat("Note: ", misfits, "."));
  return ExitCode::kCannotBePlaced;
}

// Returns the link to the experiment's page, for a user at a terminal; empty if the coordinator
// does not send it.
PageLink FindPage(const Session& session, Client& client, const SubmitOptions& options,
                  const v1::SubmitResponse& response) {
  if (options.id_only || session.format() == Format::kName) return {};
  const absl::StatusOr<v1::GetStatusResponse> status = client.GetStatus();
  if (!status.ok()) return {};
  return PageLinkOf(status->http_address(), client.address(), response.experiment());
}

void ShowSubmitted(Session& session, const SubmitOptions& options,
                   const v1::SubmitResponse& response, const PageLink& page) {
  const std::string text = absl::StrCat(
      "experiment ", response.experiment(), ": ", Plural(response.trials(), "trial"), " on ",
      Printable(response.device()), response.existed() ? " (known)" : "", "\n");
  Json fields = ToJson(response);
  for (const char* of_another_call : {"expanded", "diagnostics"}) fields.erase(of_another_call);
  fields["page"] = page.url.empty() ? Json(nullptr) : Json(page.url);
  if (options.id_only || session.format() == Format::kName) {
    session.out() << response.experiment() << std::endl;
  } else if (session.format() == Format::kCsv) {
    session.out() << CsvText(CsvColumns(fields), {fields}) << std::flush;
  } else {
    PrintDocument(session, "Submitted", fields, text);
  }
  if (!response.note().empty()) session.Note(absl::StrCat("Note: ", Printable(response.note())));
  if (session.format() == Format::kTable && !page.url.empty()) {
    session.Note(absl::StrCat("Its page is ", PageLinkText(page)));
  }
  if (!options.follow && !options.wait && !options.id_only) {
    session.Note(absl::StrCat("Watch it with 'dtctl follow ", response.experiment(),
                              "', stop it with 'dtctl cancel ", response.experiment(), "'."));
  }
}

// Returns whether `dtctl up` started the coordinator and its workers on this host.
bool IsHere(Session& session) {
  const auto& variable = session.terminal().environment;
  const absl::StatusOr<ClientOptions>& client = session.options().client;
  const std::string home = StateHome(variable("XDG_STATE_HOME"), variable("HOME"));
  return client.ok() && IsLocalCluster(home, client->context, client->address);
}

// Packs the folder that the file names, if any, and prints notes on files that workers may not
// find.
absl::StatusOr<std::optional<pack::PackedFolder>> Pack(Session& session,
                                                       const SubmitOptions& options,
                                                       LoadedFile& loaded) {
  auto packed = PackCode(options.file, loaded.content.spec);
  if (packed.ok() && packed->has_value() && !(*packed)->note.empty()) {
    session.Note(absl::StrCat("Note: ", (*packed)->note, "."));
  }
  const v1::Spec& base = loaded.content.spec.base();
  if (packed.ok()) {
    const std::string note = packed->has_value()
                                 ? MissingScriptNote(CodeFolder(options.file, base), base)
                                 : UnsentScriptNote(base);
    if (!note.empty()) session.Note(note);
  }
  const auto& variable = session.terminal().environment;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string file = ActiveInterpreter(variable(name), base);
    if (file.empty()) continue;
    if (IsHere(session)) {
      session.Note(absl::StrCat("Note: trials run with ", Printable(file),
                                ", of the environment that is active here."));
      loaded.content.spec.mutable_base()->mutable_environment()->set_python(file);
    } else {
      session.Note(InterpreterNote(variable(name), base));
    }
    break;
  }
  return packed;
}

v1::PlanRequest PlanRequestOf(const LoadedFile& loaded) {
  v1::PlanRequest request;
  *request.mutable_spec() = loaded.content.spec;
  request.set_file_name(loaded.name);
  request.set_file_text(loaded.content.effective_text);
  return request;
}

// Returns the expected cost, for a user at a terminal; "" where unknown.
std::string Forecast(Session& session, Client& client, const LoadedFile& loaded,
                     const SubmitOptions& options) {
  if (options.id_only || session.options().quiet || session.format() != Format::kTable) return "";
  const absl::StatusOr<v1::PlanResponse> plan = client.Plan(PlanRequestOf(loaded));
  if (!plan.ok()) return "";
  const std::string misfits = MisfitSentence(*plan);
  if (!misfits.empty()) return absl::StrCat("Note: ", misfits, ".");
  if (plan->configurations().empty()) return "";
  return plan->slot_seconds() < 0 ? "" : absl::StrCat("It takes ", PlanSentence(*plan), ".");
}

absl::StatusOr<ExitCode> Plan(Session& session, const SubmitOptions& options) {
  DT_ASSIGN_OR_RETURN(LoadedFile loaded, Load(session, options));
  if (!Passes(session, loaded, Purpose::kCheck)) return ExitCode::kUsage;
  DT_RETURN_IF_ERROR(Pack(session, options, loaded).status());
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const v1::PlanResponse plan, client->Plan(PlanRequestOf(loaded)));
  const std::string misfits = MisfitSentence(plan);
  if (session.format() == Format::kJson || session.format() == Format::kYaml) {
    PrintDocument(session, "Plan", ToJson(plan));
  } else {
    Print(session, PlanListing(plan));
    if (session.format() == Format::kTable) session.Print(StrategyLines(plan, session.width()));
    session.Note(absl::StrCat(Plural(plan.trials(), "trial"), " on ", Printable(plan.device()),
                              ": ", PlanSentence(plan), "; nothing was submitted."));
    for (const std::string& note : plan.notes()) session.Note(absl::StrCat("  ", Printable(note)));
    if (!misfits.empty()) session.Note(absl::StrCat("Note: ", misfits, "."));
  }
  return misfits.empty() ? ExitCode::kOk : ExitCode::kCannotBePlaced;
}

absl::StatusOr<ExitCode> Validate(Session& session, const SubmitOptions& options) {
  DT_ASSIGN_OR_RETURN(LoadedFile loaded, Load(session, options));
  if (!Passes(session, loaded, Purpose::kCheck)) return ExitCode::kUsage;
  DT_ASSIGN_OR_RETURN(const auto packed, Pack(session, options, loaded));
  DT_ASSIGN_OR_RETURN(const auto expanded, spec::Expand(loaded.content.spec));
  const SearchPlan plan = PlanOf(loaded.content.spec, expanded.size());
  Json fields = {
      {"file", loaded.name}, {"valid", true}, {"warnings", loaded.content.warnings.size()}};
  fields.update(plan.json);
  std::string text =
      absl::StrCat(Printable(loaded.name), ": valid, ", Plural(plan.trials, "trial"), "\n");
  for (const std::string& line : plan.lines) absl::StrAppend(&text, "  ", line, "\n");
  if (packed) {
    const v1::Code& code = loaded.content.spec.code();
    fields["code"] = ToJson(code);
    absl::StrAppend(&text, "  code: ", CodeText(code), "\n");
  }
  PrintDocument(session, "Validation", fields, text);
  return ExitCode::kOk;
}

// Prints a trial for `dttrain --spec` on stdout. Device and precision `auto` stay: the trainer
// chooses them.
absl::StatusOr<ExitCode> Resolve(Session& session, const SubmitOptions& options) {
  DT_ASSIGN_OR_RETURN(LoadedFile loaded, Load(session, options));
  if (!Passes(session, loaded, Purpose::kCheck)) return ExitCode::kUsage;
  v1::ExperimentSpec& spec = loaded.content.spec;
  DT_ASSIGN_OR_RETURN(const auto expanded, spec::Expand(spec));
  const auto trials = static_cast<int64_t>(expanded.size());
  if (expanded.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(loaded.name),
                     " has no trial before it runs: bayes proposes its trials as results come; "
                     "name one under include"));
  }
  if (!options.trial.has_value() && trials > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(loaded.name), " has ", Plural(expanded.size(), "trial"),
                     "; choose one with --trial N, from 1 to ", trials));
  }
  const int64_t number = options.trial.value_or(expanded.front().trial());
  const auto chosen = std::find_if(expanded.begin(), expanded.end(),
                                   [number](const auto& one) { return one.trial() == number; });
  if (chosen == expanded.end()) {
    return absl::InvalidArgumentError(absl::StrCat("--trial ", number, " is not a trial of ",
                                                   Printable(loaded.name), "; it has ",
                                                   Plural(expanded.size(), "trial")));
  }
  std::random_device source;
  spec::Freeze(spec, spec.base().resources().device(), source());
  DT_ASSIGN_OR_RETURN(
      const v1::Spec trial,
      spec::ResolveTrial(spec, {chosen->assignments().begin(), chosen->assignments().end()}));
  session.out() << spec::ToJson(trial) << std::flush;
  return ExitCode::kOk;
}

void AddFileOptions(CLI::App* app, const std::shared_ptr<SubmitOptions>& options) {
  app->add_option("FILE", options->file, "The experiment file, or - for stdin")->required();
  app->add_option("--set", options->assignments,
                  "Change a field of the file, such as train.max_steps=100; may be repeated")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

absl::StatusOr<std::string> ReadText(Session& session, const std::string& path) {
  const auto refuse = [&path](int error) {
    const std::string message =
        absl::StrCat("the file '", Printable(path), "' cannot be read: ", std::strerror(error),
                     "; check its name, or use - for "
                     "stdin");
    return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
  };
  std::ifstream file;
  errno = 0;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file.is_open()) return refuse(errno);
  std::istream& in = path == "-" ? *session.terminal().in : file;
  std::string text(limits::kExperimentFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return refuse(errno == 0 ? EIO : errno);  // a folder opens, but reading fails
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  return text;
}

absl::StatusOr<ExitCode> Submit(Session& session, const SubmitOptions& options) {
  DT_ASSIGN_OR_RETURN(LoadedFile loaded, Load(session, options));
  if (!Passes(session, loaded, Purpose::kSubmit)) return ExitCode::kUsage;
  DT_ASSIGN_OR_RETURN(const auto packed, Pack(session, options, loaded));
  v1::SubmitRequest request;
  request.set_request_id(RandomRequestId());
  *request.mutable_spec() = loaded.content.spec;
  request.set_file_name(loaded.name);
  request.set_file_text(loaded.content.effective_text);
  request.set_dry_run(options.dry_run);
  request.set_who(WhoAmI(session));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  if (packed && !options.dry_run) DT_RETURN_IF_ERROR(SendCode(session, *client, *packed));
  const std::string forecast = options.dry_run ? "" : Forecast(session, *client, loaded, options);
  const auto answer = SubmitPatiently(session, *client, request);
  if (session.interrupt().Triggered() && !options.dry_run) {
    session.Note("Interrupted; it may have been submitted: 'dtctl get experiments' tells.");
  }
  DT_ASSIGN_OR_RETURN(const auto response, answer);
  if (options.dry_run) {
    // The coordinator checked the first trial; others may need more slots, or more memory.
    const absl::StatusOr<v1::PlanResponse> plan = client->Plan(PlanRequestOf(loaded));
    return ShowDryRun(session, loaded, response, plan.ok() ? MisfitSentence(*plan) : "");
  }
  ShowSubmitted(session, options, response, FindPage(session, *client, options, response));
  if (response.trials() > 1 && !options.id_only) {
    session.Note(BestText(loaded.content.spec));
  }
  if (!forecast.empty() && !response.existed()) session.Note(forecast);
  const Selector selector{false, response.experiment()};
  if (options.follow) return FollowExperiment(session, selector);
  if (options.wait) {
    return WaitUntil(session, selector, Until::kDone, absl::InfiniteDuration());
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> PrintFile(Session& session, const SubmitOptions& options) {
  DT_ASSIGN_OR_RETURN(const LoadedFile loaded, Load(session, options));
  session.out() << loaded.content.effective_text << std::flush;
  return Passes(session, loaded, Purpose::kCheck) ? ExitCode::kOk : ExitCode::kUsage;
}

void AddSubmitCommands(CommandTree& tree) {
  auto submit = std::make_shared<SubmitOptions>();
  CLI::App* app =
      tree.Add(&tree.app(), "submit", "Check an experiment file and start it",
               "dtctl submit grid.yaml --follow\n"
               "dtctl submit grid.yaml --set train.max_steps=100 --max-concurrent 2\n"
               "dtctl submit grid.yaml -n          # what it would run, nothing started\n"
               "id=$(dtctl submit grid.yaml --id-only) && dtctl wait $id");
  AddFileOptions(app, submit);
  app->add_option("--max-concurrent", submit->max_concurrent,
                  "At most this many trials at once; 0: as many as fit")
      ->option_text("N");
  app->add_flag("-n,--dry-run", submit->dry_run,
                "Let the coordinator check it and print the trials; exit 7 when nothing connected "
                "could run them");
  CLI::Option* follow =
      app->add_flag("--follow", submit->follow, "Watch it until it ends, then show its results");
  CLI::Option* wait =
      app->add_flag("--wait", submit->wait, "Wait in silence until it ends, as 'dtctl wait' does");
  CLI::Option* id_only =
      app->add_flag("--id-only", submit->id_only, "Print nothing but the experiment's number");
  follow->excludes(wait)->excludes(id_only);
  tree.SetCommand(app,
                  {[submit](Session& session) { return Submit(session, *submit); },
                   {Format::kTable, Format::kJson, Format::kYaml, Format::kCsv, Format::kName}});

  auto validate = std::make_shared<SubmitOptions>();
  app = tree.Add(&tree.app(), "validate", "Check an experiment file without a coordinator",
                 "dtctl validate grid.yaml\n"
                 "dtctl validate grid.yaml -o json   # errors with file, line and column");
  AddFileOptions(app, validate);
  tree.SetCommand(app, {[validate](Session& session) { return Validate(session, *validate); },
                        kDocumentFormats});

  auto plan = std::make_shared<SubmitOptions>();
  app = tree.Add(&tree.app(), "plan",
                 "Say what an experiment would take: memory, time, and whether it fits",
                 "dtctl plan grid.yaml\n"
                 "dtctl plan grid.yaml --set train.batch_size=64   # exit 7 when it will not fit");
  AddFileOptions(app, plan);
  tree.SetCommand(app, {[plan](Session& session) { return Plan(session, *plan); },
                        {Format::kTable, Format::kJson, Format::kYaml, Format::kCsv}});

  auto resolve = std::make_shared<SubmitOptions>();
  app =
      tree.Add(&tree.app(), "resolve", "Write one trial of a file as JSON, every default filled in",
               "dtctl resolve one.yaml > trial.json && dttrain --spec trial.json\n"
               "dtctl resolve grid.yaml --trial 3");
  AddFileOptions(app, resolve);
  app->add_option("--trial", resolve->trial, "Which trial, of a file with several")
      ->option_text("N");
  tree.SetCommand(app, {[resolve](Session& session) { return Resolve(session, *resolve); },
                        {Format::kTable, Format::kJson}});
}

}  // namespace dt::cli
