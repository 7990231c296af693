#include "bench/search/optuna.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

extern char** environ;

namespace dt::bench {
namespace {

constexpr char kPeer[] = DTRAIN_SOURCE_DIR "/bench/search/optuna_peer.py";

const char* KindOf(const spec::Dimension& dimension) {
  switch (dimension.kind) {
    case spec::DimensionKind::kReal:
      return dimension.log ? "log" : "float";
    case spec::DimensionKind::kStepped:
      return dimension.log ? "logint" : dimension.step < 1 ? "step" : "int";
    case spec::DimensionKind::kOrdered:
    case spec::DimensionKind::kChoice:
      return "list";
  }
  return "";
}

std::string WordOf(const spec::Dimension& dimension) {
  const double high =
      dimension.values.empty() ? dimension.high : static_cast<double>(dimension.values.size());
  std::string word = absl::StrFormat("%s:%s:%.17g:%.17g:%.17g", dimension.path, KindOf(dimension),
                                     dimension.low, high, dimension.step);
  for (const spec::Needed& needed : dimension.needs) {
    absl::StrAppend(&word, ":", needed.dimension, "=", absl::StrJoin(needed.any_of, "|"));
  }
  return word;
}

}  // namespace

std::unique_ptr<Optuna> Optuna::Start(const std::string& python) {
  int down[2];
  int up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) return nullptr;
  if (::pipe2(up, O_CLOEXEC) != 0) return nullptr;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  std::string program = python;
  std::string plain = "-B";
  std::string script = kPeer;
  char* arguments[] = {program.data(), plain.data(), script.data(), nullptr};
  std::unique_ptr<Optuna> peer(new Optuna());
  const int failed =
      ::posix_spawnp(&peer->process_, python.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(down[0]);
  ::close(up[1]);
  peer->to_ = ::fdopen(down[1], "w");
  peer->from_ = ::fdopen(up[0], "r");
  if (failed != 0) {
    peer->process_ = -1;
    return nullptr;
  }
  std::signal(SIGPIPE, SIG_IGN);  // a failing read of the answer shows that the peer died
  char version[32] = "";
  if (std::fgets(version, sizeof(version), peer->from_) == nullptr) return nullptr;
  peer->version_ = std::string(version, std::strcspn(version, "\n"));
  return peer;
}

Optuna::~Optuna() {
  if (to_ != nullptr) std::fclose(to_);  // the peer reads the end of its input and exits
  if (from_ != nullptr) std::fclose(from_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

void Optuna::Say(const std::string& line) {
  std::fputs((line + "\n").c_str(), to_);
  std::fflush(to_);
}

std::string Optuna::Answer() {
  char line[1024];
  if (std::fgets(line, sizeof(line), from_) != nullptr) return line;
  std::fprintf(stderr, "%s ended before it answered; its message is above\n", kPeer);
  std::exit(1);
}

void Optuna::Begin(const std::string& sampler, const spec::Space& space, uint64_t seed) {
  std::string line = absl::StrCat("study ", sampler, " ", seed);
  for (const spec::Dimension& each : space.dimensions) {
    absl::StrAppend(&line, " ", WordOf(each));
  }
  Say(line);
}

spec::Point Optuna::Ask(uint32_t configuration, size_t dimensions) {
  Say(absl::StrCat("ask ", configuration));
  std::istringstream words(Answer());
  spec::Point at(dimensions);
  for (double& value : at) {
    std::string word;
    words >> word;
    value = word == "none" ? spec::kInactive : std::strtod(word.c_str(), nullptr);
  }
  return at;
}

Chooser Optuna::Study(const std::string& sampler, const Problem& problem, uint64_t seed) {
  Begin(sampler, problem.space, seed);
  return {
      .ask =
          [this, &problem](uint32_t configuration) {
            return Ask(configuration, problem.space.dimensions.size());
          },
      .tell = [this](uint32_t configuration,
                     double cost) { Say(absl::StrFormat("tell %d %.17g", configuration, cost)); }};
}

GoalChooser Optuna::GoalStudy(GoalProblem problem, uint64_t seed) {
  Say(absl::StrCat("goals ", problem == GoalProblem::kTwoObjectives ? 2 : 1));
  Begin("mtpe", GoalSpace(), seed);
  const size_t dimensions = GoalSpace().dimensions.size();
  return {
      .ask = [this, dimensions](uint32_t configuration) { return Ask(configuration, dimensions); },
      .tell =
          [this](uint32_t configuration, const search::Outcome& outcome) {
            std::string line = absl::StrCat("tell ", configuration);
            for (const double cost : outcome.costs) absl::StrAppendFormat(&line, " %.17g", cost);
            Say(absl::StrFormat("%s %.17g", line, outcome.violation));
          }};
}

}  // namespace dt::bench
