#include "cli/commands/other_commands.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace dt::cli {
namespace {

// Words of Slurm, Kubernetes, Docker, W&B, Ray, Determined and the shell; "": there is nothing of
// the kind here, and no command that only looks like it is proposed.
constexpr OtherCommand kOtherCommands[] = {
    {"", "stop kill abort terminate scancel qdel bkill interrupt end",
     "'dtctl cancel EXP' stops an experiment or a trial for good, 'dtctl pause EXP' until "
     "'dtctl resume'"},
    {"",
     "list ls ps jobs job experiments experiment exps exp sweeps studies squeue qstat "
     "bjobs",
     "use 'dtctl get experiments'"},
    {"", "status queue htop",
     "'dtctl top' shows all that runs and waits, 'dtctl get experiments' the experiments"},
    {"", "show info inspect view details print", "use 'dtctl describe EXP', or EXP/TRIAL"},
    {"", "run launch create sbatch srun qsub bsub sweep enqueue apply optimize tune train",
     "use 'dtctl submit FILE'"},
    {"", "start", "'dtctl submit FILE' starts an experiment, 'dtctl up' a coordinator and workers"},
    {"", "nodes node hosts host agents agent slots slot gpus gpu sinfo machines workers",
     "use 'dtctl get workers'"},
    {"", "trials trial runs", "use 'dtctl get trials EXP'"},
    {"", "checkpoints ckpt models", "use 'dtctl get checkpoints EXP'"},
    {"", "configurations configs", "use 'dtctl get configurations EXP'"},
    {"", "tail log output stdout stderr", "use 'dtctl logs EXP/TRIAL -f'"},
    {"", "watch monitor attach", "use 'dtctl follow EXP'"},
    {"", "rm remove del purge forget", "use 'dtctl delete EXP'"},
    {"", "restart rerun redo requeue", "use 'dtctl retry EXP'"},
    {"", "continue unpause activate unsuspend release", "use 'dtctl resume EXP'"},
    {"", "suspend hold freeze", "use 'dtctl pause EXP'"},
    {"", "edit update modify patch scontrol nice priority",
     "use 'dtctl set EXP priority=N', or another of its changes"},
    {"", "results result leaderboard",
     "use 'dtctl best EXP', or 'dtctl report EXP -o report.html'"},
    {"", "check lint verify", "use 'dtctl validate FILE'"},
    {"", "estimate dryrun dry-run", "use 'dtctl plan FILE'"},
    {"", "chart graph draw curves", "use 'dtctl plot EXP'"},
    {"", "export",
     "use 'dtctl checkpoint export', 'dtctl report EXP -o results.csv' or 'dtctl metrics "
     "EXP'"},
    {"", "tokenize preprocess", "use 'dtctl data tokenize'"},
    {"", "fetch download",
     "use 'dtctl data fetch' for a data set, 'dtctl code' for an experiment's code"},
    {"", "drain cordon", "use 'dtctl worker drain WORKER'"},
    {"", "undrain uncordon", "use 'dtctl worker undrain WORKER'"},
    {"", "tag tags", "use 'dtctl label EXP KEY=VALUE'"},
    {"", "comment annotate", "use 'dtctl note EXP TEXT'"},
    {"", "mv", "use 'dtctl rename EXP NAME'"},
    {"", "shutdown destroy", "use 'dtctl down'"},
    {"", "serve server cluster daemon", "use 'dtctl up'"},
    {"", "config profile connect use contexts", "use 'dtctl context list', or one of its commands"},
    {"", "login", "'dtctl context add NAME' keeps an address, and a token with --token-file"},
    {"", "users user tokens", "use 'dtctl token list'"},
    {"", "quotas", "use 'dtctl quota list'"},
    {"", "history sacct events audit",
     "'dtctl get audit' says who did what, 'dtctl explain EXP/TRIAL' what happened to a "
     "trial"},
    {"", "why", "use 'dtctl explain EXP/TRIAL'"},
    {"", "help man", "use 'dtctl --help', or --help after a command"},
    {"",
     "exec ssh shell cp scp init gc prune scale resize notebook tensorboard artifact "
     "artifacts model project workspace",
     ""},
    {"get", "jobs job exps exp sweeps studies", "use 'dtctl get experiments'"},
    {"get", "runs run", "use 'dtctl get trials EXP'"},
    {"get", "nodes node agents agent hosts host slots slot gpus gpu machines",
     "use 'dtctl get workers'"},
    {"get", "models model ckpt", "use 'dtctl get checkpoints EXP'"},
    {"get", "configs params parameters hparams",
     "use 'dtctl get configurations EXP', or 'dtctl describe EXP'"},
    {"get", "logs log", "use 'dtctl logs EXP/TRIAL'"},
    {"get", "metrics metric", "use 'dtctl metrics EXP'"},
    {"get", "best results", "use 'dtctl best EXP'"},
    {"get", "status queue", "use 'dtctl top'"},
    {"get", "tokens users", "use 'dtctl token list'"},
    {"get", "quotas", "use 'dtctl quota list'"},
    {"get", "contexts", "use 'dtctl context list'"},
    {"get", "code", "use 'dtctl code EXP'"},
    {"get", "events history", "use 'dtctl get audit'"},
    {"worker", "list ls get status show", "use 'dtctl get workers'"},
    {"worker", "cordon disable pause stop remove delete", "use 'dtctl worker drain WORKER'"},
    {"worker", "uncordon enable resume start", "use 'dtctl worker undrain WORKER'"},
    {"context", "ls get show", "use 'dtctl context list'"},
    {"context", "switch set select", "use 'dtctl context use NAME'"},
    {"context", "rm delete del", "use 'dtctl context remove NAME'"},
    {"context", "create new", "use 'dtctl context add NAME'"},
    {"token", "ls get show", "use 'dtctl token list'"},
    {"token", "rm delete del remove", "use 'dtctl token revoke'"},
    {"token", "new add make issue", "use 'dtctl token create'"},
    {"quota", "ls get show", "use 'dtctl quota list'"},
    {"quota", "rm delete del", "use 'dtctl quota remove'"},
    {"quota", "create new add update", "use 'dtctl quota set'"},
    {"data", "download get pull", "use 'dtctl data fetch'"},
    {"data", "prepare preprocess encode", "use 'dtctl data tokenize'"},
    {"checkpoint", "list ls get", "use 'dtctl get checkpoints EXP'"},
    {"checkpoint", "convert download save", "use 'dtctl checkpoint export'"},
    {"checkpoint", "delete rm", ""},
    {"ca", "create new", "use 'dtctl ca init'"},
    {"ca", "sign cert add", "use 'dtctl ca issue NAME'"},
};

}  // namespace

std::span<const OtherCommand> OtherCommands() { return kOtherCommands; }

std::optional<std::string> OtherCommandHint(std::string_view group, std::string_view word) {
  const std::string small = absl::AsciiStrToLower(absl::string_view(word.data(), word.size()));
  for (const OtherCommand& one : kOtherCommands) {
    if (one.group != group) continue;
    const absl::string_view words(one.words.data(), one.words.size());
    for (const absl::string_view theirs : absl::StrSplit(words, ' ')) {
      if (theirs == small) return std::string(one.ours);
    }
  }
  return std::nullopt;
}

}  // namespace dt::cli
