// experiment_file_test.cc: files that are read, and every reason to refuse a file, with its place.
#include "spec/file/experiment_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

// A valid beginning of four lines; a case's own text starts at line 5.
constexpr const char* kGridHead = "version: 1\nname: grid\ndata: {train: 'a*.bin', val: b.bin}\n\n";

std::string Places(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& one : diagnostics) {
    out += (out.empty() ? "" : " ") + std::to_string(one.line) + ":" + std::to_string(one.column) +
           ":" + one.code;
  }
  return out;
}

ExperimentFile ReadGrid(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return ReadExperimentFile(text, "grid.yaml", overrides);
}

ExperimentFile ReadValidGrid(const std::string& text,
                             const std::vector<std::string>& overrides = {}) {
  ExperimentFile file = ReadGrid(text, overrides);
  EXPECT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
  return file;
}

// --- Files that are read ---
TEST(ExperimentFileTest, TheSmallestFileHasVersionNameAndData) {
  const ExperimentFile file = ReadValidGrid(kGridHead);
  EXPECT_EQ(file.spec.name(), "grid");
  EXPECT_EQ(file.spec.base().data().train(), "a*.bin");
  EXPECT_EQ(file.spec.base().train().batch_size(), 8);
  EXPECT_EQ(file.effective_text, kGridHead);
}

TEST(ExperimentFileTest, EverySectionIsRead) {
  const ExperimentFile file = ReadValidGrid(std::string(kGridHead) + R"(description: |
  two
  lines
labels: {team: nlp, priority: 3}
seed: 1337
search: {method: grid, metric: loss, goal: minimize, max_concurrent: 2}
parameters:
  train.batch_size: [8, 16]
  train.seq_len: {values: [512, 1024]}
  optimizer.lr: {min: 1.0e-4, max: 1e-3, scale: log, count: 3}
  optimizer.betas: [[0.9, 0.95], [0.9, 0.999]]
  data.shuffle: {value: true}
exclude:
  - {train.batch_size: 16, train.seq_len: 1024}
resources: {gpus: 2, env: {NCCL_DEBUG: INFO}, labels: {zone: a}, accelerator: h100,
            single_node: true, priority: -5, max_gpus_total: 8}
model:
  preset: tiny_transformer
  n_layer: 2
train: {max_steps: 20, grad_clip: 0.5}
checkpoint: {every: 5m}
retries: {max: 2, backoff: 500ms}
)");
  const auto& spec = file.spec;
  EXPECT_EQ(spec.description(), "two\nlines\n");
  EXPECT_EQ(spec.labels(1).value(), "3");
  EXPECT_EQ(spec.base().seed(), 1337);
  EXPECT_EQ(spec.base().resources().env(0).value(), "INFO");
  EXPECT_EQ(spec.base().resources().labels(0).value(), "a");
  EXPECT_EQ(spec.base().resources().accelerator(), "h100");
  EXPECT_EQ(spec.base().resources().priority(), -5);
  EXPECT_EQ(spec.base().checkpoint().every().seconds(), 300);
  EXPECT_EQ(spec.base().retries().backoff_seconds(), 0.5);
  ASSERT_EQ(spec.parameters_size(), 5);
  EXPECT_EQ(spec.parameters(2).values_size(), 3);
  EXPECT_EQ(spec.parameters(2).values(0).number(), 1e-4);
  EXPECT_EQ(spec.parameters(2).values(1).number(), 0.000316228);
  EXPECT_EQ(spec.parameters(2).values(2).number(), 1e-3);
  EXPECT_EQ(spec.parameters(3).values(1).numbers().values(1), 0.999);
  EXPECT_EQ(spec::Expand(spec)->size(), 2u * 2 * 3 * 2 * 1 - 1 * 3 * 2 * 1);
  EXPECT_TRUE(spec::IsExplicit(spec, "model.n_layer"));
  EXPECT_FALSE(spec::IsExplicit(spec, "train.batch_size"));
}

TEST(ExperimentFileTest, RangesOfIntegersAreIntegralAndLinearByDefault) {
  const auto file = ReadValidGrid(std::string(kGridHead) +
                                  "parameters: {model.n_layer: {min: 2, max: 8, count: 4}}\n");
  std::string values;
  for (const auto& value : file.spec.parameters(0).values()) {
    values += spec::ValueText(value) + " ";
  }
  EXPECT_EQ(values, "2 4 6 8 ");
}

