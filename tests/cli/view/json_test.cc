// json_test.cc: the machine formats, which are versioned and do not change.
#include "cli/view/json.h"

#include <algorithm>
#include <limits>

#include "gtest/gtest.h"

namespace dt::cli {
namespace {

v1::TrialSummary Trial() {
  v1::TrialSummary trial;
  trial.set_experiment(12);
  trial.set_trial(3);
  trial.set_state(v1::TRIAL_FAILED);
  trial.set_cause(v1::CAUSE_OOM);
  trial.set_val_loss(std::numeric_limits<double>::quiet_NaN());
  trial.set_eta_seconds(-1);
  trial.set_started_wall_ms(1700000000123);
  trial.add_workers("gpu07/0");
  trial.add_workers("gpu07/1");
  v1::Assignment& assignment = *trial.add_assignments();
  assignment.set_path("optimizer.betas");
  assignment.mutable_value()->mutable_numbers()->add_values(0.9);
  assignment.mutable_value()->mutable_numbers()->add_values(0.95);
  return trial;
}

TEST(JsonTest, StatesAndCausesAreLowerCaseWords) {
  EXPECT_EQ(Word(v1::TRIAL_STARTING), "starting");
  EXPECT_EQ(Word(v1::EXPERIMENT_QUEUED), "queued");
  EXPECT_EQ(Word(v1::CAUSE_WORKER_LOST), "worker_lost");
  EXPECT_EQ(Word(v1::CAUSE_UNSPECIFIED), "");
  EXPECT_EQ(Word(static_cast<v1::Cause>(999)), "") << "a word of a later version";
  EXPECT_EQ(TrialStateFromWord("failed"), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialStateFromWord(""), v1::TRIAL_STATE_UNSPECIFIED);
  EXPECT_EQ(TrialStateFromWord("no such"), v1::TRIAL_STATE_UNSPECIFIED);
}

TEST(JsonTest, AMessageKeepsItsNamesAndSaysUnknownAsNull) {
  const Json json = TrialJson(Trial());
  EXPECT_EQ(json["id"], "12/3");
  EXPECT_EQ(json["experiment"], 12);
  EXPECT_EQ(json["cause"], "oom");
  EXPECT_TRUE(json["val_loss"].is_null());
  EXPECT_TRUE(json["eta_seconds"].is_null());
  EXPECT_TRUE(json["target_steps"].is_null());
  EXPECT_TRUE(json["latest"].is_null());
  EXPECT_EQ(json["started_at"], "2023-11-14T22:13:20.123Z");
  EXPECT_TRUE(json["ended_at"].is_null());
  EXPECT_EQ(json["workers"], (Json{"gpu07/0", "gpu07/1"}));
  EXPECT_EQ(json["assignments"]["optimizer.betas"], (Json{0.9, 0.95}));
}

TEST(JsonTest, AProgramsSpecificationHasNoFieldOfAModelThatDtrainTrains) {
  v1::GetExperimentResponse found;
  v1::Spec& base = *found.mutable_spec()->mutable_base();
  base.mutable_optimizer()->set_lr(6e-4);
  base.mutable_resources()->set_gpus(2);
  EXPECT_EQ(ExperimentFields(found)["spec"]["base"]["optimizer"]["lr"], 6e-4);
  base.add_command("./train");
  const Json spec = ExperimentFields(found)["spec"]["base"];
  for (const char* section : {"optimizer", "model", "schedule", "train", "data", "precision"}) {
    EXPECT_FALSE(spec.contains(section)) << section << ": " << spec;
  }
  EXPECT_EQ(spec["command"][0], "./train");
  EXPECT_EQ(spec["resources"]["gpus"], 2);
}

// Counted as in NCCL's tests: the bytes on the slowest link.
TEST(JsonTest, ACollectiveHasItsBusBytes) {
  v1::TrialSummary trial = Trial();
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "recv"}) {
    v1::Collective& one = *trial.mutable_latest()->add_collectives();
    one.set_op(op);
    one.set_ranks(4);
    one.set_bytes(1000);
  }
  trial.mutable_latest()->add_collectives()->set_op("all_reduce");  // without a number of ranks
  const Json list = TrialJson(trial)["latest"]["collectives"];
  EXPECT_EQ(list[0]["bus_bytes"], 1500);
  EXPECT_EQ(list[1]["bus_bytes"], 750);
  EXPECT_EQ(list[2]["bus_bytes"], 750);
  EXPECT_EQ(list[3]["bus_bytes"], 1000);
  EXPECT_EQ(list[4]["bus_bytes"], 0);
}

