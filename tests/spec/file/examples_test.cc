// examples_test.cc: every file of examples/ is valid, does what its comments promise, and stays the
// same when printed and read again. The manual's tables agree with the field table.
//
// DTRAIN_BLESS=1 writes the tables into docs/reference/experiment-file.md, and compares nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "spec/file/experiment_file.h"
#include "spec/spec.h"
#include "spec/warning_codes.h"

namespace dt::spec {
namespace {

namespace v1 = ::dtrain::v1;

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::filesystem::path kRoot = DTRAIN_SOURCE_DIR;

// With sanitizers a field takes 0.2 s and a file 2 s. One field takes the same way through the code
// as another, and so do files, and trials of a file.
#ifdef DTRAIN_SANITIZE
constexpr size_t kFieldsApart = 5;
constexpr size_t kFilesApart = 3;
constexpr int kTrialsResolved = 3;
#else
constexpr size_t kFieldsApart = 1;
constexpr size_t kFilesApart = 1;
constexpr int kTrialsResolved = INT_MAX;
#endif

std::vector<std::string> Resolved(const v1::ExperimentSpec& spec) {
  std::vector<std::string> out;
  const auto trials = spec::Expand(spec);
  EXPECT_TRUE(trials.ok());
  if (!trials.ok()) return out;
  const int count = std::min(static_cast<int>(trials->size()), kTrialsResolved);
  for (int i = 0; i < count; ++i) {
    const auto& assignments = (*trials)[static_cast<size_t>(i)].assignments();
    const auto resolved = spec::ResolveTrial(spec, {assignments.begin(), assignments.end()});
    EXPECT_TRUE(resolved.ok());
    if (resolved.ok()) out.push_back(spec::ToYaml(*resolved));
  }
  return out;
}

// Expects that an experiment has the same trials after it is printed, read again and resolved.
void ExpectRoundTrip(const v1::ExperimentSpec& spec) {
  const std::string printed = spec::ToYaml(spec);
  const ExperimentFile again = ReadExperimentFile(printed, "printed.yaml");
  ASSERT_TRUE(again.diagnostics.empty()) << RenderDiagnostics(again.diagnostics) << printed;
  EXPECT_EQ(Resolved(again.spec), Resolved(spec)) << printed;
  EXPECT_EQ(spec::ToYaml(again.spec), printed);
  EXPECT_EQ(again.spec.name(), spec.name());
  EXPECT_EQ(again.spec.description(), spec.description());
  EXPECT_EQ(again.spec.labels_size(), spec.labels_size());
}

TEST(ExamplesTest, EveryExampleIsValidAndSurvivesPrinting) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    if (++files % kFilesApart != 0) continue;
    const ExperimentFile file = ReadExperimentFile(Contents(entry.path()), entry.path().string());
    ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
    // dtctl knows whether a script looks for its parameters; its tests allow no exception.
    for (const Diagnostic& warning : file.warnings) {
      EXPECT_EQ(warning.code, kUnnamedParameter) << RenderDiagnostics({warning});
    }
    ExpectRoundTrip(file.spec);
    v1::ExperimentSpec frozen = file.spec;
    spec::Freeze(frozen, "cpu", 42);
    if (frozen.base().precision().compute() != "tf32") {
      EXPECT_TRUE(spec::Validate(frozen).empty()) << entry.path();
    }
    ExpectRoundTrip(frozen);
  }
  EXPECT_GE(files, 4u);
}

// Returns values that a file may write for a field; some of these are refused.
std::vector<std::string> Candidates(const Field& field) {
  if (field.type == FieldType::kChoice) return field.choices;
  if (field.type == FieldType::kFlag) return {"true", "false"};
  return {"0", "1", "2", "8", "0.5", "1000", "30s", "0s", "[0.8, 0.9]", "word"};
}

TEST(ExamplesTest, EveryFieldSurvivesPrintingSetAloneOrSwept) {
  const std::string head =
      "version: 1\nname: one\ndata: {train: a.bin, val: b.bin}\ntrain: {max_steps: 10}\n";
  size_t valid = 0;
  const std::vector<Field>& table = FieldTable();
  for (size_t i = 0; i < table.size(); i += kFieldsApart) {
    const Field& field = table[i];
    for (const std::string& value : Candidates(field)) {
      const ExperimentFile set = ReadExperimentFile(head + "parameters: {optimizer.lr: [0.1]}\n",
                                                    "set.yaml", {field.path + "=" + value});
      const ExperimentFile swept = ReadExperimentFile(
          absl::StrCat(head, "parameters: {", field.path, ": [", value, "]}\n"), "swept.yaml");
      for (const ExperimentFile* file : {&set, &swept}) {
        if (!file->diagnostics.empty()) continue;
        ++valid;
        SCOPED_TRACE(absl::StrCat(field.path, " ", value, file == &set ? " set" : " swept"));
        ExpectRoundTrip(file->spec);
      }
    }
  }
  EXPECT_GT(valid, table.size() / kFieldsApart);
}