TEST(ExperimentFileTest, OrdinaryYamlIsAccepted) {
  for (const char* text : {
           "---\nversion: 1\nname: x\ndata: {train: a, val: b}\n",
           "\xef\xbb\xbfversion: 1\nname: x\ndata: {train: a, val: b}\n",
           "version: 1\r\nname: x\r\ndata:\r\n  train: a\r\n  val: b\r\n",
           "# comment\nversion: 1 # one\nname: x\ndata: {\"train\": \"a\", 'val': 'b'}",
           "{version: 1, name: x, data: {train: a, val: b}}",
           "version: 1\nname: Köln\ndata: {train: a, val: b}\n",
           "version: 1\nname: 1.5\ndata: {train: a, val: yes}\n",
       }) {
    ReadValidGrid(text);
  }
}

// --- Files that are refused ---
struct Wrong {
  const char* what;
  std::string text;  // after kGridHead; or a complete file, if it begins with '!'
  const char* found;
};

std::vector<Wrong> WrongFiles() {
  const std::string deep(100, '[');
  std::string wide = "labels:\n";
  for (int i = 0; i < 50100; ++i) wide += "  k" + std::to_string(i) + ": v\n";
  return {
      // YAML itself
      {"empty", "!", "1:1:empty"},
      {"only_comment", "!# nothing\n", "1:1:empty"},
      {"scalar", "!hello\n", "1:1:wrong_type"},
      {"list", "!- a\n- b\n", "1:1:wrong_type"},
      {"tab", "train:\n\tbatch_size: 8\n", "6:1:syntax"},
      {"unclosed_flow", "train: {batch_size: 8\n", "6:1:syntax"},
      {"braces_in_list", "command: [python3, t.py, --lr={lr}]\n", "5:31:syntax"},
      {"unclosed_quote", "description: \"abc\n", "5:14:syntax"},
      {"unclosed_single_quote", "description: 'it''s\n", "5:14:syntax"},
      {"bad_indent", "train:\n  seq_len: 64\n batch_size: 8\n", "7:2:syntax"},
      {"two_documents", "--- \nversion: 1\n", "1:1:several_documents"},
      {"anchor", "train: &a {batch_size: 8}\n", "5:8:anchor"},
      {"alias", "train: {batch_size: &n 8}\neval: {batches: *n}\n", "5:21:anchor 6:17:alias"},
      {"unknown_alias", "train: *nothing\n", "5:8:syntax"},
      {"cycle", "description: &a [*a]\n", "5:14:anchor 5:14:wrong_type 5:18:alias"},
      {"merge", "train:\n  <<: {batch_size: 8}\n", "6:3:merge"},
      {"tag", "train: {batch_size: !!int 8}\n", "5:21:tag"},
      {"own_tag", "train: !big {batch_size: 8}\n", "5:8:tag"},
      {"list_as_key", "? [a, b]\n: 1\n", "5:3:syntax"},
      {"null_key", "~: 1\n", "5:1:syntax"},
      {"deep", "description: " + deep + "\n", "5:46:too_deep"},
      {"many", wide, "49999:11:too_many_nodes"},
      {"large", "!" + std::string((1 << 20) + 1, '#'), "1:1:too_large"},
      {"twice_minutes", "checkpoint: {every: 5m5m}\n", "5:21:wrong_type"},
      {"latin1", "description: K\xf6ln\n", "5:15:bad_text"},
      {"utf16", std::string("!\xff\xfev\0", 5), "1:1:bad_text"},
      {"byte_order_mark", "description: a\xef\xbb\xbf\n", "5:15:bad_text"},
      {"nul", std::string("description: a\0b\n", 17), "5:15:bad_text"},
      {"escape_byte", "description: a\x1b[2J\n", "5:15:bad_text"},
      {"escape_written", "description: \"a\\e[2J\"\n", "5:14:bad_text"},
      // Keys
      {"unknown_section", "trian: {batch_size: 8}\n", "5:1:unknown_key"},
      {"unknown_field", "train: {batchsize: 8}\n", "5:9:unknown_key"},
      {"unknown_search", "search: {methode: grid}\n", "5:10:unknown_key"},
      {"dotted_key", "train.batch_size: 8\n", "5:1:unknown_key"},
      {"dotted_in_section", "train: {train.batch_size: 8}\n", "5:9:unknown_key"},
      {"empty_key", "train: {'': 8}\n", "5:9:unknown_key"},
      {"duplicate_section", "train: {seq_len: 64}\ntrain: {seq_len: 128}\n", "6:1:duplicate_key"},
      {"duplicate_field", "train:\n  seq_len: 64\n  seq_len: 64\n", "7:3:duplicate_key"},
      {"duplicate_parameter", "parameters:\n  seed: [1]\n  seed: [2]\n", "7:3:duplicate_key"},
      {"duplicate_label", "labels: {a: b, a: c}\n", "5:16:duplicate_key"},
      {"reserved_resource", "resources: {share: 2}\n", "5:13:not_available"},
      {"reserved_section", "logging: {mlflow: {run: a}}\n", "5:11:not_available"},
      {"reserved_field", "checkpoint: {async: true}\n", "5:14:not_available"},
      {"reserved_method", "optimizer: {type: sgd}\n", "5:19:not_available"},
      {"reserved_parameter", "parameters: {resources.share: [1, 2]}\n", "5:14:not_available"},
      {"condition_without_a_parameter",
       "parameters: {optimizer.lr: {min: 1, max: 2, count: 2, when: {}}}\n", "5:61:empty"},
      // Missing
      {"no_version", "!name: x\ndata: {train: a, val: b}\n", "1:1:missing"},
      {"no_name", "!version: 1\ndata: {train: a, val: b}\n", "1:1:missing"},
      {"no_data", "!version: 1\nname: x\n", "1:1:missing 1:1:missing"},
      {"no_val", "!version: 1\nname: x\ndata: {train: a}\n", "3:1:missing"},
      {"other_version", "!version: 2\nname: x\ndata: {train: a, val: b}\n", "1:10:out_of_range"},
      {"empty_name", "!version: 1\nname: ''\ndata: {train: a, val: b}\n", "2:7:empty"},
      {"null_name", "!version: 1\nname:\ndata: {train: a, val: b}\n", "2:1:empty"},
      {"null_section", "train:\n", "5:1:empty"},
      {"null_field", "train: {batch_size: ~}\n", "5:21:empty"},
      // Types
      {"section_scalar", "train: 8\n", "5:8:wrong_type"},
      {"section_list", "train: [batch_size]\n", "5:8:wrong_type"},
      {"field_list", "train: {batch_size: [8, 16]}\n", "5:21:wrong_type"},
      {"field_map", "train: {batch_size: {value: 8}}\n", "5:21:wrong_type"},
      {"quoted_number", "train: {batch_size: '8'}\n", "5:21:wrong_type"},
      {"fraction", "train: {batch_size: 8.5}\n", "5:21:wrong_type"},
      {"word_for_number", "optimizer: {lr: fast}\n", "5:17:wrong_type"},
      {"octal", "train: {batch_size: 010}\n", "5:21:leading_zero"},
      {"hexadecimal", "train: {batch_size: 0x10}\n", "5:21:wrong_type"},
      {"sexagesimal", "train: {batch_size: 1:30}\n", "5:21:wrong_type"},
      {"not_a_number", "optimizer: {lr: .nan}\n", "5:17:not_finite"},
      {"infinite", "train: {grad_clip: .inf}\n", "5:20:not_finite"},
      {"yes", "data2: 1\n", "5:1:unknown_key"},
      {"yes_flag", "model: {tie_head: yes}\n", "5:19:wrong_type"},
      {"off_flag", "model: {bias: off}\n", "5:15:wrong_type"},
      {"unknown_choice", "model: {norm: per}\n", "5:15:unknown_choice"},
      {"unitless_time", "retries: {backoff: 10}\n", "5:20:wrong_type"},
      {"labels_list", "labels: [a]\n", "5:9:wrong_type"},
      {"label_list", "labels: {a: [b]}\n", "5:13:wrong_type"},
      {"short_betas", "optimizer: {betas: [0.9]}\n", "5:20:wrong_type"},
      {"scalar_betas", "optimizer: {betas: 0.9}\n", "5:20:wrong_type"},
      {"wrong_beta", "optimizer: {betas: [0.9, one]}\n", "5:26:wrong_type"},
      // Ranges
      {"zero", "train: {batch_size: 0}\n", "5:21:out_of_range"},
      {"negative", "eval: {every: -1}\n", "5:15:out_of_range"},
      {"huge", "train: {batch_size: 99999999999999999999}\n", "5:21:out_of_range"},
      {"beta_of_one", "optimizer: {betas: [0.9, 1]}\n", "5:26:out_of_range"},
      {"long_wait", "retries: {backoff: 1h}\n", "5:20:out_of_range"},
      {"refused_variable", "resources: {env: {LD_PRELOAD: x}}\n", "5:19:bad_name"},
      // Parameters
      {"parameters_list", "parameters: [optimizer.lr]\n", "5:13:wrong_type"},
      {"parameter_scalar", "parameters: {optimizer.lr: 1e-3}\n", "5:28:wrong_type"},
      {"parameter_null", "parameters: {optimizer.lr: }\n", "5:28:empty"},
      {"parameter_empty", "parameters: {optimizer.lr: []}\n", "5:14:empty"},
      {"parameter_unknown", "parameters: {optimizer.rl: [1]}\n", "5:14:unknown_key"},
      {"parameter_nested", "parameters: {train: {seq_len: [64]}}\n", "5:14:wrong_type"},
      {"parameter_fixed", "parameters: {retries.max: [1, 2]}\n", "5:14:conflict"},
      {"parameter_value", "parameters: {optimizer.lr: [1e-3, x]}\n", "5:35:wrong_type"},
      {"parameter_twice", "parameters: {optimizer.lr: [1e-3, 1.0e-3]}\n", "5:35:duplicate_value"},
      {"parameter_word", "parameters: {optimizer.lr: {vales: [1]}}\n", "5:29:unknown_key"},
      {"parameter_mixed", "parameters: {optimizer.lr: {value: 1, min: 2}}\n", "5:28:conflict"},
      {"values_scalar", "parameters: {optimizer.lr: {values: 1}}\n", "5:37:wrong_type"},
      {"range_without_count", "parameters: {optimizer.lr: {min: 1, max: 2}}\n", "5:28:missing"},
      {"range_of_words", "parameters: {model.norm: {min: 1, max: 2, count: 2}}\n",
       "5:26:wrong_type"},
      {"range_with_equal_integers",
       "parameters: {model.n_layer: {min: 1, max: 8, count: 20, scale: log}}\n", "5:53:conflict"},
      {"range_backwards", "parameters: {optimizer.lr: {min: 2, max: 1, count: 2}}\n",
       "5:42:conflict"},
      {"range_log_zero", "parameters: {train.grad_clip: {min: 0, max: 1, count: 2, scale: log}}\n",
       "5:37:conflict"},
      {"range_scale", "parameters: {optimizer.lr: {min: 1, max: 2, count: 2, scale: exp}}\n",
       "5:62:unknown_choice"},
      {"range_too_fine", "parameters: {model.n_layer: {min: 1, max: 2, count: 3}}\n",
       "5:53:conflict"},
      {"set_and_swept", "train: {seq_len: 64}\nparameters: {train.seq_len: [64, 128]}\n",
       "5:18:conflict"},
      {"too_many_trials",
       "parameters:\n  optimizer.lr: {min: 1, max: 2, count: 200}\n"
       "  train.grad_clip: {min: 1, max: 2, count: 200}\n",
       "5:1:too_many_trials"},
      // Exclusions
      {"exclude_map", "exclude: {seed: 1}\n", "5:10:wrong_type"},
      {"exclude_scalar", "parameters: {seed: [1]}\nexclude: [seed]\n", "6:11:wrong_type"},
      {"exclude_empty", "parameters: {seed: [1]}\nexclude: [{}]\n", "6:11:empty"},
      {"exclude_other", "parameters: {seed: [1]}\nexclude: [{train.seq_len: 64}]\n",
       "6:27:unknown_parameter"},
      {"exclude_typo", "parameters: {train.seq_len: [64]}\nexclude: [{train.seqlen: 64}]\n",
       "6:12:unknown_parameter"},
      {"exclude_value", "parameters: {seed: [1]}\nexclude: [{seed: 2}]\n", "6:18:excludes_nothing"},
      {"exclude_type", "parameters: {seed: [1]}\nexclude: [{seed: one}]\n", "6:18:wrong_type"},
      {"exclude_all", "parameters: {seed: [1]}\nexclude: [{seed: 1}]\n", "6:1:no_trials"},
      // Combinations
      {"heads", "model:\n  n_embd: 100\n", "6:11:conflict"},
      {"heads_of_a_trial", "parameters:\n  model.n_head: [4, 5, 7]\n", "6:21:conflict"},
      {"positions", "train: {seq_len: 2048}\n", "5:18:conflict"},
      {"global_batch", "train: {global_batch_size: 9}\n", "5:28:conflict"},
      {"lengths", "train: {max_steps: 9, epochs: 2}\n", "5:31:conflict"},
      {"warmups", "schedule: {warmup_steps: 1, warmup_ratio: 0.1}\n", "5:43:conflict"},
      {"tf32_on_cpu", "resources: {device: cpu}\nprecision: {compute: tf32}\n", "6:22:conflict"},
  };
}

