#include "cli/commands/code.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands/bar.h"
#include "cli/commands/repeated_call.h"
#include "cli/commands/script_note.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "spec/program.h"

namespace dt::cli {
namespace {

// Attempts to send: a coordinator that restarts forgets the parts that it had.
constexpr int kRounds = 3;
constexpr size_t kDigestShown = 12;  // digits, enough to tell two apart

absl::StatusOr<bool> PutPart(Session& session, Client& client, const v1::PutCodeRequest& request) {
  DT_ASSIGN_OR_RETURN(const v1::PutCodeResponse response,
                      CallUntilAnswered(session, [&] { return client.PutCode(request); }));
  return response.complete();
}

// Sends every part. Returns whether the coordinator has all of them.
absl::StatusOr<bool> PutParts(Session& session, Client& client, const pack::PackedFolder& packed) {
  const std::string& bytes = packed.bytes;
  const size_t parts = (bytes.size() + limits::kCodePartBytes - 1) / limits::kCodePartBytes;
  ProgressBar bar(session);
  bool complete = false;
  for (size_t part = 0; part < parts && !complete; ++part) {
    const size_t at = part * limits::kCodePartBytes;
    bar.Show([&](double seconds) {
      return absl::StrCat("code  ", BytesBar(static_cast<double>(at),
                                             static_cast<double>(bytes.size()), 0, seconds));
    });
    v1::PutCodeRequest request;
    request.set_digest(packed.digest);
    request.set_parts(static_cast<uint32_t>(parts));
    request.set_part(static_cast<uint32_t>(part));
    request.set_data(bytes.substr(at, limits::kCodePartBytes));
    DT_ASSIGN_OR_RETURN(complete, PutPart(session, client, request));
  }
  return complete;
}

}  // namespace

std::string CodeFolder(const std::string& file, const v1::Spec& base) {
  namespace fs = std::filesystem;
  const fs::path beside = file == "-" ? fs::path() : fs::path(file).parent_path();
  return (beside / base.code()).lexically_normal().string();
}

namespace {

// Returns the patterns of files to send besides those that git would track: the environment's file,
// and the pyproject.toml that a uv.lock belongs to. Errors: InvalidArgument if one is not there.
absl::StatusOr<std::vector<std::string>> IncludedIn(const std::string& folder,
                                                    const v1::Spec& base) {
  std::vector<std::string> include(base.code_include().begin(), base.code_include().end());
  const std::string named = spec::EnvironmentFile(base.environment());
  if (named.empty()) return include;
  namespace fs = std::filesystem;
  std::vector<fs::path> needed = {fs::path(named)};
  if (needed[0].filename() == "uv.lock") {
    needed.push_back(needed[0].parent_path() / "pyproject.toml");
  }
  for (const fs::path& file : needed) {
    std::error_code code;
    if (!fs::is_regular_file(folder / file, code)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "environment: '", Printable(file.string()), "' is no file in the folder of code, ",
          Printable(folder), "; name the environment's file relative to that folder"));
    }
    include.push_back(file.string());
  }
  return include;
}

}  // namespace

absl::StatusOr<std::optional<pack::PackedFolder>> PackCode(const std::string& file,
                                                           v1::ExperimentSpec& spec) {
  if (spec.base().code().empty()) return std::optional<pack::PackedFolder>();
  const std::string folder = CodeFolder(file, spec.base());
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> include, IncludedIn(folder, spec.base()));
  DT_ASSIGN_OR_RETURN(pack::PackedFolder packed, pack::PackFolder(folder, include));
  v1::Code& code = *spec.mutable_code();
  code.set_digest(packed.digest);
  code.set_bytes(packed.bytes.size());
  code.set_files(packed.files);
  code.set_revision(packed.revision);
  code.set_changes(packed.changes);
  return std::optional<pack::PackedFolder>(std::move(packed));
}

std::string CodeFault(const std::string& file, const v1::ExperimentSpec& spec) {
  v1::ExperimentSpec described = spec;
  if (!spec::IsProgram(spec)) return "";
  const auto packed = PackCode(file, described);
  if (!packed.ok()) return absl::StrCat(std::string(packed.status().message()), ".");
  return packed->has_value() ? MissingScriptNote(CodeFolder(file, spec.base()), spec.base())
                             : UnsentScriptNote(spec.base());
}

absl::Status SendCode(Session& session, Client& client, const pack::PackedFolder& packed) {
  v1::PutCodeRequest probe;
  probe.set_digest(packed.digest);
  DT_ASSIGN_OR_RETURN(bool complete, PutPart(session, client, probe));
  for (int round = 0; round < kRounds && !complete; ++round) {
    DT_ASSIGN_OR_RETURN(complete, PutParts(session, client, packed));
  }
  if (complete) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the coordinator had not got all of the code after ", kRounds,
                   " times; it restarts, or others send too much at once: submit again"));
}

std::string CodeText(const v1::Code& code) {
  const std::string digest = Printable(code.digest());
  return absl::StrCat(Plural(code.files(), "file"), ", ",
                      FormatBytes(static_cast<double>(code.bytes())), ", sha256 ",
                      digest.size() > kDigestShown ? digest.substr(0, kDigestShown) + "…" : digest);
}

std::vector<std::string> CodeLines(const v1::Code& code) {
  std::vector<std::string> lines = {CodeText(code)};
  if (!code.revision().empty()) {
    lines.push_back(absl::StrCat("commit ", Printable(code.revision()),
                                 code.changes().empty() ? "" : ", and changes:"));
  }
  for (const absl::string_view line : absl::StrSplit(code.changes(), '\n', absl::SkipEmpty())) {
    lines.push_back(Printable({line.data(), line.size()}));
  }
  return lines;
}

}  // namespace dt::cli
