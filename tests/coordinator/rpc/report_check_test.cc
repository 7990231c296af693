// report_check_test.cc: reports that never reach the core, and the totals of rows.
#include "coordinator/rpc/report_check.h"

#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/detection_limits.h"
#include "common/limits.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

v1::WorkerReport Opening() {
  v1::WorkerReport report;
  report.mutable_hello()->set_worker("host/0");
  report.mutable_hello()->set_instance(1);
  report.mutable_hello()->set_session(1);
  report.mutable_hello()->set_device("cuda");
  return report;
}

v1::Item* AddItem(v1::WorkerReport& report) {
  v1::Item* item = report.add_items();
  item->set_sequence(static_cast<uint64_t>(report.items_size()));
  item->set_attempt_token(std::string(16, 't'));
  return item;
}

v1::Metric& AddMetric(v1::WorkerReport& report) {
  return *AddItem(report)->mutable_evaluation()->add_metrics();
}

void SetRows(v1::Item* item, const v1::StepRows& rows) {
  v1::RowChunk& chunk = *item->mutable_rows();
  chunk.set_count(static_cast<uint32_t>(rows.rows_size()));
  chunk.set_first_step(rows.rows(0).step());
  chunk.set_last_step(rows.rows(rows.rows_size() - 1).step());
  chunk.set_rows(rows.SerializeAsString());
}

v1::StepRows Rows(uint64_t first, uint64_t last) {
  v1::StepRows rows;
  for (uint64_t step = first; step <= last; ++step) {
    v1::StepRow& row = *rows.add_rows();
    row.set_step(step);
    row.set_tokens(100);
    row.set_steps(1);
    row.set_forward_seconds(0.5);
    row.set_loss(static_cast<double>(step));
  }
  return rows;
}

absl::StatusCode CodeOf(const v1::WorkerReport& report, ReportPlace place = ReportPlace::kLater) {
  return CheckReport(report, place).status().code();
}

TEST(ReportCheckTest, RowsAreSummedAndTheNewestKept) {
  v1::WorkerReport report = Opening();
  SetRows(AddItem(report), Rows(1, 3));
  AddItem(report)->mutable_running();
  SetRows(AddItem(report), Rows(4, 4));
  const auto totals = CheckReport(report, ReportPlace::kFirstOfStream);
  ASSERT_TRUE(totals.ok()) << totals.status();
  ASSERT_EQ(totals->size(), 2u);
  EXPECT_EQ((*totals)[0].sum.tokens(), 300);
  EXPECT_EQ((*totals)[0].sum.forward_seconds(), 1.5);
  EXPECT_EQ((*totals)[0].newest.step(), 3u);
  EXPECT_EQ((*totals)[0].newest.loss(), 3);
  EXPECT_EQ((*totals)[1].sum.steps(), 1);
}

TEST(ReportCheckTest, ALoggedStepStandsForTheStepsSinceTheRowBefore) {
  v1::WorkerReport report;
  v1::StepRows rows = Rows(10, 10);
  rows.mutable_rows(0)->set_steps(10);
  SetRows(AddItem(report), rows);
  const auto totals = CheckReport(report, ReportPlace::kLater);
  ASSERT_TRUE(totals.ok());
  EXPECT_EQ((*totals)[0].sum.forward_seconds(), 5.0);  // of a single step, times ten
  EXPECT_EQ((*totals)[0].sum.tokens(), 100);           // already since the last row
}

TEST(ReportCheckTest, CollectivesOfARowAreFewAndTheirWordsPlain) {
  const auto told = [](int count, const std::string& op) {
    v1::StepRows rows = Rows(1, 1);
    for (int i = 0; i < count; ++i) {
      v1::Collective& one = *rows.mutable_rows(0)->add_collectives();
      one.set_op(op);
      one.set_axis("data");
    }
    v1::WorkerReport report;
    SetRows(AddItem(report), rows);
    return CodeOf(report);
  };
  EXPECT_EQ(told(limits::kCollectivesPerRow, "all_reduce"), absl::StatusCode::kOk);
  EXPECT_EQ(told(1, "of a later version"), absl::StatusCode::kOk);
  EXPECT_NE(told(limits::kCollectivesPerRow + 1, "all_reduce"), absl::StatusCode::kOk);
  EXPECT_NE(told(1, "\xff"), absl::StatusCode::kOk);
  EXPECT_NE(told(1, std::string(limits::kNameBytes + 1, 'a')), absl::StatusCode::kOk);
}

TEST(ReportCheckTest, UnreachablePeersAreAtMostThoseOfAQuestion) {
  v1::WorkerReport report;
  for (int i = 0; i < limits::kPeersPerCheck; ++i) {
    report.mutable_checked()->add_unreachable("10.0.0.2:29500");
  }
  EXPECT_EQ(CodeOf(report), absl::StatusCode::kOk);
  report.mutable_checked()->add_unreachable("10.0.0.2:29500");
  EXPECT_NE(CodeOf(report), absl::StatusCode::kOk);
  report.mutable_checked()->clear_unreachable();
  report.mutable_checked()->add_unreachable(std::string(limits::kTextBytes + 1, 'a'));
  EXPECT_NE(CodeOf(report), absl::StatusCode::kOk);
}

