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
     "'dtctl get experiments'"},
    {"", "status queue htop",
     "'dtctl top' shows all that runs and waits, 'dtctl get experiments' the experiments"},
    {"", "show info inspect view details print", "'dtctl describe EXP', or EXP/TRIAL"},
    {"", "run launch create sbatch srun qsub bsub sweep enqueue apply optimize tune train",
     "'dtctl submit FILE'"},
    {"", "start", "'dtctl submit FILE' starts an experiment, 'dtctl up' a coordinator and workers"},
    {"", "nodes node hosts host agents agent slots slot gpus gpu sinfo machines workers",
     "'dtctl get workers'"},
    {"", "trials trial runs", "'dtctl get trials EXP'"},
    {"", "checkpoints ckpt models", "'dtctl get checkpoints EXP'"},
    {"", "configurations configs", "'dtctl get configurations EXP'"},
    {"", "tail log output stdout stderr", "'dtctl logs EXP/TRIAL -f'"},
    {"", "watch monitor attach", "'dtctl follow EXP'"},
    {"", "rm remove del purge forget", "'dtctl delete EXP'"},
    {"", "restart rerun redo requeue", "'dtctl retry EXP'"},
    {"", "continue unpause activate unsuspend release", "'dtctl resume EXP'"},
    {"", "suspend hold freeze", "'dtctl pause EXP'"},
    {"", "edit update modify patch scontrol nice priority",
     "'dtctl set EXP priority=N', or another of its changes"},
    {"", "results result leaderboard", "'dtctl best EXP', or 'dtctl report EXP -o report.html'"},
    {"", "check lint verify", "'dtctl validate FILE'"},
    {"", "estimate dryrun dry-run", "'dtctl plan FILE'"},
    {"", "chart graph draw curves", "'dtctl plot EXP'"},
    {"", "export",
     "'dtctl checkpoint export', 'dtctl report EXP -o results.csv' or 'dtctl metrics EXP'"},
    {"", "tokenize preprocess", "'dtctl data tokenize'"},
    {"", "fetch download",
     "'dtctl data fetch' for a data set, 'dtctl code' for an experiment's code"},
    {"", "drain cordon", "'dtctl worker drain WORKER'"},
    {"", "undrain uncordon", "'dtctl worker undrain WORKER'"},
    {"", "tag tags", "'dtctl label EXP KEY=VALUE'"},
    {"", "comment annotate", "'dtctl note EXP TEXT'"},
    {"", "mv", "'dtctl rename EXP NAME'"},
    {"", "shutdown destroy", "'dtctl down'"},
    {"", "serve server cluster daemon", "'dtctl up'"},
    {"", "config profile connect use contexts", "'dtctl context list', or one of its commands"},
    {"", "login", "'dtctl context add NAME' keeps an address, and a token with --token-file"},
    {"", "users user tokens", "'dtctl token list'"},
    {"", "quotas", "'dtctl quota list'"},
    {"", "history sacct events audit",
     "'dtctl get audit' says who did what, 'dtctl explain EXP/TRIAL' what happened to a "
     "trial"},
    {"", "why", "'dtctl explain EXP/TRIAL'"},
    {"", "help man", "'dtctl --help', or --help after a command"},
    {"",
     "exec ssh shell cp scp init gc prune scale resize notebook tensorboard artifact "
     "artifacts model project workspace",
     ""},
    {"get", "jobs job exps exp sweeps studies", "'dtctl get experiments'"},
    {"get", "runs run", "'dtctl get trials EXP'"},
    {"get", "nodes node agents agent hosts host slots slot gpus gpu machines",
     "'dtctl get workers'"},
    {"get", "models model ckpt", "'dtctl get checkpoints EXP'"},
    {"get", "configs params parameters hparams",
     "'dtctl get configurations EXP', or 'dtctl describe EXP'"},
    {"get", "logs log", "'dtctl logs EXP/TRIAL'"},
    {"get", "metrics metric", "'dtctl metrics EXP'"},
    {"get", "best results", "'dtctl best EXP'"},
    {"get", "status queue", "'dtctl top'"},
    {"get", "tokens users", "'dtctl token list'"},
    {"get", "quotas", "'dtctl quota list'"},
    {"get", "contexts", "'dtctl context list'"},
    {"get", "code", "'dtctl code EXP'"},
    {"get", "events history", "'dtctl get audit'"},
    {"worker", "list ls get status show", "'dtctl get workers'"},
    {"worker", "cordon disable pause stop remove delete", "'dtctl worker drain WORKER'"},
    {"worker", "uncordon enable resume start", "'dtctl worker undrain WORKER'"},
    {"context", "ls get show", "'dtctl context list'"},
    {"context", "switch set select", "'dtctl context use NAME'"},
    {"context", "rm delete del", "'dtctl context remove NAME'"},
    {"context", "create new", "'dtctl context add NAME'"},
    {"token", "ls get show", "'dtctl token list'"},
    {"token", "rm delete del remove", "'dtctl token revoke'"},
    {"token", "new add make issue", "'dtctl token create'"},
    {"quota", "ls get show", "'dtctl quota list'"},
    {"quota", "rm delete del", "'dtctl quota remove'"},
    {"quota", "create new add update", "'dtctl quota set'"},
    {"data", "download get pull", "'dtctl data fetch'"},
    {"data", "prepare preprocess encode", "'dtctl data tokenize'"},
    {"checkpoint", "list ls get", "'dtctl get checkpoints EXP'"},
    {"checkpoint", "convert download save", "'dtctl checkpoint export'"},
    {"checkpoint", "delete rm", ""},
    {"ca", "create new", "'dtctl ca init'"},
    {"ca", "sign cert add", "'dtctl ca issue NAME'"},
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
