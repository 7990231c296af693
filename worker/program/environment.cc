// environment.cc: reads the specification's JSON, and writes the variables.
#include "worker/program/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/address.h"
#include "common/limits.h"
#include "common/program_variables.h"
#include "common/sha256.h"
#include "common/text.h"
#include "worker/program/flight_recorder.h"

namespace dt::program {
namespace {

using nlohmann::json;

// execve(2): a variable, including its name and the final zero, has at most 32 pages.
constexpr size_t kVariableBytes = 128 << 10;
constexpr size_t kAnnouncedBytes = 1000;

// Protobuf's JSON has 64-bit integers as text.
int64_t Whole(const json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t number = 0;
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

// Returns the content of a v1::Value.
json PlainValue(const json& value) {
  if (const auto found = value.find("integer"); found != value.end()) return Whole(*found);
  for (const char* kind : {"number", "text", "flag"}) {
    if (const auto found = value.find(kind); found != value.end()) return *found;
  }
  const auto numbers = value.find("numbers");
  return numbers == value.end() ? json() : numbers->value("values", json::array());
}

std::string Line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The launcher whose rank variables are set.
enum class Ranks { kNone, kTorchrun, kMpi };
Ranks RanksOf(const frames::Start& start, const ProgramSpec& spec) {
  if (spec.launcher == "none") return Ranks::kNone;
  if (spec.launcher == "mpi") return Ranks::kMpi;
  // Many scripts that find a RANK assume several ranks.
  const bool where_several = spec.launcher == "auto" || spec.launcher == "accelerate";
  return where_several && start.world_size == 1 ? Ranks::kNone : Ranks::kTorchrun;
}

void SetStore(const LaunchContext& context, Environment& to) {
  const HostAndPort store = SplitHostAndPort(context.store_address);
  to["MASTER_ADDR"] = store.host;
  to["MASTER_PORT"] = store.port;
}

void SetTorchrun(const frames::Start& start, Environment& to) {
  to["RANK"] = absl::StrCat(start.rank);
  to["WORLD_SIZE"] = absl::StrCat(start.world_size);
  to["LOCAL_RANK"] = absl::StrCat(start.local_rank);
  to["LOCAL_WORLD_SIZE"] = absl::StrCat(start.local_world_size);
  to["GROUP_RANK"] = absl::StrCat(start.node_rank);
  to["NODE_RANK"] = absl::StrCat(start.node_rank);
  to["TORCHELASTIC_RUN_ID"] =
      absl::StrCat("dtrain-", start.experiment, "-", start.trial, "-", start.attempt);
  to["TORCHELASTIC_RESTART_COUNT"] = absl::StrCat(start.attempt > 0 ? start.attempt - 1 : 0);
}

// Sets the variables of Open MPI's mpirun, and the few of MPICH's and Intel's that scripts read.
void SetMpi(const frames::Start& start, Environment& to) {
  const std::string rank = absl::StrCat(start.rank), size = absl::StrCat(start.world_size);
  const std::string local_rank = absl::StrCat(start.local_rank);
  const std::string local_size = absl::StrCat(start.local_world_size);
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) to[name] = rank;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_UNIVERSE_SIZE", "PMI_SIZE"})
    to[name] = size;
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK", "MPI_LOCALRANKID"}) {
    to[name] = local_rank;
  }
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) to[name] = local_size;
}

void SetRanks(const frames::Start& start, const ProgramSpec& spec, const LaunchContext& context,
              Environment& to) {
  // The worker's own launcher speaks of the worker.
  std::erase_if(to, [](const auto& variable) {
    return IsVariableOfWorker(variable.first) && variable.first != "CUDA_VISIBLE_DEVICES";
  });
  switch (RanksOf(start, spec)) {
    case Ranks::kNone:
      break;
    case Ranks::kTorchrun:
      SetTorchrun(start, to);
      SetStore(context, to);
      break;
    case Ranks::kMpi:
      SetMpi(start, to);
      SetStore(context, to);
      break;
  }
  if (spec.launcher != "accelerate") return;
  // As accelerate launch passes on what nobody chose otherwise.
  to.emplace("ACCELERATE_USE_CPU", context.cuda ? "false" : "true");
  to.emplace("ACCELERATE_MIXED_PRECISION", "no");
  to.emplace("ACCELERATE_DYNAMO_BACKEND", "no");
}