TEST(ExamplesTest, TheQuickstartIsATwoByTwoGridOnTwoRanks) {
  const ExperimentFile file =
      ReadExperimentFile(Contents(kRoot / "examples/quickstart.yaml"), "quickstart.yaml");
  EXPECT_EQ(spec::Expand(file.spec)->size(), 4u);
  EXPECT_EQ(file.spec.base().resources().gpus(), 2);
  EXPECT_EQ(file.spec.base().data().tokenizer(), "byte");
}

TEST(ExamplesTest, TheGpt2RecipeTakesHalfAMillionTokensAStep) {
  const ExperimentFile file =
      ReadExperimentFile(Contents(kRoot / "examples/gpt2-124m.yaml"), "gpt2-124m.yaml");
  const auto trial = spec::ResolveTrial(file.spec, {});
  ASSERT_TRUE(trial.ok());
  EXPECT_EQ(trial->train().global_batch_size() * trial->train().seq_len(), 524288);
  EXPECT_EQ(trial->model().vocab_pad(), 50304);
}

TEST(ExamplesTest, RanksThatStepAloneAreSweptByTheirSyncInterval) {
  const ExperimentFile file =
      ReadExperimentFile(Contents(kRoot / "examples/local-sgd.yaml"), "local-sgd.yaml");
  const auto trials = spec::Expand(file.spec);
  ASSERT_TRUE(trials.ok());
  ASSERT_EQ(trials->size(), 6u);
  const auto& last = trials->back().assignments();
  const auto trial = spec::ResolveTrial(file.spec, {last.begin(), last.end()});
  ASSERT_TRUE(trial.ok());
  EXPECT_EQ(trial->parallel().strategy(), "local_sgd");
  EXPECT_EQ(trial->parallel().sync_every(), 64);
  EXPECT_EQ(trial->parallel().outer_lr(), 1);
  EXPECT_EQ(trial->parallel().outer_momentum(), 0.5);
}

// Returns the trials of an example, resolved.
std::vector<v1::Spec> TrialsOf(const std::string& name) {
  const ExperimentFile file = ReadExperimentFile(Contents(kRoot / "examples" / name), name);
  std::vector<v1::Spec> trials;
  const auto expanded = spec::Expand(file.spec);
  EXPECT_TRUE(expanded.ok());
  if (!expanded.ok()) return trials;
  for (const v1::ExpandedTrial& one : *expanded) {
    const auto trial =
        spec::ResolveTrial(file.spec, {one.assignments().begin(), one.assignments().end()});
    EXPECT_TRUE(trial.ok()) << trial.status();
    if (trial.ok()) trials.push_back(*trial);
  }
  return trials;
}

TEST(ExamplesTest, APipelineHasAsManyMicroBatchesAsItSaysUnderEachSchedule) {
  const std::vector<v1::Spec> trials = TrialsOf("pipeline.yaml");
  ASSERT_EQ(trials.size(), 3u);
  for (const v1::Spec& trial : trials) {
    EXPECT_EQ(trial.parallel().pipeline(), 2);
    EXPECT_EQ(trial.train().global_batch_size(), 8 * 4);
  }
}

TEST(ExamplesTest, TheBatchGrowsWithTheRanksInWeakScalingAndStaysInStrong) {
  const std::vector<v1::Spec> weak = TrialsOf("scaling-weak.yaml");
  const std::vector<v1::Spec> strong = TrialsOf("scaling-strong.yaml");
  ASSERT_EQ(weak.size(), 3u);
  ASSERT_EQ(strong.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const int ranks = 1 << i;
    EXPECT_EQ(weak[i].resources().gpus(), ranks);
    EXPECT_EQ(weak[i].train().global_batch_size(), 8 * ranks);
    EXPECT_EQ(strong[i].resources().gpus(), ranks);
    EXPECT_EQ(strong[i].train().global_batch_size(), 32);
  }
}

TEST(ExamplesTest, StrategiesDifferInNothingButTheStrategy) {
  std::vector<v1::Spec> trials = TrialsOf("strategies.yaml");
  ASSERT_EQ(trials.size(), 10u);
  std::set<std::string> strategies;
  int cut_in_layers = 0, cut_in_stages = 0;
  for (v1::Spec& trial : trials) {
    EXPECT_EQ(trial.train().global_batch_size(),
              2 * trial.resources().gpus() * trial.train().batch_size())
        << "zero2 differs from zero1 with several micro-steps alone";
    v1::Parallel& parallel = *trial.mutable_parallel();
    strategies.insert(parallel.strategy());
    cut_in_layers += parallel.tensor() > 1 ? 1 : 0;
    cut_in_stages += parallel.pipeline() > 1 ? 1 : 0;
    parallel.clear_strategy();
    parallel.clear_shard();
    parallel.clear_tensor();
    parallel.clear_pipeline();
    EXPECT_EQ(spec::ToYaml(trial), spec::ToYaml(trials.front()));
  }
  EXPECT_EQ(strategies.size(), 7u) << "each that there is";
  EXPECT_GT(cut_in_layers, 0);
  EXPECT_GT(cut_in_stages, 0);
}

