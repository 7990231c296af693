// resolved_test.cc: an accepted trial keeps the settings that it had then, whatever later versions
// make of its file.
#include "coordinator/core/model/resolved.h"

#include <gtest/gtest.h>

#include "google/protobuf/util/message_differencer.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

using google::protobuf::util::MessageDifferencer;

class ResolvedTest : public CoreTest {
 protected:
  v1::Spec SpecOf(TrialId id) {
    const auto spec = ResolvedOf(GetExperiment(state_.durable, id.experiment), TrialOf(id));
    EXPECT_TRUE(spec.ok()) << spec.status();
    return spec.value_or(v1::Spec());
  }
  v1::Spec Today(const v1::ExperimentSpec& spec, const v1::ExpandedTrial& trial) {
    return *spec::ResolveTrial(spec, {trial.assignments().begin(), trial.assignments().end()});
  }
};

TEST_F(ResolvedTest, EveryTrialKeepsItsResolvedSettings) {
  v1::ExperimentSpec spec =
      Sweep(Trials(3), "train.batch_size", {IntegerValue(4), IntegerValue(8)});
  const ExperimentId id = Submit(Sweep(spec, "model.dropout", {NumberValue(0), NumberValue(0.5)}));
  const Experiment& experiment = GetExperiment(state_.durable, id);
  ASSERT_EQ(experiment.trials.size(), 12u);
  for (uint32_t number = 1; number <= 12; ++number) {
    const Trial& trial = experiment.trials[number - 1];
    EXPECT_TRUE(MessageDifferencer::Equals(SpecOf({id, number}),
                                           Today(experiment.spec, ExpandedOf(experiment, trial))));
  }
}

// Simulates a later version with other defaults: fields that are not swept would resolve to other
// values now.
TEST_F(ResolvedTest, NewDefaultsChangeNoAcceptedTrial) {
  const ExperimentId id =
      Submit(Sweep(OneTrial(), "train.batch_size", {IntegerValue(4), IntegerValue(8)}));
  const v1::Spec first = SpecOf({id, 1});
  const v1::Spec second = SpecOf({id, 2});
  EXPECT_EQ(second.train().global_batch_size(), 8);
  Experiment& experiment = state_.durable.experiments.at(id);
  const v1::ExperimentSpec taken = experiment.spec;
  experiment.spec.mutable_base()->mutable_model()->set_preset("tiny_transformer");
  experiment.spec.mutable_base()->mutable_optimizer()->set_weight_decay(0.7);
  experiment.spec.mutable_base()->mutable_train()->set_global_batch_tokens(1 << 20);
  EXPECT_TRUE(MessageDifferencer::Equals(SpecOf({id, 1}), first));
  EXPECT_TRUE(MessageDifferencer::Equals(SpecOf({id, 2}), second));
  experiment.spec = taken;
}

TEST_F(ResolvedTest, AFieldThatThisVersionLacksIsNamed) {
  const ExperimentId id = Submit(OneTrial());
  Experiment experiment = GetExperiment(state_.durable, id);
  experiment.resolved_paths.push_back("train.later");
  const auto spec = ResolvedOf(experiment, experiment.trials[0]);
  ASSERT_FALSE(spec.ok());
  EXPECT_NE(spec.status().message().find("train.later is not a field"), absl::string_view::npos);
}

TEST_F(ResolvedTest, SettingsThatAJournalOfVersion01LacksAreResolvedAgain) {
  const ExperimentId id = Submit(Trials(2));
  Experiment experiment = GetExperiment(state_.durable, id);
  experiment.resolved_paths.clear();
  experiment.resolved.Clear();
  v1::ExpandedTrial expanded = ExpandedOf(experiment, experiment.trials[1]);
  expanded.clear_resolved();
  expanded.clear_differs();
  experiment.trials[1].expanded = expanded.SerializeAsString();
  const auto spec = ResolvedOf(experiment, experiment.trials[1]);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->optimizer().lr(), 2e-6);
}

TEST_F(ResolvedTest, ALongValueIsStoredOnceHoweverManyTrialsHaveIt) {
  v1::Value text;
  text.set_text(std::string(4000, 'x'));
  v1::ExperimentSpec spec = Sweep(Trials(1000), "data.train", {text});
  const ExperimentId id = Submit(spec);
  ASSERT_EQ(last_.records.size(), 1u);
  EXPECT_LT(last_.records[0].ByteSizeLong(), 200000u);
  EXPECT_EQ(SpecOf({id, 1000}).data().train(), text.text());
  EXPECT_EQ(SpecOf({id, 1000}).optimizer().lr(), 1e-3);
  EXPECT_EQ(SpecOf({id, 1}).data().train(), text.text());
}

}  // namespace
}  // namespace dt
