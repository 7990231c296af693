#include "cli/commands/command_tree.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace dt::cli {
namespace {

constexpr char kAbout[] =
    "dtctl submits experiments to a dtrain coordinator and shows their results.";
constexpr char kRootExamples[] =
    "dtctl up                            # a coordinator and workers on this machine\n"
    "dtctl submit grid.yaml --follow     # start a grid and watch it\n"
    "dtctl get experiments               # all of them\n"
    "dtctl top                           # all that runs and waits now\n"
    "dtctl explain last/3                # why trial 3 of the newest experiment waits\n"
    "dtctl best last                     # its best trial and checkpoint\n"
    "dtctl metrics last > metrics.csv    # every logged step";

}  // namespace

CommandTree::CommandTree() : app_(kAbout, "dtctl") {
  app_.formatter_fn(
      [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return HelpText(app); });
  app_.set_help_flag("-h,--help", "What this command does, with examples");
  app_.set_version_flag("--version", absl::StrCat("dtctl ", kVersion, " (", kRevision, ")"),
                        "The version of this program");
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.add_option(
          "-o,--output", shared_.output,
          "How to print: table, wide, json, yaml, csv, jsonl or name; not every command has "
          "all [DTCTL_OUTPUT]")
      ->option_text("FORMAT");
  app_.add_option(
          "--address", shared_.address,
          "The coordinator: host:port or unix:/path, or several with commas between them, of which "
          "one leads; else that of the current context, else 127.0.0.1:7600 [DTCTL_ADDRESS]")
      ->option_text("ADDR");
  app_.add_option("--context", shared_.context,
                  "The coordinator, by a name of 'dtctl context list' [DTCTL_CONTEXT]")
      ->option_text("CONTEXT");
  app_.add_option("--tls-ca", shared_.tls.ca,
                  "The authority to trust; give all three --tls flags or none [DTCTL_TLS_CA]")
      ->option_text("FILE");
  app_.add_option("--tls-cert", shared_.tls.cert, "This user's certificate [DTCTL_TLS_CERT]")
      ->option_text("FILE");
  app_.add_option("--tls-key", shared_.tls.key, "Its private key [DTCTL_TLS_KEY]")
      ->option_text("FILE");
  app_.add_option("--token-file", shared_.token_file,
                  "The file that holds this user's token, where the coordinator has --auth=tokens "
                  "[DTRAIN_TOKEN_FILE]")
      ->option_text("FILE");
  app_.add_flag("--no-color", shared_.no_color, "No colour; so does NO_COLOR in the environment");
  app_.add_flag("--no-input", shared_.no_input, "Never ask; fail where a question would be asked");
  app_.add_flag("-q,--quiet", shared_.quiet, "Print data and errors, no hints");
  app_.footer(kRootExamples);
}

CLI::App* CommandTree::AddGroup(const std::string& name, const std::string& help,
                                const std::string& examples) {
  CLI::App* group = Add(&app_, name, help, examples);
  group->require_subcommand(1);
  return group;
}

CLI::App* CommandTree::Add(CLI::App* parent, const std::string& name, const std::string& help,
                           const std::string& examples) {
  CLI::App* app = parent->add_subcommand(name, help);
  app->footer(examples);
  return app;
}

const Command* CommandTree::Find(const CLI::App* app) const {
  const auto found = commands_.find(app);
  return found == commands_.end() ? nullptr : &found->second;
}

std::vector<std::string> CommandTree::WordsOf(const CLI::Option* option) const {
  const auto found = words_.find(option);
  return found == words_.end() ? std::vector<std::string>() : found->second;
}

std::string CommandLine(const CLI::App* app) {
  if (app->get_parent() == nullptr) return "dtctl";
  return absl::StrCat(CommandLine(app->get_parent()), " ", app->get_name());
}

std::unique_ptr<CommandTree> MakeCommandTree() {
  auto tree = std::make_unique<CommandTree>();
  AddSubmitCommands(*tree);
  AddSweepCommand(*tree);
  AddImportCommand(*tree);
  AddBenchCommands(*tree);
  AddFollowCommands(*tree);
  AddTopCommand(*tree);
  AddGetCommands(*tree);
  AddDescribeCommands(*tree);
  AddStreamCommands(*tree);
  AddBestCommand(*tree);
  AddImportanceCommand(*tree);
  AddReportCommands(*tree);
  AddControlCommands(*tree);
  AddEditCommands(*tree);
  AddWorkerCommands(*tree);
  AddQuotaCommands(*tree);
  AddTokenCommands(*tree);
  AddCaCommands(*tree);
  AddCodeCommand(*tree);
  AddCheckpointCommands(*tree);
  AddDataCommands(*tree);
  AddLocalCommands(*tree);
  AddContextCommands(*tree);
  AddVersionCommands(*tree);
  return tree;
}

}  // namespace dt::cli
