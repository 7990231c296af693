// report_check.cc: checks sizes, tokens, the order of sequences, and the rows of every chunk.
#include "coordinator/rpc/report_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/detection_limits.h"
#include "common/environment_limits.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "common/worker_name.h"
#include "spec/collectives.h"

namespace dt {
namespace {

constexpr size_t kTokenBytes = 16;

absl::Status Refuse(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("report refused: ", what));
}

absl::Status CheckSize(const char* what, size_t size, size_t limit) {
  if (size <= limit) return absl::OkStatus();
  return Refuse(absl::StrCat(what, " has ", size, " bytes; the limit is ", limit));
}

// Checks a text for the journal: bounded, and valid UTF-8, or protobuf could not read it back.
absl::Status CheckText(const char* what, const std::string& text,
                       size_t limit = limits::kNameBytes) {
  DT_RETURN_IF_ERROR(CheckSize(what, text.size(), limit));
  return IsUtf8(text) ? absl::OkStatus() : Refuse(absl::StrCat(what, " is not UTF-8"));
}

absl::Status CheckHello(const v1::Hello& hello) {
  if (hello.worker().empty()) return Refuse("hello names no worker");
  if (hello.instance() == 0) return Refuse("hello has no instance");
  if (hello.session() == 0 || hello.session() > limits::kSessionsMax) {
    return Refuse(absl::StrCat("hello.session is ", hello.session(), "; it counts from 1, to ",
                               limits::kSessionsMax, " at most"));
  }
  DT_RETURN_IF_ERROR(CheckText("hello.worker", hello.worker()));
  if (!IsWorkerName(hello.worker())) {
    return Refuse(absl::StrCat("'", Printable(hello.worker()),
                               "' cannot be a worker's name: it is ", kWorkerNameRule,
                               "; start it with another --name"));
  }
  if (hello.device() != "cpu" && hello.device() != "cuda") {
    return Refuse(absl::StrCat("hello.device is '", hello.device(), "'; it is cpu or cuda"));
  }
  for (const std::string* text :
       {&hello.host(), &hello.device_name(), &hello.gpu_uuid(), &hello.storage_id(),
        &hello.data_address(), &hello.program_version()}) {
    DT_RETURN_IF_ERROR(CheckText("a text of hello", *text));
  }
  // A list of libraries or symbols.
  DT_RETURN_IF_ERROR(CheckText("hello.no_trainer", hello.no_trainer(), limits::kTextBytes));
  if (hello.environments_size() > static_cast<int>(limits::kEnvironmentKinds)) {
    return Refuse(absl::StrCat("hello has ", hello.environments_size(),
                               " kinds of environments; the limit is ", limits::kEnvironmentKinds));
  }
  for (const v1::Label& able : hello.environments()) {
    DT_RETURN_IF_ERROR(CheckText("a kind of environment", able.key()));
    DT_RETURN_IF_ERROR(
        CheckText("why an environment is not made", able.value(), limits::kTextBytes));
  }
  if (hello.ended_instances_size() > static_cast<int>(limits::kEndedInstances)) {
    return Refuse(absl::StrCat("hello has ", hello.ended_instances_size(),
                               " ended instances; the limit is ", limits::kEndedInstances));
  }
  if (hello.labels_size() > static_cast<int>(limits::kLabels)) {
    return Refuse(
        absl::StrCat("hello has ", hello.labels_size(), " labels; the limit is ", limits::kLabels));
  }
  for (const v1::Label& label : hello.labels()) {
    DT_RETURN_IF_ERROR(CheckText("a label's key", label.key()));
    DT_RETURN_IF_ERROR(CheckText("a label's value", label.value(), limits::kTextBytes));
  }
  return absl::OkStatus();
}

// Unknown operations are only shown; sums leave them out.
absl::Status CheckCollectives(const v1::StepRow& row) {
  if (row.collectives_size() > limits::kCollectivesPerRow) {
    return Refuse(absl::StrCat("a row has ", row.collectives_size(), " collectives; the limit is ",
                               limits::kCollectivesPerRow));
  }
  for (const v1::Collective& one : row.collectives()) {
    DT_RETURN_IF_ERROR(CheckText("a collective's operation", one.op()));
    DT_RETURN_IF_ERROR(CheckText("a collective's axis", one.axis()));
  }
  return absl::OkStatus();
}

absl::StatusOr<RowTotals> CheckRows(const v1::RowChunk& chunk) {
  if (chunk.count() == 0 || chunk.count() > limits::kRowsPerChunk) {
    return Refuse(
        absl::StrCat("a chunk has ", chunk.count(), " rows; it has 1 to ", limits::kRowsPerChunk));
  }
  DT_RETURN_IF_ERROR(CheckSize("a chunk", chunk.rows().size(), chunk.count() * limits::kRowBytes));
  v1::StepRows rows;
  if (!rows.ParseFromString(chunk.rows())) return Refuse("a chunk's rows cannot be read");
  if (rows.rows_size() != static_cast<int>(chunk.count()) ||
      rows.rows(0).step() != chunk.first_step() ||
      rows.rows(rows.rows_size() - 1).step() != chunk.last_step()) {
    return Refuse(absl::StrCat("a chunk claims ", chunk.count(), " rows of steps ",
                               chunk.first_step(), " to ", chunk.last_step(), " and has others"));
  }
  RowTotals totals;
  std::optional<uint64_t> previous;
  for (const v1::StepRow& row : rows.rows()) {
    if (previous && row.step() <= *previous) {
      return Refuse(absl::StrCat("a chunk's step ", row.step(), " follows step ", *previous));
    }
    previous = row.step();
    DT_RETURN_IF_ERROR(CheckCollectives(row));
    spec::AddRow(row, totals.sum);
  }
  totals.newest = rows.rows(rows.rows_size() - 1);
  return totals;
}

absl::Status CheckPrepared(const v1::Prepared& prepared) {
  DT_RETURN_IF_ERROR(CheckText("a data fingerprint", prepared.data_fingerprint()));
  const v1::Provenance& from = prepared.provenance();
  for (const std::string* text : {&from.program_version(), &from.program_revision(),
                                  &from.torch_version(), &from.nccl_version(), &from.cuda_version(),
                                  &from.device_name(), &from.host(), &from.cores()}) {
    DT_RETURN_IF_ERROR(CheckText("a text of the provenance", *text));
  }
  return absl::OkStatus();
}

absl::Status CheckCheckpoint(const v1::CheckpointRef& checkpoint) {
  DT_RETURN_IF_ERROR(CheckText("a checkpoint's path", checkpoint.path(), limits::kTextBytes));
  DT_RETURN_IF_ERROR(CheckText("a checkpoint's storage id", checkpoint.storage_id()));
  if (!std::isfinite(checkpoint.seconds()) || checkpoint.seconds() < 0) {
    return Refuse(absl::StrCat("a checkpoint took ", checkpoint.seconds(), " seconds"));
  }
  return CheckText("a checkpoint's manifest hash", checkpoint.manifest_hash());
}

// Names become columns and labels, and select the metric of a search.
absl::Status CheckMetrics(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  if (metrics.size() > static_cast<int>(limits::kMetrics)) {
    return Refuse(absl::StrCat("an evaluation has ", metrics.size(),
                               " metrics of its program's own; the limit is ", limits::kMetrics));
  }
  std::set<std::string_view> names;
  for (const v1::Metric& metric : metrics) {
    DT_RETURN_IF_ERROR(CheckText("a metric's name", metric.name(), limits::kMetricNameBytes));
    const bool plain = !metric.name().empty() && Printable(metric.name()) == metric.name();
    if (!plain || !names.insert(metric.name()).second) {
      return Refuse(absl::StrCat("an evaluation has a metric '", Printable(metric.name()),
                                 "': names are printable text, and appear once"));
    }
  }
  return absl::OkStatus();
}

// Unknown operations are stored separately and never read.
absl::Status CheckFigure(const v1::NetworkFigure& figure) {
  DT_RETURN_IF_ERROR(CheckText("a figure's operation", figure.op()));
  DT_RETURN_IF_ERROR(CheckText("a figure's axis", figure.axis()));
  DT_RETURN_IF_ERROR(CheckText("a figure's way", figure.over()));
  for (const double seconds : {figure.seconds(), figure.least_seconds(), figure.most_seconds()}) {
    if (!std::isfinite(seconds) || seconds <= 0) {
      return Refuse(absl::StrCat("an operation between ranks took ", seconds, " seconds"));
    }
  }
  if (figure.ranks() >= 2 && figure.bytes() > 0) return absl::OkStatus();
  return Refuse(absl::StrCat("an operation between ", figure.ranks(), " ranks on ", figure.bytes(),
                             " bytes was timed"));
}

absl::Status CheckEvaluation(const v1::Evaluation& evaluation) {
  DT_RETURN_IF_ERROR(CheckMetrics(evaluation.metrics()));
  if (evaluation.has_network()) DT_RETURN_IF_ERROR(CheckFigure(evaluation.network()));
  if (evaluation.samples_size() > static_cast<int>(limits::kSamples)) {
    return Refuse(absl::StrCat("an evaluation has ", evaluation.samples_size(),
                               " samples; the limit is ", limits::kSamples));
  }
  for (const std::string& sample : evaluation.samples()) {
    DT_RETURN_IF_ERROR(CheckText("a sample", sample, limits::kSampleBytes));
  }
  return CheckText("an evaluation's split", evaluation.split());
}

absl::Status CheckAttemptStatus(const v1::AttemptStatus& status) {
  if (status.attempt_token().size() != kTokenBytes) {
    return Refuse(absl::StrCat("an attempt's token has ", status.attempt_token().size(),
                               " bytes; it has ", kTokenBytes));
  }
  // Includes fields that only a newer worker knows.
  DT_RETURN_IF_ERROR(
      CheckSize("the status of an attempt", status.ByteSizeLong(), limits::kReportEntryBytes));
  DT_RETURN_IF_ERROR(CheckText("a store address", status.store_address()));
  DT_RETURN_IF_ERROR(CheckText("a meeting address", status.meet_at()));
  DT_RETURN_IF_ERROR(CheckText("a hint", status.hint(), limits::kTextBytes));
  return CheckPrepared(status.prepared());
}

absl::Status CheckItem(const v1::Item& item, std::vector<RowTotals>& totals) {
  if (item.attempt_token().size() != kTokenBytes) {
    return Refuse(absl::StrCat("an item's attempt token has ", item.attempt_token().size(),
                               " bytes; it has ", kTokenBytes));
  }
  if (!item.has_rows() && !item.has_log() && !item.has_environment()) {
    DT_RETURN_IF_ERROR(CheckSize("an item", item.ByteSizeLong(), limits::kReportEntryBytes));
  }
  switch (item.what_case()) {
    case v1::Item::kRows: {
      DT_ASSIGN_OR_RETURN(RowTotals of_chunk, CheckRows(item.rows()));
      totals.push_back(std::move(of_chunk));
      return absl::OkStatus();
    }
    case v1::Item::kLog:
      return CheckText("a log chunk", item.log().text(), limits::kLogChunkBytes);
    case v1::Item::kEnvironment:
      return CheckText("the packages of an environment", item.environment().lock(),
                       limits::kEnvironmentLockBytes);
    case v1::Item::kEnded:
      if (!v1::Cause_IsValid(item.ended().cause()) ||
          item.ended().cause() == v1::CAUSE_UNSPECIFIED) {
        return Refuse(absl::StrCat("an end's cause is ", static_cast<int>(item.ended().cause()),
                                   ", which this coordinator does not know; upgrade it first"));
      }
      DT_RETURN_IF_ERROR(CheckText("an end's hint", item.ended().hint(), limits::kTextBytes));
      return CheckText("an end's message", item.ended().message(), limits::kTextBytes);
    case v1::Item::kCheckpoint:
      return CheckCheckpoint(item.checkpoint());
    case v1::Item::kCheckpointRemoved:
      return CheckCheckpoint(item.checkpoint_removed());
    case v1::Item::kPrepared:
      return CheckPrepared(item.prepared());
    case v1::Item::kEvaluation:
      return CheckEvaluation(item.evaluation());
    case v1::Item::kRunning:
    case v1::Item::kDropped:
      return absl::OkStatus();
    case v1::Item::WHAT_NOT_SET:
      return Refuse("an item of a kind that this coordinator does not know; upgrade it first");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RowTotals>> CheckReport(const v1::WorkerReport& report,
                                                   ReportPlace place) {
  if (place == ReportPlace::kFirstOfStream && !report.has_hello()) {
    return Refuse("the first report of a stream must carry hello");
  }
  if (report.has_hello()) DT_RETURN_IF_ERROR(CheckHello(report.hello()));
  if (report.items_size() > static_cast<int>(limits::kReportItems)) {
    return Refuse(absl::StrCat("it has ", report.items_size(), " items; the limit is ",
                               limits::kReportItems));
  }
  if (report.attempts_size() > static_cast<int>(limits::kAttemptsPerReport)) {
    return Refuse(absl::StrCat("it has ", report.attempts_size(), " attempts; the limit is ",
                               limits::kAttemptsPerReport));
  }
  if (report.checked().unreachable_size() > limits::kPeersPerCheck) {
    return Refuse(absl::StrCat("it names ", report.checked().unreachable_size(),
                               " unreachable addresses; at most ", limits::kPeersPerCheck,
                               " are asked for"));
  }
  for (const std::string& address : report.checked().unreachable()) {
    DT_RETURN_IF_ERROR(CheckText("an unreachable address", address));
  }
  for (const v1::AttemptStatus& attempt : report.attempts()) {
    DT_RETURN_IF_ERROR(CheckAttemptStatus(attempt));
  }
  std::vector<RowTotals> totals;
  uint64_t previous = 0;
  for (const v1::Item& item : report.items()) {
    if (item.sequence() <= previous) {
      return Refuse(absl::StrCat("item ", item.sequence(), " follows item ", previous));
    }
    previous = item.sequence();
    DT_RETURN_IF_ERROR(CheckItem(item, totals));
  }
  return totals;
}

}  // namespace dt