// "torchrun's variables, rank 0 of 2"
std::string RanksText(const frames::Start& start, const ProgramSpec& spec) {
  const std::string rank = absl::StrCat("rank ", start.rank, " of ", start.world_size);
  const std::string of = spec.launcher == "accelerate" ? "accelerate's" : "torchrun's";
  switch (RanksOf(start, spec)) {
    case Ranks::kNone:
      return absl::StrCat("no launcher's variables",
                          start.world_size > 1 ? "; DTRAIN_RANK says it is " + rank : "");
    case Ranks::kTorchrun:
      return absl::StrCat(of, " variables, ", rank);
    case Ranks::kMpi:
      return absl::StrCat("mpirun's variables, ", rank);
  }
  return "";
}

// The gang's devices on this host, so that cuda:$LOCAL_RANK is this rank's; none on a CPU slot.
void SetDevices(const frames::Start& start, const LaunchContext& context, Environment& to) {
  if (!context.cuda) {
    to["CUDA_VISIBLE_DEVICES"] = "";
    return;
  }
  const bool known = !start.local_devices.empty() &&
                     std::none_of(start.local_devices.begin(), start.local_devices.end(),
                                  [](const std::string& device) { return device.empty(); });
  if (known) to["CUDA_VISIBLE_DEVICES"] = absl::StrJoin(start.local_devices, ",");
}

void SetTrial(const frames::Start& start, const ProgramSpec& spec, const LaunchContext& context,
              Environment& to) {
  to["DTRAIN_RANK"] = absl::StrCat(start.rank);
  to["DTRAIN_WORLD_SIZE"] = absl::StrCat(start.world_size);
  to["DTRAIN_LOCAL_RANK"] = absl::StrCat(start.local_rank);
  to["DTRAIN_EXPERIMENT"] = absl::StrCat(start.experiment);
  to["DTRAIN_NAME"] = CleanText(start.experiment_name, limits::kNameBytes);
  to["DTRAIN_TRIAL"] = absl::StrCat(start.trial);
  to["DTRAIN_ATTEMPT"] = absl::StrCat(start.attempt);
  to["DTRAIN_PARAMETERS"] = Line(spec.parameters);
  to["DTRAIN_SEED"] = absl::StrCat(spec.seed);
  to["DTRAIN_STEPS"] = absl::StrCat(spec.steps);
  to["DTRAIN_RUNGS"] = absl::StrJoin(context.rungs, ",");
  to["DTRAIN_METRIC"] = start.metric;
  to["DTRAIN_REPORT"] = context.report;
  to["DTRAIN_REPORT_FD"] = absl::StrCat(kReportFd);
  to["DTRAIN_CHECKPOINT_DIR"] = context.checkpoint_folder;
  if (context.resume_folder.empty()) return;
  to["DTRAIN_RESUME"] = context.resume_folder;
  to["DTRAIN_RESUME_STEP"] = absl::StrCat(context.resume_step);
}

// Reads resources.env. Variables that the worker itself sets are refused at submit, and are never
// taken from here.
absl::StatusOr<Environment> EnvironmentIn(const json& resources) {
  Environment environment;
  for (const json& variable : resources.value("env", json::array())) {
    const auto name = variable.value("key", std::string());
    auto value = variable.value("value", std::string());
    if (name.empty() || name.find('=') != std::string::npos ||
        (name + value).find('\0') != std::string::npos) {
      return ConfigError(absl::StrCat("resources.env: the system takes no variable '",
                                      Printable(name),
                                      "'; a name is not empty and has no '=', and no text has a "
                                      "zero byte"));
    }
    if (!IsVariableOfWorker(name)) environment[name] = std::move(value);
  }
  return environment;
}

}  // namespace

