// differences_test.cc: the differences between two experiments, and their place in a report.
#include "report/analysis/differences.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "report/page/compare.h"
#include "report/page/results_csv.h"
#include "spec/spec.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

// Returns a study with the defaults of a file, which Study() lacks.
Experiment FullStudy(uint64_t id) {
  Experiment study = Study(id);
  *study.found.mutable_spec() = spec::DefaultExperiment();
  study.found.mutable_spec()->set_name("study");
  return study;
}

std::vector<std::string> Lines(const std::vector<Difference>& differences) {
  std::vector<std::string> lines;
  lines.reserve(differences.size());
  for (const Difference& one : differences) {
    lines.push_back(one.path + ": " + one.values.at(0) + " | " + one.values.at(1));
  }
  return lines;
}

TEST(DifferencesTest, EqualExperimentsDoNotDifferWhateverTheirNames) {
  Experiment b = FullStudy(13);
  b.found.mutable_spec()->set_name("again");
  b.found.mutable_spec()->set_description("the same");
  EXPECT_TRUE(DifferencesOf({FullStudy(12), b}).empty());
  EXPECT_TRUE(Has(MarkdownPage(CompareReport({FullStudy(12), b})), "no field differs"));
}

TEST(DifferencesTest, TheOrderOfTrialsIsNoDifference) {
  Experiment b = FullStudy(13);
  std::reverse(b.trials.begin(), b.trials.end());
  EXPECT_TRUE(DifferencesOf({FullStudy(12), b}).empty());
}

TEST(DifferencesTest, ResolvedFieldsAndTheirConsequencesAreCompared) {
  const Experiment a = FullStudy(12);
  Experiment b = FullStudy(13);
  v1::ExperimentSpec& changed = *b.found.mutable_spec();
  changed.mutable_search()->set_metric("train_loss");
  changed.mutable_base()->mutable_model()->set_preset("gpt2-medium");
  changed.mutable_base()->mutable_data()->set_val("val.bin");
  EXPECT_EQ(Lines(DifferencesOf({a, b})),
            (std::vector<std::string>{"search.metric: val_loss | train_loss",
                                      "data.val: - | val.bin", "model.preset: gpt2 | gpt2-medium",
                                      "model.n_layer: 12 | 24", "model.n_head: 12 | 16",
                                      "model.n_embd: 768 | 1024", "model.n_ff: 3072 | 4096"}));
}

TEST(DifferencesTest, AllValuesOfASweptFieldAreNamed) {
  const Experiment a = FullStudy(12);
  Experiment b = FullStudy(13);
  b.trials.resize(3);
  EXPECT_EQ(Lines(DifferencesOf({a, b})),
            (std::vector<std::string>{"train.batch_size: 8, 16 | 8",
                                      "train.global_batch_size: 8, 16 | 8"}));
  Experiment many = NewExperiment(14, "many");
  *many.found.mutable_spec() = spec::DefaultExperiment();
  for (int64_t i = 1; i <= 13; ++i) Assign(AddTrial(many, 2).summary, "train.seq_len", i);
  EXPECT_TRUE(Has(Lines(DifferencesOf({b, many})).at(0), "11, 12, … (13 in all)"));
}

TEST(DifferencesTest, DevicesCountIfBothAreKnown) {
  Experiment a = FullStudy(12);
  Experiment b = FullStudy(13);
  a.trials[0].summary.mutable_provenance()->set_program_version("0.1.0");
  a.trials[0].summary.mutable_provenance()->set_program_revision("abc");
  a.trials[0].summary.set_data_fingerprint("f00d");
  EXPECT_TRUE(DifferencesOf({a, b}).empty());
  b.trials[0].summary.mutable_provenance()->set_program_version("0.1.1");
  b.trials[0].summary.mutable_provenance()->set_program_revision("abd");
  b.trials[0].summary.set_data_fingerprint("f00d");
  EXPECT_EQ(Lines(DifferencesOf({a, b})),
            std::vector<std::string>{"build: 0.1.0 (abc) | 0.1.1 (abd)"});
}

TEST(DifferencesTest, AComparisonNamesThemBeforeItsResultsAndInItsCsv) {
  const Experiment a = FullStudy(12);
  Experiment b = FullStudy(13);
  b.found.mutable_spec()->mutable_base()->mutable_optimizer()->set_lr(0.001);
  b.found.mutable_spec()->mutable_base()->set_seed(7);
  const std::string page = MarkdownPage(CompareReport({a, b}));
  const size_t row = page.find("\n| optimizer.lr | 0.0006 | 0.001 |\n");
  EXPECT_LT(row, page.find("## Results")) << page;
  EXPECT_TRUE(Has(HtmlPage(CompareReport({a, b})), ">optimizer.lr</th>"));
  const std::string csv = ResultsCsv({a, b});
  EXPECT_TRUE(Has(csv, "experiment,name,trial,train.batch_size,train.seq_len,optimizer.lr,state,"))
      << csv;
  EXPECT_TRUE(Has(csv, "\n12,study,1,8,64,0.0006,finished"));
  EXPECT_TRUE(Has(csv, "\n13,study,1,8,64,0.001,finished"));
  EXPECT_FALSE(Has(ResultsCsv({a}), "optimizer.lr"));
}

}  // namespace
}  // namespace dt::report