TEST(ReportCheckTest, CountersNeitherFallNorBecomeNaN) {
  v1::WorkerReport report;
  v1::StepRows rows = Rows(1, 3);
  rows.mutable_rows(0)->set_tokens(NAN);
  rows.mutable_rows(1)->set_tokens(-5);
  rows.mutable_rows(1)->set_forward_seconds(INFINITY);
  rows.mutable_rows(1)->set_nonfinite_steps(1);
  rows.mutable_rows(2)->set_steps(NAN);
  rows.mutable_rows(2)->set_nonfinite_steps(-1);
  SetRows(AddItem(report), rows);
  const auto totals = CheckReport(report, ReportPlace::kLater);
  ASSERT_TRUE(totals.ok());
  EXPECT_EQ((*totals)[0].sum.tokens(), 100);
  EXPECT_EQ((*totals)[0].sum.forward_seconds(), 1.0);
  EXPECT_EQ((*totals)[0].sum.nonfinite_steps(), 1);
}

TEST(ReportCheckTest, TheFirstReportOfAStreamMustIntroduceTheWorker) {
  EXPECT_EQ(CodeOf(v1::WorkerReport()), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(v1::WorkerReport(), ReportPlace::kFirstOfStream),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Opening(), ReportPlace::kFirstOfStream), absl::StatusCode::kOk);
}

using Damages = std::vector<std::pair<const char*, std::function<void(v1::WorkerReport&)>>>;

void ExpectRefused(const Damages& damages) {
  for (const auto& [name, damage] : damages) {
    v1::WorkerReport report = Opening();
    damage(report);
    EXPECT_EQ(CodeOf(report), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(ReportCheckTest, EveryBoundOfAHelloAndAnEndIsKept) {
  ExpectRefused({
      {"no worker", [](auto& r) { r.mutable_hello()->clear_worker(); }},
      {"no instance", [](auto& r) { r.mutable_hello()->clear_instance(); }},
      {"no session", [](auto& r) { r.mutable_hello()->clear_session(); }},
      {"a session that is none",
       [](auto& r) { r.mutable_hello()->set_session(uint64_t{1} << 63); }},
      {"an end without a cause", [](auto& r) { AddItem(r)->mutable_ended(); }},
      {"an end of a cause that is none",
       [](auto& r) { AddItem(r)->mutable_ended()->set_cause(static_cast<v1::Cause>(99)); }},
      {"many lives",
       [](auto& r) {
         for (uint64_t i = 0; i <= limits::kEndedInstances; ++i) {
           r.mutable_hello()->add_ended_instances(i + 2);
         }
       }},
      {"odd device", [](auto& r) { r.mutable_hello()->set_device("tpu"); }},
      {"long name",
       [](auto& r) { r.mutable_hello()->set_worker(std::string(limits::kNameBytes + 1, 'x')); }},
      {"long reason for no trainer",
       [](auto& r) {
         r.mutable_hello()->set_no_trainer(std::string(limits::kTextBytes + 1, 'x'));
       }},
  });
  v1::WorkerReport lists_symbols = Opening();
  lists_symbols.mutable_hello()->set_no_trainer(std::string(limits::kTextBytes, 'x'));
  EXPECT_EQ(CodeOf(lists_symbols), absl::StatusCode::kOk);
}

TEST(ReportCheckTest, MetricsOfAProgramsOwnAreFewPlainAndDifferent) {
  ExpectRefused({
      {"many metrics",
       [](auto& r) {
         v1::Evaluation& evaluation = *AddItem(r)->mutable_evaluation();
         for (size_t i = 0; i <= limits::kMetrics; ++i) {
           evaluation.add_metrics()->set_name(absl::StrCat("m", i));
         }
       }},
      {"a metric's long name",
       [](auto& r) { AddMetric(r).set_name(std::string(limits::kMetricNameBytes + 1, 'x')); }},
      {"a metric without a name", [](auto& r) { AddMetric(r); }},
      {"a metric's forged name", [](auto& r) { AddMetric(r).set_name("a\nb"); }},
      {"a metric twice",
       [](auto& r) {
         v1::Evaluation& evaluation = *AddItem(r)->mutable_evaluation();
         evaluation.add_metrics()->set_name("accuracy");
         evaluation.add_metrics()->set_name("accuracy");
       }},
  });
}

TEST(ReportCheckTest, ACheckpointTookANumberOfSeconds) {
  ExpectRefused({
      {"NaN", [](auto& r) { AddItem(r)->mutable_checkpoint()->set_seconds(std::nan("")); }},
      {"less than none", [](auto& r) { AddItem(r)->mutable_checkpoint()->set_seconds(-1); }},
      {"endless", [](auto& r) { AddItem(r)->mutable_checkpoint()->set_seconds(HUGE_VAL); }},
  });
}

TEST(ReportCheckTest, EveryBoundOfAReportIsKept) {
  ExpectRefused({
      {"short token", [](auto& r) { AddItem(r)->set_attempt_token("t"); }},
      {"no kind", [](auto& r) { AddItem(r); }},
      {"many samples",
       [](auto& r) {
         v1::Evaluation& evaluation = *AddItem(r)->mutable_evaluation();
         for (size_t i = 0; i <= limits::kSamples; ++i) evaluation.add_samples("text");
       }},
      {"a long sample",
       [](auto& r) {
         AddItem(r)->mutable_evaluation()->add_samples(std::string(limits::kSampleBytes + 1, 'x'));
       }},
      {"sequence 0",
       [](auto& r) {
         v1::Item* item = AddItem(r);
         item->set_sequence(0);
         item->mutable_running();
       }},
      {"sequence falls",
       [](auto& r) {
         AddItem(r)->mutable_running();
         v1::Item* item = AddItem(r);
         item->set_sequence(1);
         item->mutable_running();
       }},
      {"too many items",
       [](auto& r) {
         for (size_t i = 0; i <= limits::kReportItems; ++i) AddItem(r)->mutable_running();
       }},
      {"too many attempts",
       [](auto& r) {
         for (size_t i = 0; i <= limits::kAttemptsPerReport; ++i) {
           r.add_attempts()->set_attempt_token(std::string(16, 't'));
         }
       }},
      {"attempt token", [](auto& r) { r.add_attempts()->set_attempt_token("t"); }},
      {"long log",
       [](auto& r) {
         AddItem(r)->mutable_log()->set_text(std::string(limits::kLogChunkBytes + 1, 'x'));
       }},
      {"no rows", [](auto& r) { AddItem(r)->mutable_rows(); }},
      {"rows no message",
       [](auto& r) {
         SetRows(AddItem(r), Rows(1, 2));
         r.mutable_items(0)->mutable_rows()->set_rows("\xff\xff");
       }},
      {"count lies",
       [](auto& r) {
         SetRows(AddItem(r), Rows(1, 2));
         r.mutable_items(0)->mutable_rows()->set_count(3);
       }},
      {"first step lies",
       [](auto& r) {
         SetRows(AddItem(r), Rows(1, 2));
         r.mutable_items(0)->mutable_rows()->set_first_step(2);
       }},
      {"last step lies",
       [](auto& r) {
         SetRows(AddItem(r), Rows(1, 2));
         r.mutable_items(0)->mutable_rows()->set_last_step(9);
       }},
      {"too many rows", [](auto& r) { SetRows(AddItem(r), Rows(1, limits::kRowsPerChunk + 1)); }},
      {"steps fall",
       [](auto& r) {
         v1::StepRows rows = Rows(1, 3);
         rows.mutable_rows(1)->set_step(5);
         SetRows(AddItem(r), rows);
       }},
  });
}

// Sets every text of a message, and of the messages inside it, to `text`, one at a time.
void ForEachText(google::protobuf::Message& message, const std::string& text,
                 const std::function<void(const std::string& path)>& visit) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->is_repeated()) continue;
    const bool was_set = field->has_presence() && reflection.HasField(message, field);
    if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
      ForEachText(*reflection.MutableMessage(&message, field), text, visit);
      if (!was_set) reflection.ClearField(&message, field);
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      const std::string before = reflection.GetString(message, field);
      reflection.SetString(&message, field, text);
      visit(field->full_name());
      reflection.SetString(&message, field, before);
    }
  }
}

