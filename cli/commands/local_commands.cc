// local_commands.cc: dtctl up | down: a coordinator and workers of this machine.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/commands/caller.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/unsaved.h"
#include "cli/local/cluster.h"
#include "cli/remote/contexts.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/net/credentials.h"
#include "common/net/token.h"
#include "common/status.h"

namespace dt::cli {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(50);
// Deadline for a running coordinator of this machine to list its trials; more than enough.
constexpr absl::Duration kLostPatience = absl::Seconds(3);

void Complete(Session& session, ClusterOptions& options) {
  const Terminal& terminal = session.terminal();
  options.state_home =
      StateHome(terminal.environment("XDG_STATE_HOME"), terminal.environment("HOME"));
  options.programs = terminal.programs;
  options.has_gpus = HasGpus();
  options.cores = UsableCores();
}

// Makes a token for this machine's workers. Its name does not matter: they are the user's own.
absl::StatusOr<std::string> MakeWorkerToken(Session& session, const std::string& address,
                                            const std::string& admin_token_file) {
  ClientOptions options{.address = address, .tls = {}};
  DT_ASSIGN_OR_RETURN(options.token, ReadTokenFile("--auth", admin_token_file));
  DT_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      Client::Make(options, session.interrupt()));
  v1::CreateTokenRequest request;
  request.set_role("worker");
  request.set_name("*");
  DT_ASSIGN_OR_RETURN(v1::CreateTokenResponse made, client->CreateToken(request));
  return std::move(*made.mutable_token());
}

// Returns whether its process has ended or soon will. A worker that the user drains stays.
bool IsLeaving(const v1::WorkerSummary& worker) {
  return worker.state() == "lost" || (worker.state() == "draining" && worker.mark().empty());
}

// Blocks until the coordinator knows every started worker, also one that may not take trials.
// Returns the workers.
absl::StatusOr<std::vector<v1::WorkerSummary>> AwaitWorkers(Session& session,
                                                            const LocalCluster& cluster) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  const absl::Time deadline = absl::Now() + limits::kUpPatience;
  while (true) {
    DT_ASSIGN_OR_RETURN(auto known, client->ListWorkers());
    std::erase_if(known, [](const auto& one) { return IsLeaving(one); });
    const size_t connected = known.size();
    if (connected >= cluster.workers().size()) return known;
    DT_RETURN_IF_ERROR(cluster.CheckWorkers());
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(connected, " of ", Plural(cluster.workers().size(), "worker"),
                       " reported within ", absl::FormatDuration(limits::kUpPatience),
                       "; their logs are in ", Printable(cluster.folder()), "/logs"));
    }
    if (session.interrupt().Wait(kLook) == Interrupt::Woken::kByInterrupt) {
      return absl::CancelledError("interrupted");
    }
  }
}

// Prints, for each worker that gets no trials, the reason and the remedy.
void NoteHeldBack(Session& session, const std::string& context,
                  const std::vector<v1::WorkerSummary>& workers) {
  for (const v1::WorkerSummary& one : workers) {
    if (one.mark().empty()) continue;
    const std::string name = Printable(one.worker());
    session.Note(absl::StrCat("Note: ", name, " takes no trial, it is ", Printable(one.mark()),
                              "; 'dtctl ", context, "worker undrain ", name,
                              "' lets it take trials again."));
  }
}

// Saves the address as a context. Returns whether it is the default of commands.
absl::StatusOr<bool> Remember(Session& session, const std::string& name,
                              const LocalCluster& cluster) {
  bool current = false;
  DT_RETURN_IF_ERROR(
      ChangeContexts(ContextsPath(session.terminal().environment), session.Pause(),
                     [&](Contexts& contexts) -> absl::Status {
                       contexts.Put({name, cluster.addresses().grpc, {}, cluster.token_file()});
                       if (contexts.current.empty()) contexts.current = name;
                       current = contexts.current == name;
                       return absl::OkStatus();
                     }));
  return current && session.terminal().environment("DTCTL_ADDRESS").empty() &&
         session.terminal().environment("DTCTL_CONTEXT").empty();
}

// Returns the option that commands need for this cluster; "" for the default one.
std::string NameOption(const std::string& name) { return name == "local" ? "" : " --name " + name; }