absl::StatusOr<ProgramSpec> SpecOf(const json& spec) {
  ProgramSpec program;
  // nlohmann throws where a field is of another kind; a coordinator that sends one errs.
  try {
    program.command = spec.value("command", program.command);
    program.run = spec.value("run", "");
    program.workdir = spec.value("workdir", "");
    program.launcher = spec.value("launcher", "");
    const json timeout = spec.value("timeout", json::object());
    program.timeouts = TimeoutsOf({.report = timeout.value("report", ""),
                                   .start_seconds = timeout.value("start_seconds", 0.0),
                                   .total_seconds = timeout.value("total_seconds", 0.0),
                                   .stop_seconds = timeout.value("stop_seconds", 0.0)});
    program.steps = static_cast<uint64_t>(std::max<int64_t>(0, Whole(spec.value("steps", json()))));
    program.seed = Whole(spec.value("seed", json()));
    const json own = spec.value("environment", json::object());
    program.own.wanted.python = own.value("python", "");
    program.own.wanted.uv = own.value("uv", program.own.wanted.uv);
    program.own.wanted.index = own.value("index", "");
    program.own.wanted.image = own.value("image", "");
    program.own.wanted.conda = own.value("conda", "");
    program.own.wanted.modules = own.value("module", program.own.wanted.modules);
    const json metrics = spec.value("metrics", json::object());
    program.metric_patterns = metrics.value("pattern", program.metric_patterns);
    program.metric_paths = {metrics.value("file", ""), metrics.value("tensorboard", "")};
    program.parameters = json::object();
    for (const json& assignment : spec.value("values", json::array())) {
      program.parameters[assignment.at("path").get<std::string>()] =
          PlainValue(assignment.at("value"));
    }
    program.parameters["seed"] = program.seed;
    DT_ASSIGN_OR_RETURN(program.environment,
                        EnvironmentIn(spec.value("resources", json::object())));
    const json checkpoint = spec.value("checkpoint", json::object());
    program.keep_latest = static_cast<int32_t>(Whole(checkpoint.value("keep_latest", json(1))));
    program.keep_best = static_cast<int32_t>(Whole(checkpoint.value("keep_best", json(1))));
    program.kept = checkpoint.value("folder", "");
  } catch (const json::exception& error) {
    return ConfigError(absl::StrCat("the specification is malformed: ", error.what()));
  }
  if (program.command.empty() == program.run.empty()) {
    return ConfigError("the specification must have one of command and run");
  }
  if (!program.command.empty() && program.command[0].empty()) {
    return ConfigError("command: its first word is empty; name the program to start");
  }
  return program;
}

std::string HashOf(const frames::Start& start, const ProgramSpec& spec) {
  if (start.share_every > 0) {
    return Sha256Hex(Line({{"population", start.experiment}, {"seed", spec.seed}}));
  }
  return Sha256Hex(Line({{"command", spec.command}, {"run", spec.run}, {"seed", spec.seed}}));
}

std::vector<std::string> WordsOf(const ProgramSpec& spec) {
  if (spec.run.empty()) return spec.command;
  return {"/bin/sh", "-c", spec.run};
}

std::string WordLookedUp(const ProgramSpec& spec) {
  if (spec.run.empty()) {
    const bool path = spec.command.empty() || spec.command[0].find('/') != std::string::npos;
    return path ? "" : spec.command[0];
  }
  constexpr std::string_view kSpace = " \t\n";
  // A shell does these itself; a file of the same name may be there too.
  constexpr std::string_view kOfShells[] = {
      ".",       "[",        "alias",   "bg",     "break", "builtin", "case",  "cd",
      "command", "continue", "declare", "do",     "done",  "echo",    "elif",  "else",
      "esac",    "eval",     "exit",    "export", "false", "fc",      "fg",    "fi",
      "for",     "function", "getopts", "hash",   "help",  "history", "if",    "in",
      "jobs",    "kill",     "let",     "local",  "popd",  "printf",  "pushd", "pwd",
      "read",    "readonly", "return",  "select", "set",   "shift",   "shopt", "source",
      "test",    "then",     "time",    "times",  "trap",  "true",    "type",  "typeset",
      "ulimit",  "umask",    "unalias", "unset",  "until", "wait",    "while"};
  std::string_view rest = spec.run;
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(kSpace));
    rest.remove_prefix(word.size());
    const size_t equals = word.find('=');
    const bool sets = equals != std::string_view::npos && word.substr(0, equals) != "PATH";
    // A value in quotes may go on behind a space.
    if ((sets && word.find_first_of("'\"`$\\;&|<>") == std::string_view::npos) || word == "exec") {
      continue;
    }
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
    });
    const bool own =
        std::find(std::begin(kOfShells), std::end(kOfShells), word) != std::end(kOfShells);
    return plain && !own ? std::string(word) : "";
  }
}