TEST(JsonTest, SixtyFourRandomBitsAreTextSoThatNoReaderRoundsThem) {
  v1::GetStatusResponse status;
  status.set_journal_id(0xfedcba9876543210);
  EXPECT_EQ(ToJson(status)["journal_id"], "fedcba9876543210");
}

TEST(JsonTest, DocumentsBeginWithVersionAndKind) {
  EXPECT_EQ(JsonLine(List("TrialList", {})),
            "{\"apiVersion\":\"dtrain/v1\",\"kind\":\"TrialList\",\"items\":[]}\n");
}

TEST(JsonTest, BrokenUtf8DoesNotStopTheWriter) {
  EXPECT_EQ(JsonLine(Json{{"text", "a\xff"}}), "{\"text\":\"a\xef\xbf\xbd\"}\n");
}

TEST(JsonTest, YamlIsNestedAndQuotesTextThatWouldReadAsAnotherType) {
  const Json json = {{"name", "quickstart"},
                     {"version", "1"},
                     {"flag", "yes"},
                     {"empty", ""},
                     {"loss", nullptr},
                     {"list", {1, 2.5, "a: b"}},
                     {"items", {{{"id", "12/3"}, {"step", 7}}, {{"id", "12/4"}, {"step", 8}}}},
                     {"none", Json::array()}};
  EXPECT_EQ(YamlText(json), R"(name: quickstart
version: "1"
flag: "yes"
empty: ""
loss: null
list:
  - 1
  - 2.5
  - "a: b"
items:
  - id: "12/3"
    step: 7
  - id: "12/4"
    step: 8
none: []
)");
}

TEST(JsonTest, CsvHasTheGivenColumnsForAnyItems) {
  const Json one = {{"id", "12/1"}, {"last", nullptr}, {"at", {{"x.y", 8}, {"z", 1}}}};
  const Json two = {{"id", "12/2, \"two\""}, {"last", {{"step", 5}}}, {"labels", {{"a", "b"}}}};
  const std::vector<std::string> columns = {"id", "last.step", "at.x.y", "labels"};
  EXPECT_EQ(CsvText(columns, {one, two}),
            "id,last.step,at.x.y,labels\n"
            "12/1,,8,\n"
            "\"12/2, \"\"two\"\"\",5,,a=b\n");
  EXPECT_EQ(CsvText(columns, {}), "id,last.step,at.x.y,labels\n");
}

TEST(JsonTest, TheColumnsOfAMessageDoNotDependOnItsKnownFields) {
  const std::vector<std::string> columns =
      WithParameters(CsvColumns(TrialJson(Whole<v1::TrialSummary>())), {"optimizer.lr"});
  for (const char* name : {"val_loss", "latest.loss", "last_checkpoint.path", "provenance.host"}) {
    EXPECT_EQ(std::count(columns.begin(), columns.end(), name), 1) << name;
  }
  EXPECT_EQ(std::count(columns.begin(), columns.end(), "latest"), 0);
  EXPECT_EQ(std::count(columns.begin(), columns.end(), "assignments"), 0);
  EXPECT_EQ(columns.back(), "assignments.optimizer.lr");
}

TEST(JsonTest, TerminalControlsAreEscapedAndReadBackTheSame) {
  const Json json = {{"text", "\xe2\x80\xae \xc2\x9b 大"}};
  EXPECT_EQ(JsonLine(json), "{\"text\":\"\\u202e \\u009b 大\"}\n");
  EXPECT_EQ(Json::parse(JsonText(json)), json);
}

TEST(JsonTest, TextAroundAnEscapeStays) {
  for (const char* text :
       {"plain", "大", "a大b", "大b", "a大", "a\xe2\x80\xae", "\xc2\x9b b \xc2\x9b"}) {
    const Json json = {{"a", "before"}, {"text", text}, {"z", "after"}};
    EXPECT_EQ(Json::parse(JsonLine(json)), json) << text;
  }
  EXPECT_EQ(JsonLine(Json{{"text", "a\xe2\x80\xae b 大 c"}}), "{\"text\":\"a\\u202e b 大 c\"}\n");
}

TEST(JsonTest, TextsThatASpreadsheetWouldRunAreDefused) {
  Json item = {{"name", "=HYPERLINK(1)"}, {"a", "-x"}, {"b", -1.5}};
  item["list"] = {-0.5, 2};
  item["texts"] = {"@a", "b"};
  EXPECT_EQ(CsvText(CsvColumns(item), {item}),
            "name,a,b,list,texts\n'=HYPERLINK(1),'-x,-1.5,-0.5;2,'@a;b\n");
}

}  // namespace
}  // namespace dt::cli