// Checks that the name is not that of a coordinator that somebody else runs: `up` gives it to the
// cluster.
absl::Status CheckNameIsFree(Session& session, const std::string& name) {
  const std::string path = ContextsPath(session.terminal().environment);
  DT_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(path));
  const absl::StatusOr<Context> known = contexts.Find(name, path);
  if (!known.ok() || (known->tls.None() && IsLocalAddress(known->address))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("context '", name, "' is another coordinator, ", Printable(known->address),
                   "; choose another --name, or remove it with 'dtctl context remove ", name, "'"));
}

absl::StatusOr<ExitCode> Up(Session& session, ClusterOptions options) {
  Complete(session, options);
  DT_RETURN_IF_ERROR(CheckNameIsFree(session, options.name));
  const KeptProcesses::Pause pause = session.Pause();
  options.worker_token = [&session](const std::string& address, const std::string& admin) {
    return MakeWorkerToken(session, address, admin);
  };
  DT_ASSIGN_OR_RETURN(LocalCluster cluster, LocalCluster::Open(options, pause));
  DT_RETURN_IF_ERROR(cluster.Up(pause));
  const ClusterAddresses& addresses = cluster.addresses();
  ClientOptions reached{.address = addresses.grpc, .tls = {}, .context = options.name};
  if (!cluster.token_file().empty()) {
    DT_ASSIGN_OR_RETURN(reached.token, ReadTokenFile("--auth", cluster.token_file()));
  }
  session.options().client = std::move(reached);
  DT_ASSIGN_OR_RETURN(const std::vector<v1::WorkerSummary> workers, AwaitWorkers(session, cluster));
  DT_ASSIGN_OR_RETURN(const bool current, Remember(session, options.name, cluster));
  const std::string& folder = cluster.folder();
  if (session.format() != Format::kTable) {
    PrintDocument(session, "LocalCluster",
                  {{"name", options.name},
                   {"address", addresses.grpc},
                   {"http_address", addresses.http},
                   {"workers", cluster.workers()},
                   {"started", cluster.started()},
                   {"data", cluster.data()},
                   {"token_file", cluster.token_file()},
                   {"folder", folder}});
    return ExitCode::kOk;
  }
  session.out() << options.name
                << (cluster.started().empty() ? " was up already: " : " is up: a coordinator and ")
                << ShapeText(cluster.workers()) << "\n"
                << "  coordinator  " << addresses.grpc << "\n"
                << "  page         http://" << addresses.http << "/\n"
                << "  metrics      http://" << addresses.http << "/metrics\n"
                << "  data         " << Printable(cluster.data()) << "\n"
                << "  checkpoints  " << Printable(folder) << "/storage\n"
                << "  logs         " << Printable(folder) << "/logs\n";
  if (!cluster.token_file().empty()) {
    session.out() << "  token        " << Printable(cluster.token_file()) << "\n";
  }
  const std::string with = current ? "" : absl::StrCat("--context ", options.name, " ");
  NoteHeldBack(session, with, workers);
  for (const std::string& sentence : cluster.moved()) {
    session.Note(absl::StrCat("Note: ", sentence, "."));
  }
  session.Note(absl::StrCat("Start an experiment with 'dtctl ", with,
                            "submit FILE --follow'; end all this with 'dtctl down",
                            NameOption(options.name), "'."));
  return ExitCode::kOk;
}

struct DownOptions {
  ClusterOptions cluster;
  bool purge = false;
  bool yes = false;
};

absl::Status ForgetContext(Session& session, const std::string& name, const std::string& address) {
  const std::string path = ContextsPath(session.terminal().environment);
  return ChangeContexts(path, session.Pause(), [&](Contexts& contexts) {
    const absl::StatusOr<Context> known = contexts.Find(name, path);
    // The user may have given the name to another coordinator meanwhile.
    if (known.ok() && known->address == address) contexts.Remove(name);
    return absl::OkStatus();
  });
}

// Asks about steps that `dtctl down` would lose. Skips a coordinator that does not answer.
absl::Status AskWhatIsLost(Session& session, const LocalCluster& cluster) {
  ClientOptions reached{.address = cluster.addresses().grpc, .tls = {}};
  reached.deadline = kLostPatience;
  if (reached.address.empty()) return absl::OkStatus();
  if (!cluster.token_file().empty()) {
    const auto token = ReadTokenFile("--auth", cluster.token_file());
    if (!token.ok()) return absl::OkStatus();
    reached.token = *token;
  }
  const auto client = Client::Make(reached, session.interrupt());
  if (!client.ok()) return absl::OkStatus();
  return AskAboutAllUnsaved(session, **client, Confirmation::kAsks);
}

