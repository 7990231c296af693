// mutant_test.cc: the simulator finds every planted fault (common/mutant.h) within kSeedsMax runs,
// by its checker or by an assertion of the code itself. Each hunt runs in its own process:
// `sim_mutant_test --mutant NAME` prints the finding.
#include "common/mutant.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "common/files.h"
#include "common/spawn.h"
#include "tests/sim/world.h"
#include "tests/testing/temp_folder.h"

namespace dt::sim {
namespace {

constexpr uint64_t kSeedsMax = 300;

// Seeds to begin with, for faults that no earlier seed finds: a hunt from the first one takes up to
// half a minute. After a change that moves one of them, its hunt begins anew.
constexpr std::array<std::pair<std::string_view, uint64_t>, 19> kFoundAt = {
    {{"key-without-redraw", 25},
     {"closed-is-silent", 26},
     {"quarantine-by-losses", 26},
     {"liar-left-out", 31},
     {"pause-is-a-step", 31},
     {"quota-forgotten", 31},
     {"victim-takes-back", 32},
     {"replica-of-two-steps", 33},
     {"any-host", 54},
     {"rows-before-running", 61},
     {"return-unseen", 62},
     {"rescues-for-ever", 81},
     {"for-forgotten", 93},
     {"anothers-trial", 99},
     {"hang-unseen", 101},
     {"results-before-running", 123},
     {"late-call-counts", 187},
     {"grows-past-waiting", 206},
     {"rows-of-two-ranks", 225}}};

// Seeds of the runs that find nearly all faults.
constexpr uint64_t kSeedsOfMost = 24;

// Makes every attempt on one worker fail; it is sometimes lost too, among others that progress.
void BreakOneWorker(Options& options) {
  options.faults = Faults{};
  options.faults.broken_worker = true;
  options.faults.worker_crashes = 0.2;
  options.searches = 0;
  options.scheduling = 0;
  options.elastic = 0;
  options.layers = 0;
  options.hosts = 2;
  options.slots_per_host = 2;
  options.gang_most = 1;
  options.trials_least = 8;
  options.trials_most = 12;
}

// Lets trials climb a ladder's rungs, and fail now and then, so that they come to a rung again.
void ClimbAgain(Options& options) {
  options.faults = Faults{};
  options.faults.trainer_crashes = 0.3;
  options.searches = 1;
  options.clients = 0;
  options.scheduling = 0;
  options.quotas = 0;
  options.elastic = 0;
  options.layers = 0;
  options.hosts = 2;
  options.slots_per_host = 2;
  options.gang_most = 1;
  options.safety = absl::Seconds(100);
}

// Draws a run like those of sim_test, with more faults: a planted fault shows only if its code is
// reached. In every fourth world nothing fails and cancels must be prompt; in another fourth hardly
// any trainer progresses. In every sixteenth, many experiments compete.
Options Rough(uint64_t seed) {
  Options options = Draw(seed);
  Faults& faults = options.faults;
  if (seed % 4 == 0) {
    faults = Faults{};
    options.prompt = true;
    if (seed % 16 == 12) Crowd(options);
    if (seed % 16 == 4) ShareLayers(options);
    // In every eighth, elastic gangs train undisturbed while larger ones wait.
    if (seed % 8 == 0) {
      options.elastic = 0.7;
      options.quotas = 0;
      options.searches = 0;
      options.experiments = 4;
      options.hosts = 2;
      options.slots_per_host = 2;
      options.gang_most = 4;
      options.layers = 0;
    }
    return options;
  }
  if (seed % 4 == 3) AddClients(options);
  faults.duplicates = std::max(faults.duplicates, 0.1);
  faults.stream_breaks = std::max(faults.stream_breaks, 0.1);
  faults.worker_crashes = std::max(faults.worker_crashes, 0.02);
  faults.trainer_crashes = std::max(faults.trainer_crashes, 0.02);
  faults.coordinator_kills = std::max(faults.coordinator_kills, 0.02);
  faults.clogs = std::max(faults.clogs, 0.1);
  if (seed % 4 == 1) faults.trainer_crashes = 3;
  if (seed % 8 == 2) faults.worker_crashes = 0.5;
  // Gangs make room for each other, slowly, and the coordinator is killed meanwhile.
  if (seed % 8 == 6) {
    faults.coordinator_kills = 0.2;
    faults.stuck_in_collective = 0.5;
    options.scheduling = 1;
    options.quotas = 0;
    options.elastic = 0.4;
    options.experiments = 4;
    options.hosts = 2;
    options.slots_per_host = 2;
    options.gang_most = 4;
    options.layers = 0;
    options.safety = absl::Seconds(200);
  }
  if (seed % 16 == 10) BreakOneWorker(options);
  if (seed % 16 == 9) ClimbAgain(options);
  if (seed % 16 == 1) BreakGangs(options);
  if (seed % 64 == 33) ShareReplicas(options);
  if (seed % 16 == 7) FailBetweenHosts(options);
  if (seed % 16 == 15) CutPairs(options);  // trainers live long enough to save twice
  // Workers are lost before they have reported all, and come back with their reports.
  if (seed % 8 == 3) faults.clogs = 1;
  return options;
}

bool Finds(uint64_t seed) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // an assertion may end the process
  const std::string violation = World(Rough(seed)).Run().violation;
  if (violation.empty()) return false;
  std::printf("%s\n", violation.c_str());
  return true;
}

// Returns the exit status of the child: 0 if it found something.
int Hunt(std::string_view name) {
  const auto found = std::find(kMutantNames.begin(), kMutantNames.end(), name);
  if (found == kMutantNames.end()) return 2;
  planted_mutant = static_cast<Mutant>(found - kMutantNames.begin());
  for (const auto& [fault, seed] : kFoundAt) {
    if (fault == name && Finds(seed)) return 0;
  }
  for (uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    if (Finds(seed)) return 0;
  }
  return 1;
}

class MutantTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(MutantTest, IsFound) {
  const testing::TempFolder folder;
  const std::string log = folder / "log";
  const absl::StatusOr<pid_t> pid = Spawn({.path = std::filesystem::read_symlink("/proc/self/exe"),
                                           .arguments = {"--mutant", std::string(GetParam())},
                                           .log = log});
  ASSERT_TRUE(pid.ok()) << pid.status();
  int status = 0;
  ASSERT_EQ(waitpid(*pid, &status, 0), *pid);
  const std::string said = ReadFile(log, 1 << 20).value_or("");
  const bool asserted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  EXPECT_TRUE(asserted || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      << "wait status " << status << " after " << kSeedsMax << " seeds";
  EXPECT_EQ(said.find("terminate called"), std::string::npos)
      << "an unexpected exception finds nothing: " << said;
  const size_t last = said.rfind("seed ");
  std::printf("%s", last == std::string::npos ? "" : said.substr(last).c_str());
}

std::string NameOf(const ::testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, MutantTest,
                         ::testing::ValuesIn(kMutantNames.begin() + 1, kMutantNames.end()), NameOf);

void ExpectNothing(uint64_t seed) { EXPECT_EQ(World(Rough(seed)).Run().violation, "") << seed; }

TEST(NoMutantTest, TheSameRunsFindNothingInTheUnchangedCode) {
  for (uint64_t seed = 1; seed <= kSeedsOfMost; ++seed) ExpectNothing(seed);
  for (const auto& [fault, seed] : kFoundAt) ExpectNothing(seed);
}

TEST(NoMutantLongTest, NoRunFindsAnythingInTheUnchangedCode) {
  for (uint64_t seed = 1; seed <= kSeedsMax; ++seed) ExpectNothing(seed);
}

}  // namespace
}  // namespace dt::sim

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--mutant") return dt::sim::Hunt(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
