#include "cli/commands/other_commands.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace dt::cli {
namespace {

// Words of Slurm, Kubernetes, Docker, W&B, Ray, Determined and the shell. "" means that dtrain has
// nothing similar, so that no command with a similar name is proposed.
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
    {"", "run launch create sbatch srun qsub bsub enqueue apply optimize tune train",
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
    {"", "man manual usage", "use 'dtctl --help', or --help after a command"},
    {"", "compare diff", "use 'dtctl report EXP EXP -o compare.html', or Compare on the page"},
    {"", "dashboard ui gui web page browser url tensorboard",
     "'dtctl up' and 'dtctl submit' print the page's address; open it in a browser"},
    {"", "visualize visualise plots", "use 'dtctl plot EXP', or 'dtctl report EXP -o report.html'"},
    {"", "study", "use 'dtctl get experiments'"},
    {"", "create-study new optimise", "use 'dtctl submit FILE'"},
    {"", "ping health doctor", "use 'dtctl version', which asks the coordinator too"},
    {"", "nvidia-smi", "use 'dtctl get workers', or 'dtctl top'"},
    {"", "whoami", "use 'dtctl context list'"},
    {"", "clone duplicate fork", "submit its file again: 'dtctl submit FILE --set PATH=VALUE'"},
    {"", "python python3 torchrun accelerate bash sh mpirun deepspeed",
     "a script runs by an experiment file with command: [python3, train.py]; use 'dtctl submit "
     "FILE'"},
    {"", "kubectl ray wandb optuna det determined slurm docker hydra katib nni mlflow hq",
     "it is a command of another tool; 'dtctl --help' lists those of dtctl"},
    {"",
     "exec ssh shell cp scp init gc prune scale resize notebook artifact "
     "artifacts model project workspace",
     ""},
    {"get", "jobs job exps exp sweeps studies", "use 'dtctl get experiments'"},
    {"get", "runs run pods pod", "use 'dtctl get trials EXP'"},
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

struct OtherOption {
  std::string_view theirs;
  std::string_view ours;  // the option that the command must have for the hint
  std::string_view hint;
};
constexpr OtherOption kOtherOptions[] = {
    {"--json", "--output", "write -o json"},
    {"--yaml", "--output", "write -o yaml"},
    {"--csv", "--output", "write -o csv"},
    {"--wide", "--output", "write -o wide"},
    {"--format", "--output", "write -o FORMAT"},
    {"-w", "--watch", "write --watch"},
    {"-w", "--wait", "write --wait, or --follow"},
    {"--watch", "--follow", "write --follow"},
    {"-f", "--set", "the file needs no option: write it by itself"},
    {"--file", "--set", "the file needs no option: write it by itself"},
    {"--filename", "--set", "the file needs no option: write it by itself"},
    {"--config", "--set", "the file needs no option: write it by itself"},
    {"-n", "--tail", "write --tail N"},
    {"--lines", "--tail", "write --tail N"},
    {"--limit", "--tail", "write --tail N"},
    {"-f", "--yes", "write --yes"},
    {"--force", "--yes", "write --yes"},
    {"-a", "--archived", "write --archived"},
    {"-A", "--archived", "write --archived"},
    {"--all", "--archived", "write --archived"},
    {"--trials", "--max-trials", "write --max-trials N: how many to try in all"},
    {"--steps", "--max-steps", "write --max-steps N"},
    {"--server", "--address", "write --address HOST:PORT"},
    {"--host", "--address", "write --address HOST:PORT"},
};

}  // namespace

std::optional<std::string> OtherOptionHint(std::string_view option,
                                           std::span<const std::string> known) {
  for (const OtherOption& one : kOtherOptions) {
    if (one.theirs != option) continue;
    if (std::find(known.begin(), known.end(), one.ours) != known.end()) {
      return std::string(one.hint);
    }
  }
  return std::nullopt;
}

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
