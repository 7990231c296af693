// flags.cc: the flags, with one line of --help each.
#include "worker/flags.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/version.h"

namespace dt {
namespace {

constexpr char kFooter[] =
    "Examples:\n"
    "  dtworker --slot cuda:0 --data-root /data --storage /checkpoints\n"
    "  dtworker --slot cpu:0 --slots 2 --memory-limit 2G\n"
    "  dtworker --all --coordinator train.example:7600 --data-address 10.0.0.7 \\\n"
    "           --tls-ca ca.crt --tls-cert worker.crt --tls-key worker.key\n"
    "SIGTERM saves a checkpoint, reports and exits; a second one exits at once.";

}  // namespace

void DescribeFlags(CLI::App& app, Flags& flags) {
  app.footer(kFooter);
  // A unit appends the flags of its environment file, so the last value counts.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", absl::StrCat("dtworker ", kVersion, " (", kRevision, ")"));
  app.add_option(
         "--coordinator", flags.coordinator,
         "host:port or unix:/path of dtcoord; several with commas between them, of which one "
         "leads")
      ->capture_default_str();
  app.add_option("--name", flags.name, "This worker's name, one alive at a time [host/slot]");
  auto* slot = app.add_option("--slot", flags.slot, "cpu, cpu:K or cuda:N")->capture_default_str();
  auto* all = app.add_flag("--all", flags.all, "One worker per GPU of this host")->excludes(slot);
  app.add_option("--data-root", flags.data_root, "Folder that relative data paths start at")
      ->capture_default_str();
  app.add_option("--storage", flags.storage,
                 "Folder for checkpoints; share it among hosts to resume anywhere "
                 "[storage in the state folder]");
  app.add_option("--data-address", flags.data_address,
                 "Host or IP where the other ranks of a gang reach this worker")
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "CPU threads of the trainer [cores / slots]")
      ->check(CLI::Range(1, 4096));
  app.add_option("--slots", flags.slots,
                 "CPU slots that share this host; each cpu:K is pinned to its own cores "
                 "[1; with cuda:N: its GPUs]")
      ->check(CLI::Range(1, 4096));
  app.add_option("--memory-limit", flags.memory_limit,
                 "Memory of a trainer on a CPU slot, as 512M or 2G [none]");
  app.add_option("--disconnect-grace", flags.disconnect_grace,
                 "How long training goes on without a coordinator, as 90s or 30m")
      ->capture_default_str();
  app.add_option("--idle-timeout", flags.idle_timeout,
                 "End after so long without a trial, as 90s or 30m [never]")
      ->excludes(all);
  app.add_option("--trainer", flags.trainer, "Path of dttrain [beside this program]");
  app.add_option("--programs", flags.programs,
                 "allow or deny: whether experiments may bring a program of their own, which runs "
                 "here as this worker's user [allow with a coordinator on this host, else deny]")
      ->check(CLI::IsMember({"allow", "deny"}));
  app.add_option("--program-env", flags.program_variables,
                 "Name of a variable of this process that programs may see too, besides those that "
                 "docs/guides/programs.md lists; repeatable")
      ->take_all();
  app.add_option(
      "--environments", flags.environments,
      "Kinds of environments that this worker makes for programs, with commas between them: uv, "
      "image, conda, module, or none [those whose tool is found]");
  app.add_option("--environments-dir", flags.environments_folder,
                 "Folder for environments and their caches, which this user's workers on this host "
                 "share [environments in the cache folder]");
  app.add_option("--environments-size", flags.environments_size,
                 "Bytes of all of them; the least recently used go first, none while a trial uses "
                 "it")
      ->capture_default_str();
  app.add_option("--container-folder", flags.container_folders,
                 "Folder of this host that programs of environment.image may read, besides "
                 "--data-root; repeatable")
      ->take_all();
  app.add_option("--program-runner", flags.program_runner,
                 "Path of dtprogram [beside this program]");
  app.add_option("--run-dir", flags.run_dir,
                 "Folder for slot locks and unpacked code, this user's alone [$RUNTIME_DIRECTORY, "
                 "$XDG_RUNTIME_DIR/dtrain, else one in the temporary folder]");
  app.add_option("--alive-file", flags.alive_file,
                 absl::StrCat("File to touch each ", absl::FormatDuration(limits::kAlivePeriod),
                              " while the loop turns, with and without a coordinator, for health "
                              "checks; with --all the loop that starts the workers [none]"));
  app.add_option("--label", flags.labels, "k=v, shown with the worker; repeatable")->take_all();
  app.add_option("--tls-ca", flags.tls.ca, "Certificate authority, PEM");
  app.add_option("--tls-cert", flags.tls.cert, "This worker's certificate, PEM");
  app.add_option("--tls-key", flags.tls.key, "Its key, PEM");
  app.add_option(
      "--token-file", flags.token_file,
      "File that holds this worker's token, where dtcoord has --auth=tokens; read at each "
      "connection [$DTRAIN_TOKEN_FILE]");
  app.add_option(
      "--join-token-file", flags.join_token_file,
      "File that holds a joiner's token: while there is no --token-file, it is exchanged, "
      "once, for a lasting token, which goes there");
  app.add_option("--exit-with-parent", flags.exit_with_parent, "")->group("");
}

}  // namespace dt