absl::StatusOr<ExitCode> Down(Session& session, DownOptions options) {
  ClusterOptions& wanted = options.cluster;
  Complete(session, wanted);
  DT_RETURN_IF_ERROR(CheckContextName(wanted.name));
  std::error_code code;
  const std::string folder = absl::StrCat(wanted.state_home, "/", wanted.name);
  if (!std::filesystem::exists(absl::StrCat(folder, "/lock"), code)) {
    session.Note(absl::StrCat("'", wanted.name, "' is not up: there is nothing to end."));
    return ExitCode::kOk;
  }
  if (options.purge && !options.yes) {
    DT_RETURN_IF_ERROR(session.Confirm(
        absl::StrCat("End '", wanted.name, "' and remove its journal, metrics and checkpoints in ",
                     Printable(folder), "?")));
  }
  const KeptProcesses::Pause pause = session.Pause();
  DT_ASSIGN_OR_RETURN(LocalCluster cluster, LocalCluster::Open(wanted, pause));
  if (!options.yes) DT_RETURN_IF_ERROR(AskWhatIsLost(session, cluster));
  DT_ASSIGN_OR_RETURN(const size_t ended, cluster.Down(pause));
  if (options.purge) DT_RETURN_IF_ERROR(cluster.Purge());
  DT_RETURN_IF_ERROR(ForgetContext(session, wanted.name, cluster.addresses().grpc));
  const bool left = std::filesystem::exists(cluster.folder(), code);
  session.Note(absl::StrCat(
      "'", wanted.name, "' is down: ", Plural(ended, "program"), " ended. ",
      !left ? "Nothing of it is left."
      : options.purge
          ? absl::StrCat("Your data stays in ", Printable(cluster.data()), ".")
          : absl::StrCat("Experiments and checkpoints stay in ", Printable(cluster.folder()),
                         "; 'dtctl up", NameOption(wanted.name), "' goes on there.")));
  return ExitCode::kOk;
}

}  // namespace

void AddLocalCommands(CommandTree& tree) {
  auto up = std::make_shared<ClusterOptions>();
  CLI::App* app = tree.Add(
      &tree.app(), "up", "Start a coordinator and workers on this machine, in the background",
      "dtctl up                # every GPU, or two CPU slots if there is none\n"
      "dtctl up --slots 4      # CPU slots\n"
      "dtctl up --gpus 0,1 --data-root /data");
  const auto add_name = [](CLI::App* command, std::string& name) {
    command
        ->add_option("--name", name, "The name of the cluster and its context; local unless given")
        ->option_text("NAME");
  };
  app->add_option("--slots", up->cpu_slots, "Start N CPU slots, which share the cores")
      ->option_text("N");
  app->add_option("--gpus", up->gpus, "all, or the numbers of some, such as 0,1")
      ->option_text("GPUS");
  app->add_option("--data-root", up->data_root,
                  "The folder that paths in experiment files are relative to; its own unless given")
      ->option_text("DIR");
  app->add_flag(
      "--auth", up->auth,
      "Want tokens of everybody; those of its admin and workers are made in its folder, and "
      "its context has the admin's. It stays so until 'dtctl down --purge'");
  add_name(app, up->name);
  tree.SetCommand(app, {[up](Session& session) { return Up(session, *up); }, kDocumentFormats});

  auto down = std::make_shared<DownOptions>();
  app = tree.Add(&tree.app(), "down",
                 "End what 'dtctl up' started; trainers save a checkpoint, and everything is kept",
                 "dtctl down\n"
                 "dtctl down --purge      # and remove its journal and checkpoints");
  add_name(app, down->cluster.name);
  app->add_flag("--purge", down->purge,
                "Also remove its journal, metrics, logs and checkpoints; data that you put into "
                "its data folder stays");
  app->add_flag("-y,--yes", down->yes, "Do not ask");
  tree.SetCommand(app, {[down](Session& session) { return Down(session, *down); }, {}});
}

}  // namespace dt::cli