std::string Announcement(const frames::Start& start, const ProgramSpec& spec,
                         const std::string& folder, const std::string& found) {
  std::string what = spec.run.empty() ? absl::StrJoin(spec.command, " ") : spec.run;
  const bool cut = what.size() > kAnnouncedBytes;
  what = Printable(CleanText(what, kAnnouncedBytes));
  return absl::StrCat(
      "runs ", what, cut ? "…" : "", " in ", folder, ", submitted by ",
      start.submitted_by.empty() ? "nobody who gave a name" : Printable(start.submitted_by), "; ",
      RanksText(start, spec),
      found.empty() ? "" : absl::StrCat("; ", WordLookedUp(spec), " is ", Printable(found)));
}

Environment Permitted(const Environment& all, const std::vector<std::string>& more) {
  constexpr std::string_view kNames[] = {"PATH",           "HOME",
                                         "USER",           "LOGNAME",
                                         "SHELL",          "LANG",
                                         "LANGUAGE",       "TZ",
                                         "TMPDIR",         "LD_LIBRARY_PATH",
                                         "VIRTUAL_ENV",    "HF_HOME",
                                         "XDG_CACHE_HOME", "http_proxy",
                                         "https_proxy",    "no_proxy",
                                         "HTTP_PROXY",     "HTTPS_PROXY",
                                         "NO_PROXY",       "SSL_CERT_FILE",
                                         "SSL_CERT_DIR",   "REQUESTS_CA_BUNDLE"};
  constexpr std::string_view kBeginnings[] = {"LC_",     "PYTHON", "CONDA_", "CUDA_",
                                              "NVIDIA_", "NCCL_",  "GLOO_",  "TORCH_",
                                              "OMP_",    "MKL_",   "KMP_",   "OPENBLAS_"};
  Environment permitted;
  for (const auto& variable : all) {
    const std::string& name = variable.first;
    const bool listed =
        std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
        std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                    [&name](std::string_view begin) { return name.starts_with(begin); });
    const bool added = std::find(more.begin(), more.end(), name) != more.end();
    if ((listed || added) && !name.starts_with("DTRAIN_TOKEN")) permitted.insert(variable);
  }
  return permitted;
}

Environment PermittedInContainer(const Environment& all, const std::vector<std::string>& more) {
  constexpr std::string_view kNames[] = {"LANG",       "LANGUAGE",    "TZ",
                                         "http_proxy", "https_proxy", "no_proxy",
                                         "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"};
  constexpr std::string_view kBeginnings[] = {"LC_",  "NCCL_", "GLOO_",    "OMP_",
                                              "MKL_", "KMP_",  "OPENBLAS_"};
  Environment permitted = Permitted(all, more);
  std::erase_if(permitted, [&](const auto& variable) {
    const std::string& name = variable.first;
    const bool listed =
        std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
        std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                    [&name](std::string_view begin) { return name.starts_with(begin); });
    return !listed && std::find(more.begin(), more.end(), name) == more.end();
  });
  return permitted;
}

