#include "coordinator/core/model/submission.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/text.h"
#include "common/worker_level.h"
#include "coordinator/core/model/resolved.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt {
namespace {

// Bytes for the line with the number of omitted issues.
constexpr size_t kRoomForTheRest = 64;
constexpr size_t kDryRunTrialsShown = 100;
// Range of a chosen seed: readable, and exact in the numbers of every language.
constexpr uint64_t kSeedRange = 1u << 31;

absl::Status CheckCode(const v1::ExperimentSpec& spec) {
  if (!spec.has_code()) {
    if (spec.base().code().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "code: '", CleanText(spec.base().code(), limits::kNameBytes),
        "' names a folder of whoever submits, and nothing of it came along; submit the file with "
        "dtctl or the Python client, which pack and send the folder"));
  }
  const v1::Code& code = spec.code();
  const bool digest = code.digest().size() == 64 &&
                      code.digest().find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digest) {
    return absl::InvalidArgumentError("code.digest must be 64 hex digits in small letters");
  }
  const auto check = [](absl::string_view what, uint64_t value, uint64_t limit) {
    return value <= limit ? absl::OkStatus()
                          : absl::InvalidArgumentError(absl::StrCat("code.", what, " is ", value,
                                                                    "; the limit is ", limit));
  };
  DT_RETURN_IF_ERROR(check("bytes", code.bytes(), limits::kCodeBytes));
  DT_RETURN_IF_ERROR(check("files", code.files(), limits::kCodeFiles));
  DT_RETURN_IF_ERROR(check("revision's length", code.revision().size(), limits::kNameBytes));
  return check("changes' length", code.changes().size(), limits::kCodeChangesBytes);
}

absl::Status CheckSizes(const v1::SubmitRequest& request) {
  const auto check = [](absl::string_view what, size_t size, size_t limit) {
    return size <= limit ? absl::OkStatus()
                         : absl::InvalidArgumentError(
                               absl::StrCat(what, " has ", size, " bytes; the limit is ", limit));
  };
  DT_RETURN_IF_ERROR(check("request_id", request.request_id().size(), limits::kRequestIdBytes));
  DT_RETURN_IF_ERROR(check("file_name", request.file_name().size(), limits::kTextBytes));
  DT_RETURN_IF_ERROR(check("file_text", request.file_text().size(), limits::kExperimentFileBytes));
  DT_RETURN_IF_ERROR(check("name", request.spec().name().size(), limits::kNameBytes));
  if (request.spec().labels_size() > static_cast<int>(limits::kLabels)) {
    return absl::InvalidArgumentError(absl::StrCat("labels: ", request.spec().labels_size(),
                                                   " given; the limit is ", limits::kLabels));
  }
  return CheckCode(request.spec());
}

std::string DigestOf(const v1::SubmitRequest& request) {
  v1::SubmitRequest payload = request;
  payload.clear_request_id();
  payload.clear_dry_run();
  payload.clear_who();
  return Sha256Hex(payload.SerializeAsString());
}

absl::Status CheckSpec(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on) {
  const std::vector<spec::Issue> issues = spec::Validate(spec, may_go_on);
  if (issues.empty()) return absl::OkStatus();
  if (!GoesOn(may_go_on)) return absl::DeadlineExceededError(spec::ToString(issues.back()));
  std::string message = "the experiment is refused:";
  size_t room = limits::kStatusMessageBytes - kRoomForTheRest - message.size();
  for (size_t i = 0; i < issues.size(); ++i) {
    const spec::Issue& issue = issues[i];
    const std::string line =
        absl::StrCat("\n", issue.path, issue.path.empty() ? "" : ": ", issue.message,
                     issue.hint.empty() ? "" : "; ", issue.hint);
    const size_t bytes = PercentEncodedBytes(line);
    if (bytes > room) {
      absl::StrAppend(&message, "\nand ", issues.size() - i, " more");
      break;
    }
    message += line;
    room -= bytes;
  }
  return absl::InvalidArgumentError(message);
}

// Refuses a record that the journal cannot store, before anything is done.
absl::Status CheckRecord(const v1::Record& record) {
  const size_t bytes = record.ByteSizeLong();
  if (bytes <= limits::kRecordBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the experiment takes ", bytes, " bytes in the journal; the limit is ",
                   limits::kRecordBytes, "; give shorter values or fewer trials"));
}

// Fills everything of `submission` that follows from the request.
absl::Status Prepare(v1::SubmitRequest& request, DeviceKind for_auto, uint64_t entropy,
                     const MayGoOn& may_go_on, Submission& submission) {
  DT_RETURN_IF_ERROR(CheckSizes(request));
  v1::ExperimentSpec& spec = *request.mutable_spec();
  submission.was_auto = spec.base().resources().device() == "auto";
  spec::Freeze(spec, std::string(Name(for_auto)),
               1 + static_cast<int64_t>(entropy % (kSeedRange - 1)));
  // Checks the specification for the device on which it will run.
  DT_RETURN_IF_ERROR(CheckSpec(spec, may_go_on));
  DT_ASSIGN_OR_RETURN(std::vector<v1::ExpandedTrial> trials, spec::Expand(spec, may_go_on));
  v1::ExperimentSubmitted& fact = *submission.record.mutable_experiment_submitted();
  fact.mutable_spec()->Swap(&spec);
  fact.set_submitted_by(CleanText(request.who(), limits::kWhoBytes));
  fact.set_level(kWorkerLevel);
  fact.mutable_file_name()->swap(*request.mutable_file_name());
  fact.mutable_file_text()->swap(*request.mutable_file_text());
  for (v1::ExpandedTrial& trial : trials) fact.add_trials()->Swap(&trial);
  if (spec::SamplerOf(fact.spec()) == spec::Sampler::kBayes) {
    fact.set_planned_trials(spec::PlannedTrials(fact.spec()));
  }
  DT_RETURN_IF_ERROR(KeepResolved(fact));
  for (v1::ExpandedTrial& trial : *fact.mutable_trials()) {
    if (request.dry_run() && submission.shown.size() < kDryRunTrialsShown) {
      v1::ExpandedTrial& shown = submission.shown.emplace_back();
      shown.set_trial(trial.trial());
      *shown.mutable_assignments() = trial.assignments();
    }
    if (!trial.choices().empty()) trial.clear_assignments();  // its choices hold the same
  }
  return CheckRecord(submission.record);
}

}  // namespace

Submission PrepareSubmission(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy,
                             const MayGoOn& may_go_on) {
  Submission submission;
  submission.dry_run = request.dry_run();
  v1::ExperimentSubmitted& fact = *submission.record.mutable_experiment_submitted();
  fact.set_request_id(request.request_id());
  fact.set_request_digest(DigestOf(request));
  submission.refused = Prepare(request, for_auto, entropy, may_go_on, submission);
  return submission;
}

}  // namespace dt
