#include "coordinator/rpc/submitted_file.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "spec/file/experiment_file.h"

namespace dt {
namespace {

absl::Status CheckSize(const char* what, size_t size, size_t limit, const char* fix) {
  if (size <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", size, " bytes; the limit is ", limit, "; ", fix));
}

// Bounds the texts that each diagnostic repeats. The reader itself refuses a long file.
absl::Status CheckSizes(const v1::SubmitRequest& request) {
  DT_RETURN_IF_ERROR(
      CheckSize("file_name", request.file_name().size(), limits::kTextBytes, "give a shorter one"));
  if (static_cast<size_t>(request.overrides_size()) > limits::kOverrides) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.overrides_size(), " overrides were given; the limit is ",
                     limits::kOverrides, "; write them into the file"));
  }
  for (const std::string& override : request.overrides()) {
    DT_RETURN_IF_ERROR(
        CheckSize("an override", override.size(), limits::kTextBytes, "write it into the file"));
  }
  return absl::OkStatus();
}

std::string Cut(const std::string& text) { return CleanText(text, limits::kTextBytes); }

void Append(const std::vector<spec::Diagnostic>& found, v1::SubmitResponse& response) {
  for (const spec::Diagnostic& one : found) {
    v1::Diagnostic& diagnostic = *response.add_diagnostics();
    diagnostic.set_severity(spec::Word(one.severity));
    diagnostic.set_file(Cut(one.file));
    diagnostic.set_line(one.line);
    diagnostic.set_column(one.column);
    diagnostic.set_path(Cut(one.path));
    diagnostic.set_code(one.code);
    diagnostic.set_message(Cut(one.message));
    diagnostic.set_hint(Cut(one.hint));
    diagnostic.set_source_line(Cut(one.source_line));
  }
}

}  // namespace

// A specification that names only its code leaves the rest to the file.
bool BringsFileAlone(const v1::SubmitRequest& request) {
  if (request.file_text().empty() || !request.has_spec()) return !request.file_text().empty();
  const v1::ExperimentSpec& spec = request.spec();
  return spec.has_code() && spec.version() == 0 && spec.name().empty() && !spec.has_base();
}

absl::StatusOr<v1::SubmitResponse> ReadSubmittedFile(v1::SubmitRequest& request,
                                                     const MayGoOn& may_go_on) {
  DT_RETURN_IF_ERROR(CheckSizes(request));
  spec::ExperimentFile file =
      spec::ReadExperimentFile(request.file_text(), request.file_name(),
                               {request.overrides().begin(), request.overrides().end()}, may_go_on);
  if (!GoesOn(may_go_on)) {
    return absl::DeadlineExceededError(
        "reading the experiment's file takes longer than the call may wait; give the call more "
        "time, or the file fewer combinations");
  }
  v1::SubmitResponse response;
  Append(file.diagnostics, response);
  Append(file.warnings, response);
  if (!file.diagnostics.empty()) {
    request.clear_spec();
    return response;
  }
  v1::Code code;
  const bool travelled = request.spec().has_code() && !file.spec.base().code().empty();
  if (travelled) code.Swap(request.mutable_spec()->mutable_code());
  request.mutable_spec()->Swap(&file.spec);
  if (travelled) request.mutable_spec()->mutable_code()->Swap(&code);
  request.set_file_text(std::move(file.effective_text));
  request.clear_overrides();
  return response;
}

}  // namespace dt