class WrongFileTest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongFileTest, IsRefusedAtItsPlace) {
  const std::string& text = GetParam().text;
  const ExperimentFile file = ReadGrid(text[0] == '!' ? text.substr(1) : kGridHead + text);
  EXPECT_EQ(Places(file.diagnostics), GetParam().found) << RenderDiagnostics(file.diagnostics);
  for (const Diagnostic& one : file.diagnostics) {
    EXPECT_EQ(one.file, "grid.yaml");
    EXPECT_FALSE(one.message.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, WrongFileTest, testing::ValuesIn(WrongFiles()),
                         [](const testing::TestParamInfo<Wrong>& test) {
                           return std::string(test.param.what);
                         });

TEST(ExperimentFileTest, EveryErrorIsReportedAtOnceInTheOrderOfTheFile) {
  const ExperimentFile file = ReadGrid(std::string(kGridHead) + R"(train:
  batchsize: 8
  seq_len: 4096
optimizer: {lr: -1}
resources: {share: 2}
parameters:
  model.n_layer: [2, 2]
)");
  EXPECT_EQ(Places(file.diagnostics),
            "6:3:unknown_key 8:17:out_of_range 9:13:not_available 11:22:duplicate_value")
      << RenderDiagnostics(file.diagnostics);
}

TEST(ExperimentFileTest, ManyErrorsAreCutAfterAHundred) {
  std::string text = kGridHead;
  text += "labels:\n";
  for (int i = 0; i < 500; ++i) text += "  k" + std::to_string(i) + ": []\n";
  const ExperimentFile file = ReadGrid(text);
  ASSERT_EQ(file.diagnostics.size(), 101u);
  EXPECT_EQ(file.diagnostics.back().code, "too_many");
}

TEST(ExperimentFileTest, HostileFilesAreRefusedInTimeAndWithoutRecursion) {
  // Thirty levels of aliases would be 10^30 nodes if they were followed.
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 30; ++i) {
    absl::SubstituteAndAppend(&bomb, "a$0: &a$0 [*a$1, *a$1]\n", i, i - 1);
  }
  EXPECT_FALSE(ReadGrid(bomb).diagnostics.empty());
  for (const char* piece :
       {"[",   "{",     "- ", "? ",   "a: ",  "{a: ", "[a, ", "!a ", "&a ", "\"", "|\n",
        "a\n", "- a\n", "[]", "%A\n", "--- ", "'",    ": ",   ", ",  "\n",  "#",  "*a "}) {
    std::string text;
    while (text.size() < 200000) text += piece;
    EXPECT_FALSE(ReadGrid(text).diagnostics.empty()) << piece;
  }
}

// --- Appearance of errors ---
TEST(RenderTest, ShowsThePlaceTheSourceTheCaretAndTheFix) {
  const ExperimentFile file =
      ReadGrid(std::string(kGridHead) + "train:\n  seq_len: 64\n  batchsize: 8\n");
  EXPECT_EQ(RenderDiagnostics(file.diagnostics),
            "grid.yaml:7:3: error: unknown key 'train.batchsize'; did you mean "
            "'train.batch_size'?\n"
            "    7 |   batchsize: 8\n"
            "      |   ^ in train\n");
}

TEST(RenderTest, CountsCharactersNotBytesBeforeTheCaret) {
  const ExperimentFile file = ReadGrid(std::string(kGridHead) + "labels: {Köln: [x]}\n");
  EXPECT_EQ(RenderDiagnostics(file.diagnostics),
            "grid.yaml:5:17: error: 'labels.Köln' is a list; it must be text\n"
            "    5 | labels: {Köln: [x]}\n"
            "      |                ^ in labels\n");
}

TEST(ExperimentFileTest, ARangeOfIntegersReportsOnceItsNumberOfValues) {
  const ExperimentFile file =
      ReadGrid(std::string(kGridHead) +
               "parameters: {model.n_layer: {min: 1, max: 8, count: 20, scale: log}}\n");
  ASSERT_EQ(file.diagnostics.size(), 1u) << RenderDiagnostics(file.diagnostics);
  EXPECT_EQ(file.diagnostics[0].hint, "with a count of 5 all differ");
  ReadValidGrid(std::string(kGridHead) +
                "parameters: {model.n_layer: {min: 1, max: 8, count: 5, scale: log}}\n");
}

TEST(ExperimentFileTest, AnUnlikelySettingIsAWarningAtItsPlace) {
  const std::string text = std::string(kGridHead) +
                           "search: {goal: maximize}\n"
                           "optimizer: {lr: 1000}\n";
  const ExperimentFile file = ReadValidGrid(text, {"schedule.decay_ratio=0.5"});
  ASSERT_EQ(file.warnings.size(), 3u) << RenderDiagnostics(file.warnings);
  const std::string shown = RenderDiagnostics(file.warnings);
  EXPECT_NE(shown.find("grid.yaml:5:16: warning: search.goal maximize"), std::string::npos)
      << shown;
  EXPECT_NE(shown.find("grid.yaml:6:17: warning: optimizer.lr 1000 "), std::string::npos) << shown;
  EXPECT_NE(shown.find("--set schedule.decay_ratio=0.5: warning: "), std::string::npos) << shown;
  // A file with errors shows no warnings.
  EXPECT_TRUE(ReadGrid(text + "train: {batch_size: 0}\n").warnings.empty());
}

TEST(RenderTest, LongLinesAreCutAroundTheCaret) {
  const ExperimentFile file = ReadGrid(
      std::string(kGridHead) + "labels: {a: " + std::string(3000, 'x') + ", b: [], c: d}\n");
  const std::string text = RenderDiagnostics(file.diagnostics);
  EXPECT_LT(text.size(), 400u);
  EXPECT_NE(text.find("b: [], c: d}"), std::string::npos) << text;
  // A mark shows each end that is cut, and the caret stays below its character.
  const size_t source = text.find(" | …"), caret = text.find('^');
  ASSERT_NE(source, std::string::npos) << text;
  const size_t marked = text.find("[]", source) - std::string("…").size() + 1;
  const size_t below = text.rfind('\n', caret);
  EXPECT_EQ(caret - below, marked - text.rfind('\n', source)) << text;
}

TEST(RenderTest, ALineCutAfterTheCaretIsMarked) {
  const ExperimentFile file =
      ReadGrid(std::string(kGridHead) + "labels: {b: [], a: " + std::string(3000, 'x') + "}\n");
  EXPECT_NE(RenderDiagnostics(file.diagnostics).find("xxx…\n"), std::string::npos);
}

TEST(RenderTest, ANumberAsLongAsAFileIsShortened) {
  const std::string nines(100000, '9');
  const ExperimentFile file = ReadGrid(
      absl::StrCat(kGridHead, "seed: 0", nines, "\ntrain: {batch_size: ", nines,
                   "}\nretries: {backoff: ", nines, "}\ncheckpoint: {every: ", nines, "}\n"));
  EXPECT_EQ(file.diagnostics.size(), 4u);
  EXPECT_LT(RenderDiagnostics(file.diagnostics).size(), 3000u);
}

TEST(RenderTest, AByteOrderMarkIsNamedAndShown) {
  ReadValidGrid("\xef\xbb\xbf" + std::string(kGridHead));  // allowed here
  EXPECT_EQ(
      RenderDiagnostics(ReadGrid(std::string(kGridHead) + "na\xef\xbb\xbfme: 大\n").diagnostics),
      "grid.yaml:5:3: error: there is a byte order mark (U+FEFF) here, which editors do not "
      "show; delete it; only the start of a file may have one\n"
      "    5 | na\\ufeffme: 大\n"
      "      |   ^\n");
}

TEST(RenderTest, ControlCharactersDoNotReachTheTerminal) {
  const ExperimentFile file = ReadGrid(std::string(kGridHead) + "model: {norm: \"\\e[2J\\x9b\"}\n");
  const std::string text = RenderDiagnostics(file.diagnostics);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
}

// --- --set ---
TEST(OverrideTest, ReplacesAddsAndSweeps) {
  const std::string text = std::string(kGridHead) +
                           "train: {batch_size: 4}  # per rank\n"
                           "model:\n"
                           "  n_layer: 2  # shallow\n"
                           "parameters:\n"
                           "  optimizer.lr: [1.0e-3, 1.0e-4]\n";
  const ExperimentFile file = ReadValidGrid(
      text, {"train.batch_size=16", "train.max_steps=5", "model.n_head=6", "eval.batches=2",
             "parameters.optimizer.lr=[1.0e-2]", "parameters.seed=[1, 2]", "labels.team=nlp",
             "data.train=*_train.bin", "description=what it is for"});
  EXPECT_EQ(file.spec.base().train().batch_size(), 16);
  EXPECT_EQ(file.spec.base().train().max_steps(), 5);
  EXPECT_EQ(file.spec.base().model().n_head(), 6);
  EXPECT_EQ(file.spec.base().model().n_layer(), 2);
  EXPECT_EQ(file.spec.base().eval().batches(), 2);
  EXPECT_EQ(file.spec.base().data().train(), "*_train.bin");
  EXPECT_EQ(file.spec.labels(0).value(), "nlp");
  EXPECT_EQ(spec::Expand(file.spec)->size(), 2u);
  const ExperimentFile again = ReadValidGrid(file.effective_text);
  EXPECT_EQ(again.spec.SerializeAsString(), file.spec.SerializeAsString()) << file.effective_text;
}

TEST(OverrideTest, KeepsCommentsIfTheLayoutIsPlain) {
  const std::string text = std::string(kGridHead) +
                           "# how long\n"
                           "train:\n"
                           "  seq_len: 64  # short\n"
                           "eval: {every: 5}  # often\n";
  const ExperimentFile file =
      ReadValidGrid(text, {"train.seq_len=128", "train.max_steps=5", "eval.batches=2", "seed=7"});
  EXPECT_EQ(file.effective_text, std::string(kGridHead) +
                                     "# how long\n"
                                     "train:\n"
                                     "  max_steps: 5\n"
                                     "  seq_len: 128  # short\n"
                                     "eval: {batches: 2, every: 5}  # often\n"
                                     "seed: 7\n");
}

TEST(OverrideTest, UnknownLayoutsArePrintedAgainWithTheSameMeaning) {
  const std::string text = std::string(kGridHead) +
                           "parameters:\n"
                           "  train.seq_len:\n"
                           "    - 64\n"
                           "    - 128\n"
                           "description: \"a \\\"quoted\\\" word\"\n";
  const ExperimentFile file =
      ReadValidGrid(text, {"parameters.train.seq_len=[32]", "description=plain: text, #1"});
  const ExperimentFile again = ReadValidGrid(file.effective_text);
  EXPECT_EQ(again.spec.SerializeAsString(), file.spec.SerializeAsString()) << file.effective_text;
  EXPECT_EQ(again.spec.description(), "plain: text, #1");
}

TEST(OverrideTest, ErrorsNameTheArgument) {
  for (const auto& [argument, code] : std::vector<std::pair<std::string, std::string>>{
           {"train.batchsize=8", "unknown_key"},
           {"train.batch_size=0", "out_of_range"},
           {"train.batch_size", "syntax"},
           {"=8", "syntax"},
           {"train.batch_size=", "syntax"},
           {"train..x=8", "syntax"},
           {"train=8", "wrong_type"},
           {"name.x=8", "wrong_type"},
           {"parameters.optimizer.lr=1e-3", "wrong_type"},
           {"parameters.optimizer.lr=[1e-3", "syntax"},
           {"optimizer.type=sgd", "not_available"},
           {"model.n_embd=100", "conflict"},
       }) {
    const ExperimentFile file = ReadGrid(kGridHead, {argument});
    ASSERT_EQ(file.diagnostics.size(), 1u) << argument << RenderDiagnostics(file.diagnostics);
    EXPECT_EQ(file.diagnostics[0].code, code) << argument;
    EXPECT_EQ(file.diagnostics[0].file, "--set " + argument);
    EXPECT_EQ(file.diagnostics[0].line, 0);
  }
  EXPECT_EQ(RenderDiagnostics(ReadGrid(kGridHead, {"train.batch_size=0"}).diagnostics),
            "--set train.batch_size=0: error: train.batch_size is 0; it must be from 1 to "
            "1048576\n");
}

}  // namespace
}  // namespace dt::spec