TEST(ExamplesTest, TheBatchesOfTheCriticalBatchSweepReadTheSameTokens) {
  const std::vector<v1::Spec> trials = TrialsOf("critical-batch.yaml");
  ASSERT_EQ(trials.size(), 10u);
  for (const v1::Spec& trial : trials) {
    EXPECT_EQ(trial.train().max_tokens(), 600'000);
    EXPECT_EQ(trial.train().max_steps(), 0);
  }
  EXPECT_EQ(trials.back().train().global_batch_size() / trials.front().train().global_batch_size(),
            16);
}

TEST(ExamplesTest, PrintingKeepsSettingsThatDefaultsWouldReplace) {
  for (const char* text : {
           // Dependent defaults must stay open, because they follow swept fields.
           "parameters: {train.batch_size: [8, 16], model.preset: [gpt2, tiny_transformer]}\n",
           "parameters: {data.tokenizer: [byte, gpt2], resources.gpus: [1, 2, 4]}\n",
           // Half of a pair.
           "schedule: {warmup_steps: 0}\n",
           "schedule: {warmup_ratio: 0.5}\n",
           "parameters: {schedule.warmup_steps: [0, 10]}\n",
           "parameters: {train.epochs: [1, 2]}\n",
           "parameters: {train.max_steps: [1, 2]}\n",
           "train: {max_tokens: 1e9}\n",
           "train: {global_batch_tokens: 65536}\nparameters: {train.seq_len: [256, 512]}\n",
           "parameters: {train.global_batch_tokens: [65536, 131072]}\n",
           // Text that plain YAML would read as another type.
           "description: 'yes'\nlabels: {'1': 'no', a b: 'x: y # z', n: 'null'}\n",
           "description: \"lines\\n\\tand \\\"quotes\\\" \\\\ back\"\n",
           "parameters: {data.train: ['*.bin', '&x', 'true', '12', 'a,b', '[c]']}\n",
           "parameters: {checkpoint.every: [10, 60s, 5m], optimizer.betas: [[0.5, 0.75]]}\n",
           "parameters: {optimizer.lr: [1e-5, 3e-300, 0.1, 12.3456789012345678]}\n",
           "resources: {labels: {zone: a, rack.row: '7'}, accelerator: H100, priority: -3}\n",
           "resources: {env: {NCCL_DEBUG: INFO, NCCL_BUFFSIZE: 8}}\nretries: {backoff: 1m30s}\n",
       }) {
    std::string whole = "version: 1\nname: 'on'\ndata: {val: b.bin, train: a.bin}\n";
    if (std::string(text).find("data.train") != std::string::npos) {
      whole = "version: 1\nname: 'on'\ndata: {val: b.bin}\n";
    }
    const ExperimentFile file = ReadExperimentFile(whole + text, "text.yaml");
    ASSERT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
    ExpectRoundTrip(file.spec);
  }
}

void CompareOrBless(const std::filesystem::path& path, const std::string& expected) {
  if (std::getenv("DTRAIN_BLESS") != nullptr) {
    std::ofstream(path, std::ios::binary) << expected;
    return;
  }
  EXPECT_EQ(Contents(path), expected) << "run DTRAIN_BLESS=1 build/dev/tests/spec_file_test";
}

TEST(ManualTest, HoldsTheTablesOfTheFieldTable) {
  const std::filesystem::path path = kRoot / "docs/reference/experiment-file.md";
  const std::string begin =
      "<!-- fields: written by DTRAIN_BLESS=1 build/dev/tests/spec_file_test -->\n";
  const std::string end = "<!-- end of fields -->\n";
  const std::string text = Contents(path);
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::string blessed =
      text.substr(0, from + begin.size()) + "\n" + spec::ManualTable() + "\n" + text.substr(to);
  CompareOrBless(path, blessed);
}

TEST(ManualTest, TheJsonSchemaAgreesWithTheFieldTable) {
  CompareOrBless(kRoot / "docs/reference/experiment-file.schema.json", spec::JsonSchema());
}

TEST(ManualTest, TheManualsExamplesAreValid) {
  const std::string text = Contents(kRoot / "docs/reference/experiment-file.md");
  size_t files = 0;
  for (size_t at = text.find("```yaml\n"); at != std::string::npos;
       at = text.find("```yaml\n", at + 1)) {
    const size_t start = at + 8;
    const std::string block = text.substr(start, text.find("```", start) - start);
    if (block.find("version: 1") == std::string::npos) continue;  // a part of a file
    ++files;
    const ExperimentFile file = ReadExperimentFile(block, "docs/reference/experiment-file.md");
    EXPECT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  }
  EXPECT_GE(files, 2u);
}

}  // namespace
}  // namespace dt::spec