Environment PermittedToTools(environments::Kind kind, const Environment& all,
                             const std::vector<std::string>& more) {
  std::vector<std::string_view> beginnings = {
      "NETRC", "ALL_PROXY", "all_proxy", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME"};
  switch (kind) {
    case environments::Kind::kUv:
      beginnings.insert(beginnings.end(), {"UV_"});
      break;
    case environments::Kind::kImage:
      beginnings.insert(beginnings.end(),
                        {"CONTAINERS_", "DOCKER_", "APPTAINER_", "SINGULARITY_",
                         "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"});
      break;
    case environments::Kind::kConda:
      beginnings.insert(beginnings.end(), {"MAMBA_"});
      break;
    case environments::Kind::kModule:
      beginnings.insert(beginnings.end(), {"MODULE", "LMOD_", "__LMOD_", "__MODULES_",
                                           "_ModuleTable", "LOADEDMODULES", "_LMFILES_"});
  }
  Environment permitted = Permitted(all, more);
  for (const auto& variable : all) {
    const std::string& name = variable.first;
    if (std::any_of(beginnings.begin(), beginnings.end(),
                    [&name](std::string_view begin) { return name.starts_with(begin); })) {
      permitted.insert(variable);
    }
  }
  return permitted;
}

bool EnvironmentSpec::IsMade() const {
  const bool version = !wanted.python.empty() && wanted.python.find('/') == std::string::npos;
  return !wanted.uv.empty() || version || KindOf(wanted) != environments::Kind::kUv;
}

Environment Activated(Environment inherited, const std::string& folder) {
  std::erase_if(inherited, [](const auto& variable) {
    return variable.first == "PYTHONHOME" || variable.first == "PYTHONPATH" ||
           variable.first == "VIRTUAL_ENV" || variable.first.starts_with("CONDA_");
  });
  std::string& path = inherited["PATH"];
  path = absl::StrCat(folder, "/bin", path.empty() ? "" : ":", path);
  if (access((folder + "/conda-meta").c_str(), F_OK) == 0) {
    inherited["CONDA_PREFIX"] = folder;
  } else if (access((folder + "/pyvenv.cfg").c_str(), F_OK) == 0) {
    inherited["VIRTUAL_ENV"] = folder;
  }
  return inherited;
}

absl::StatusOr<std::string> FolderOfPython(const std::string& python) {
  const std::filesystem::path file(python);
  if (file.is_absolute() && access(python.c_str(), X_OK) == 0) {
    return file.parent_path().parent_path().string();
  }
  return ConfigError(absl::StrCat("environment.python: there is no program ",
                                  Printable(CleanText(python, limits::kCodePathBytes)),
                                  " on this host; name one that each worker has, or a version such "
                                  "as 3.11"));
}

absl::StatusOr<Environment> EnvironmentOf(const frames::Start& start, const ProgramSpec& spec,
                                          const LaunchContext& context, Environment environment) {
  for (const auto& [name, value] : spec.environment) environment[name] = value;
  SetRanks(start, spec, context, environment);
  SetDevices(start, context, environment);
  SetTrial(start, spec, context, environment);
  environment.emplace("OMP_NUM_THREADS", absl::StrCat(context.threads));
  // Python then prints its stack where it crashes, and where a hang is ended (stacks.h).
  environment.emplace("PYTHONFAULTHANDLER", "1");
  // Without storage there is no folder in which a record would outlive the attempt.
  if (context.cuda && start.world_size > 1 && !context.checkpoint_folder.empty()) {
    SetFlightRecorder(
        {.record = context.checkpoint_folder + "/nccl-rank-", .pipe = context.report + "-nccl-"},
        environment);
  }
  // Behind what the person set, so that an installed client, which offers the same, comes first.
  std::string& path = environment["PYTHONPATH"];
  absl::StrAppend(&path, path.empty() ? "" : ":", context.module_folder);
  for (const auto& [name, value] : environment) {
    if (name.size() + value.size() + 2 <= kVariableBytes) continue;
    return ConfigError(absl::StrCat("the variable ", name, " has ", value.size(),
                                    " bytes, and the system takes ", kVariableBytes,
                                    "; shorten the parameters or resources.env"));
  }
  return environment;
}

absl::StatusOr<std::string> FolderOf(const ProgramSpec& spec, const std::string& code_folder,
                                     const std::string& scratch) {
  const std::string& home = code_folder.empty() ? scratch : code_folder;
  if (spec.workdir.empty()) return home;
  if (spec.workdir.front() == '/') return spec.workdir;
  if (!code_folder.empty()) return absl::StrCat(code_folder, "/", spec.workdir);
  return ConfigError(absl::StrCat("workdir '", spec.workdir,
                                  "' is relative and the experiment brings no code; give an "
                                  "absolute path, or `code`"));
}

}  // namespace dt::program