TEST(ReportCheckTest, EveryTextOfAReportIsBoundedAndUtf8) {
  for (const std::string& text :
       {std::string(limits::kLogChunkBytes + 1, 'x'), std::string("cut \xc3")}) {
    v1::WorkerReport report = Opening();
    report.add_attempts()->set_attempt_token(std::string(16, 't'));
    v1::Item* item = AddItem(report);
    int texts = 0;
    const auto expect_refused = [&](const std::string& path) {
      EXPECT_EQ(CodeOf(report), absl::StatusCode::kInvalidArgument) << path;
      ++texts;
    };
    ForEachText(*report.mutable_hello(), text, expect_refused);
    item->mutable_running();
    ForEachText(*report.mutable_attempts(0), text, expect_refused);
    ForEachText(*item, text, expect_refused);
    EXPECT_GT(texts, 30);
  }
}

TEST(ReportCheckTest, FieldsOfANewerWorkerAreBoundedToo) {
  const auto grow = [](google::protobuf::Message& message) {
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
        1000, std::string(limits::kReportEntryBytes, 'x'));
  };
  v1::WorkerReport item = Opening();
  grow(*AddItem(item)->mutable_evaluation());
  EXPECT_EQ(CodeOf(item), absl::StatusCode::kInvalidArgument);
  v1::WorkerReport status = Opening();
  status.add_attempts()->set_attempt_token(std::string(16, 't'));
  EXPECT_EQ(CodeOf(status), absl::StatusCode::kOk);
  grow(*status.mutable_attempts(0)->mutable_latest());
  EXPECT_EQ(CodeOf(status), absl::StatusCode::kInvalidArgument);
  v1::WorkerReport rows = Opening();
  v1::StepRows large = Rows(1, 2);
  grow(*large.mutable_rows(1));
  SetRows(AddItem(rows), large);
  EXPECT_EQ(CodeOf(rows), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt
